"""Finds the requests that the engine has finished, and says what became of their URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK
from crawlproject.engine import unfinished_requests
from crawlproject.requests.meta import DUPLICATE_OF, KEEP, NEAR_DUPLICATE_OF
from crawlproject.urls.fates import Ending, Outcome, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlproject.frontier.entry import Entry
    from crawlproject.urls.fates import Fates

#: Seconds between two looks.
EVERY = 1.0

#: Of a request that another one for the same URL follows: the URL has not ended.
AGAIN = Ending(Reason.REPLACED)

#: Of a request of which nobody noted how it ended.
_UNKNOWN = Ending(Reason.REPLACED)

_TIMES = ("dns_time", "connect_time", "tls_time", "response_time")


class RequestEnds:
    """Requests that were handed out, until the engine has finished them: their pages are parsed, or lost.

    ``canonical``: URL -> its canonical form, or None; ``is_link``: whether an entry is from ``Links``.
    """

    def __init__(
        self,
        crawler: Crawler,
        fates: Fates,
        canonical: Callable[[str], str | None],
        is_link: Callable[[Entry], bool],
    ) -> None:
        self._crawler = crawler
        self._fates = fates
        self._canonical = canonical
        self._is_link = is_link
        self._under_way: dict[Request, Entry] = {}
        self._look_at = 0.0

    def begin(self, request: Request, entry: Entry) -> None:
        """``request`` is handed out. O(1)."""
        self._under_way[request] = entry

    def given_back(self, request: Request) -> None:
        """``request`` returned unsent, and waits again. O(1)."""
        self._under_way.pop(request, None)
        self._fates.forget(request)

    def look_now_and_then(self) -> None:
        """``look``, at most once in ``EVERY`` seconds."""
        if (now := CLOCK()) >= self._look_at:
            self._look_at = now + EVERY
            self.look()

    def look(self) -> None:
        """Count those that the engine has finished since the last look. O(requests in progress)."""
        unfinished = unfinished_requests(self._crawler)
        for request in [request for request in self._under_way if request not in unfinished]:
            self._end(request, self._under_way.pop(request))

    def _end(self, request: Request, entry: Entry) -> None:
        ending = self._fates.noted(request) or _UNKNOWN
        self._fates.forget(request)
        if ending is AGAIN or (ending.reason is Reason.REDIRECTED and self._is_same(ending.note, request.url)):
            return
        meta, reason = request.meta, _reason(request, ending.reason)
        is_link = self._is_link(entry)
        url = entry.url if is_link else self._canonical(request.url) or request.url
        times = {name.removesuffix("_time"): time for name in _TIMES if (time := meta.get(name)) is not None}
        depth = meta.get("depth", 0)
        outcome = Outcome(url, reason.of_request, reason, ending, _via(request), depth, times)
        self._fates.ended(outcome, url if is_link else request)

    def _is_same(self, one: str, other: str) -> bool:
        return self._canonical(one) == self._canonical(other)


def _reason(request: Request, reason: Reason) -> Reason:
    meta = request.meta
    if meta.get(KEEP) and not reason.stays:
        return Reason.KEPT
    if reason is Reason.FETCHED:
        if DUPLICATE_OF in meta:
            return Reason.COPY
        if NEAR_DUPLICATE_OF in meta:
            return Reason.NEAR_COPY
    return reason


def _via(request: Request) -> str:
    """What led to the URL: a redirect, or the page that ``RefererMiddleware`` names; links have none."""
    if sources := request.meta.get("redirect_urls"):
        return str(sources[-1])
    referer = request.headers.get(b"Referer")
    return "" if referer is None else referer.decode("latin-1")
