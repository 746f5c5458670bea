"""What the scheduler asks of a backend; ``tests/contract/test_backends.py`` tests every backend against it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from scrapy import Request

from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.requests.entries import request_of
from crawlproject.urls.server_key import server_key
from crawlproject.urls.url_rows import QUEUED, STEP, End, UrlQuery, UrlRow, row_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter
    from scrapy.http import Response

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.orders import SharedOrders
    from crawlproject.urls.fates import Fates, Outcome, Reason
    from crawlproject.urls.url_rows import UrlTable
#: URLs that have ended which are remembered: about 3 MB.
MAX_ENDED = 10_000


class Exchange(Protocol):
    """Sends URLs of other workers' servers to these workers; such URLs are *foreign*."""

    def is_own(self, url: str) -> bool:
        """Whether this worker may queue ``url``; False also while its server moves. Called for every link: O(1).

        Raises ValueError for a URL without a server; links have one.
        """

    def unsent(self, urls: Sequence[str], *, repeats: bool = False) -> list[int]:
        """For each of the foreign canonical ``urls``, how many links to it to send now as one; 0: none.

        1 if it was not sent recently; then 0, with ``repeats`` sometimes more: ``CrossLinks``.  A URL that is twice
        in ``urls`` is found twice.  O(length) each.
        """

    def send(self, entries: Sequence[Entry]) -> None:
        """Send ``entries`` to the workers of their servers; payloads are bytes or None. Never raises. O(size).

        They must arrive before the page that yielded them is acknowledged.
        """


@dataclass(frozen=True)
class Host:
    """What a backend asks of the crawl. Called after ``Backend.opened``."""

    #: Wakes the engine.
    wake: Callable[[], None]
    #: Queues entries that other workers sent, in steps of at most 0.1 s.
    receive: Callable[[Sequence[Entry]], Iterator[None]]
    #: Lets discovery continue with servers that came from another worker.
    servers_came: Callable[[Sequence[str]], None]
    #: Closes the connections of sessions that were closed.
    close_connections: Callable[[], None]
    #: What becomes of URLs; a store keeps its state.
    fates: Fates
    #: Counts the requests that the engine has finished; called before their entries are acknowledged.
    count_ended: Callable[[], None]


class Backend:
    """Keeps everything in memory, requests and callbacks as objects: nothing outlives the process.

    Other backends store frontier and seen-set, and convert requests for the store.

    Life of an entry: ``pack`` (or ``pack_callback`` and ``hold``), queued by the frontier, ``unpack``, ``handed_out``;
    then ``given_back`` and queued again, or finished by the engine.  An entry that will not be fetched is ``dropped``.
    A method raises only the errors in its docstring.
    """

    #: Where foreign URLs go; None: this process crawls alone.
    exchange: Exchange | None = None
    #: Where what must survive a restart is kept; None: nothing does.
    directory: Path | None = None
    #: All URLs that are known here by name.
    urls: UrlTable
    #: The operator's orders for all workers of the crawl; None: they are this process's.
    orders: SharedOrders | None = None

    def __init__(self, crawler: Crawler, options: Any, frontier: Any, seen: Any, host: Host) -> None:
        """Fill the ``Frontier`` and the ``SeenDupeFilter`` with what is stored; ``options``: ``FrontierOptions``.

        Here nothing is: the queues do not outlive the run, so the seen-set must not either.
        """
        seen.use_store(None)
        self._fates = host.fates
        self.urls: UrlTable = MemoryUrls(frontier)

    def opened(self) -> Awaitable[None] | None:
        """Start tasks: the event loop runs. The spider opens when the result, if any, is done.

        May raise CloseSpider: the crawl then ends in order.
        """
        return None

    def follow(self, dupefilter: BaseDupeFilter) -> None:
        """Let the file of a project's own ``dupefilter``, now open, have only requests that are stored."""

    def may_start(self) -> bool:
        """Whether requests may start now; after False, the backend calls ``Host.wake`` when they may. O(1).

        Those handed out before, and not sent yet, return to the frontier.
        """
        return True

    def may_send(self) -> bool:
        """Whether a request that was handed out may still be sent: the last check before its first byte. O(1).

        After False, its connection is closed and it returns to the frontier.
        """
        return True

    def goes_on(self) -> bool:
        """Whether the crawl continues in other processes: while True, an empty queue does not end it. O(1).

        The backend calls ``wake`` when it becomes False.
        """
        return False

    def only_failing(self) -> bool:
        """Whether no other process of the crawl has a server that may answer; asked if this one has none. O(1).

        The backend calls ``wake`` when it becomes True.
        """
        return True

    def pages_elsewhere(self) -> float:
        """Number of pages that other processes have fetched of this crawl, as far as it is known. O(1)."""
        return 0

    def pack(self, request: Request) -> Any:
        """The payload for the entry of ``request``: everything but its URL and priority. O(size)."""
        return request

    def pack_to_send(self, request: Request) -> bytes | None:
        """Like ``pack``, for the worker of a foreign server; None if ``request`` cannot be serialized. O(size)."""
        return None

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """The payload of links with this callback."""
        return callback

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        """Prepare ``entries`` of links or sitemaps from the page ``response`` for the queue."""
        return entries

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        """Prepare the ``entry`` of a ``request`` that the frontier rejected and that will fail."""
        return entry

    def unpack(self, entry: Entry) -> Request:
        """The request of a scheduled entry. Raises ValueError if the payload is invalid."""
        return request_of(entry)

    def is_link(self, entry: Entry) -> bool:
        """Whether the entry is from ``Links``, so that no errback of the spider expects its failure."""
        return not isinstance(entry.payload, Request)

    def is_refetched(self, entry: Entry) -> bool:
        """Whether an earlier run fetched the page, and a recrawl queued it again. O(1)."""
        return False

    def dropped(self, entry: Entry, reason: Reason) -> None:
        """Record that the ``entry`` of a link left the queue and will not be fetched."""
        self._fates.dropped(entry.url, reason)

    def keep_fate(self, what: Request | str, outcome: Outcome) -> None:
        """Keep what became of a request or of a canonical URL.

        Here only the last ones are: a byte of memory a URL would be much, for one run.
        """
        if isinstance(self.urls, MemoryUrls):
            self.urls.add(outcome)

    def unwanted(self, entry: Entry) -> None:
        """Record that the stored ``entry`` left the queue and stays stored for a later run."""

    def name_of(self, payload: Any) -> str:
        """Place of an entry with this payload: the label in ``scheduler/enqueued/…``."""
        return "memory"

    def handed_out(self, request: Request, entry: Entry) -> None:
        """Record that the engine received ``request``; its entry is acknowledged when the engine has finished it."""

    def given_back(self, request: Request) -> None:
        """Record that ``request`` was returned unsent and its entry queued again."""

    async def saved(self) -> bool:
        """Wait until what is queued now would outlive this process if it were killed; False if that does not happen."""
        return False

    async def workers(self) -> dict[str, Any] | None:
        """Descriptions of all workers of the crawl (``workers.stored_crawl``); None if this process crawls alone.

        Instead of it ``{"workers": [], "error": ...}`` if that cannot be read.
        """
        return None

    def close(self) -> Awaitable[None] | None:
        """Release all resources at the end of the crawl; the engine waits for the result, if any."""


class MemoryUrls:
    """``UrlTable`` of a frontier in memory. A search sees what changes meanwhile, or not."""

    def __init__(self, frontier: Any) -> None:
        self._frontier = frontier
        self._ended: deque[UrlRow] = deque(maxlen=MAX_ENDED)

    def add(self, outcome: Outcome) -> None:
        """Remember the end of a URL. O(1)."""
        status = 0 if outcome.ending is None else outcome.ending.status
        end = End(int(time.time()), outcome.stage, outcome.reason, status, outcome.depth)
        self._ended.append(row_of(outcome.url, end))

    def rows(self, query: UrlQuery, after: str = "", most: int = STEP) -> Iterator[tuple[str, float, list[UrlRow]]]:
        try:
            start = int(after or 0)
        except ValueError:
            raise ValueError("next: not where a search of these URLs ended") from None
        servers = [server for server in self._frontier.servers if isinstance(server.urls, UrlQueue)]
        if query.servers is not None:
            servers = [server for server in servers if server.key in query.servers]
        ended, at = list(reversed(self._ended)), 0
        sizes = [*(len(server.urls) for server in servers), len(ended)]
        for server, size in zip([*servers, None], sizes, strict=True):
            while at <= start < at + size:
                low, high = start - at, min(size, start - at + min(STEP, most))
                if server is None:
                    rows = [row for row in ended[low:high] if _is_of(row.url, query)]
                else:
                    rows = list(map(_queued, server.urls.some(server.key, low, high)))
                found = list(filter(query.wants, rows))
                most, start = max(1, most - len(found)), at + high
                yield str(start), start / sum(sizes), found
            at += size

    def history(self, url: str) -> list[UrlRow]:
        return [row for row in reversed(self._ended) if row.url == url]


def _queued(entry: Entry) -> UrlRow:
    return UrlRow(entry.url, QUEUED, "", "", 0, entry.depth, entry.quality, entry.priority)


def _is_of(url: str, query: UrlQuery) -> bool:
    return query.servers is None or server_key(url) in query.servers
