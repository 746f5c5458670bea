"""Walks a web with the trap guard, without sockets: shows in seconds which pages a crawl would fetch."""

from __future__ import annotations

from collections import Counter
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.frontier import Entry, Server, UrlQueue
from crawlproject.frontier.guard.judge import Guard, Visit, demoted, is_dropped
from crawlproject.frontier.queues.sort_key import DEMOTED
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.frontier.guard.watched_patterns import GuardLimits, Marks

ORDERS = ("breadth", "links", "depth")


class Shown(NamedTuple):
    """The answer of a walk's web to a URL."""

    #: Canonical URLs, in the order of the page.
    links: Iterable[str]
    marks: Callable[[], Marks | None]
    #: URL of the page, if it is not the requested one.
    url: str | None = None


class Walk:
    """One walk. ``fetched``: URLs of the fetched pages, in order; ``refused``: URLs of the refused links.

    ``page_of``: the page of a URL, None if there is none.  ``order``: ``breadth`` or ``depth`` first, or the URL found
    on the most pages first (``links``).  As in a crawl, demoted URLs come last and dropped ones are removed.  Without
    ``limits`` there is no guard.  ``most``: maximum number of pages.
    """

    def __init__(
        self,
        seeds: Iterable[str],
        page_of: Callable[[str], Shown | None],
        limits: GuardLimits | None,
        *,
        order: str = "breadth",
        most: int | None = None,
    ) -> None:
        self.fetched: list[str] = []
        self.refused: set[str] = set()
        self.dropped: list[str] = []
        self.servers: dict[str, Server] = {}
        self.guard = None if limits is None else Guard(limits, self.servers.get)
        self._order = order
        self._found: Counter[str] = Counter()
        self._waiting: dict[str, Entry] = {}
        self._heap: list[tuple[bool, int, int, str]] = []
        self._pushes = 0
        self._seen: set[str] = set()
        at: set[str] = set()
        for seed in seeds:
            self._seen.add(seed)
            self._push(Entry(seed))
        while self._heap and (most is None or len(self.fetched) < most):
            url = heappop(self._heap)[-1]
            entry = self._waiting.pop(url, None)
            shown = None if entry is None else page_of(url)
            if entry is None or shown is None:
                continue
            place = shown.url or url
            if place not in at:
                at.add(place)
                self.fetched.append(place)
                self._seen.add(place)
                self._read(
                    place, shown, Visit(was_last=entry.priority == DEMOTED, depth=entry.depth, links=tuple(shown.links))
                )

    def _push(self, entry: Entry) -> None:
        self._pushes += 1
        key = server_key(entry.url)
        if key not in self.servers:
            self.servers[key] = Server(key, UrlQueue(by_quality=True, window=1), 1)
        self._waiting[entry.url] = entry
        rank = {"breadth": self._pushes, "depth": -self._pushes, "links": -self._found[entry.url]}[self._order]
        heappush(self._heap, (entry.priority == DEMOTED, rank, self._pushes, entry.url))

    def _read(self, url: str, shown: Shown, visit: Visit) -> None:
        self.servers[server_key(url)].pages += 1
        page = None if self.guard is None else self.guard.page(url, shown.marks, visit)
        new = []
        for link in dict.fromkeys(shown.links):
            if page is not None and page.refuses_some and page.refuses(link):
                self.refused.add(link)
                continue
            self._found[link] += 1
            if link not in self._seen:
                self._seen.add(link)
                new.append(Entry(link, depth=visit.depth + 1))
            elif self._order == "links" and link in self._waiting:
                self._push(self._waiting[link])
        if page is not None:
            last = page.learn([entry.url for entry in new])
            new = [demoted(entry) if entry.url in last else entry for entry in new]
        for entry in new:
            self._push(entry)
        for spent in () if page is None else page.spent:
            self._drop(url, spent)

    def _drop(self, page: str, spent: str) -> None:
        key = server_key(page)
        assert self.guard is not None
        for url, entry in list(self._waiting.items()):
            if server_key(url) == key and is_dropped(entry, self.guard.name_of(url), spent):
                del self._waiting[url]
                self.dropped.append(url)
        self._heap = [item for item in self._heap if item[-1] in self._waiting]
        heapify(self._heap)
