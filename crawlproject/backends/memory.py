"""The frontier in memory: nothing outlives the process; requests and callbacks are kept as objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlproject.backends.protocol import Backend
from crawlproject.requests.link_request import request_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.backends.protocol import Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.frontier import FrontierOptions


class MemoryBackend(Backend):
    """Payloads are requests, or callbacks of links."""

    def __init__(
        self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
    ) -> None:
        seen.use_store(None)  # the queues do not outlive the run, so the seen-set must not either

    def pack(self, request: Request) -> Any:
        return request

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        return callback

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        return entries

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        return entry

    def unpack(self, entry: Entry) -> Request:
        return request_of(entry)

    def is_link(self, entry: Entry) -> bool:
        return not isinstance(entry.payload, Request)

    def name_of(self, payload: Any) -> str:
        return "memory"
