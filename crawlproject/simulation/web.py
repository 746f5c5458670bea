"""A web as arrays, drawn once and so equal for all policies, and what a crawl of it has fetched."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from crawlproject.urls.server_key import server_key

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: What a URL leads to: a page; one with the content of another; a redirect; 404; robots.txt disallows it.
PAGE, COPY, MOVED, MISSING, FORBIDDEN = range(5)
#: How often a URL is requested again that answered 500, as by ``RETRY_TIMES``.
RETRIES = 2


@dataclass(frozen=True)
class SimulatedWeb:
    """Pages 0..n-1 on servers 0..s-1; times in seconds.

    The links of page p are ``targets[indptr[p]:indptr[p + 1]]``, in document order, each target once.  A ``dead``
    server never answers; its pages, and pages reachable only through them, cannot be collected.
    """

    #: Server of each page.
    server: IntArray
    indptr: IntArray
    targets: IntArray
    #: Bytes of each page.
    size: FloatArray
    #: Time of each page from the request to the last byte: drawn once (common random numbers).
    page_time: FloatArray
    #: Worth of each page; sums to 1.
    quality: FloatArray
    #: Mean time to open a connection to each server, and the time to close one.
    connect_time: FloatArray
    #: Time to open the j-th connection (from 0) to server s: entry ``first[s] + j``; one per page, the maximum needed.
    connect_draws: FloatArray
    #: Requests that one connection to each server carries.
    keep_alive_limit: IntArray
    #: Pages known from the start.
    seeds: IntArray
    dead: BoolArray
    #: Canonical URL of each page; empty if the pages have no real URLs.
    given_urls: tuple[str, ...] = ()
    #: Additional time of the first response on a connection to each server; empty: none.
    first_extra: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: Time of each server's robots.txt, requested once, before its first page; empty: not requested.
    robots_time: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: What each URL leads to, if not all to pages: ``PAGE``, ``COPY``, ... The only link of a redirect is its target.
    #: The crawler does not know it before it asks, so its quality is what the URL claims; only pages are collected.
    kinds: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: How often each URL answers 500 before anything else; empty: never.
    errors: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    #: Crawl-delay of each server (seconds), 0 for none, known from its robots.txt; empty: none.
    crawl_delay: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Raises ValueError for arrays that do not fit together."""
        pages, servers = len(self.server), len(self.connect_time)
        of_pages = {len(self.size), len(self.page_time), len(self.quality), len(self.connect_draws)}
        of_servers = {len(self.keep_alive_limit), len(self.dead)}
        if_any = {len(self.kinds) or pages, len(self.errors) or pages, len(self.given_urls) or pages}
        of_some = {len(each) or servers for each in (self.first_extra, self.robots_time, self.crawl_delay)}
        if of_pages | if_any != {pages} or of_servers | of_some != {servers}:
            raise ValueError("a web's arrays must have one entry for each page or server; some may have none")
        if len(self.indptr) != pages + 1 or self.indptr[-1] != len(self.targets):
            raise ValueError("indptr must have pages + 1 entries and end with the number of links")
        if not len(self.seeds):
            raise ValueError("a web needs a seed")

    @property
    def pages(self) -> int:
        return len(self.server)

    @property
    def servers(self) -> int:
        return len(self.connect_time)

    @cached_property
    def page_counts(self) -> IntArray:
        return np.bincount(self.server, minlength=self.servers).astype(np.int64)

    @cached_property
    def keys(self) -> list[str]:
        """Server key of each server. O(pages) if pages have real URLs."""
        keys = [f"http://s{server}.test" for server in range(self.servers)]
        for server, url in zip(self.server.tolist(), self.given_urls, strict=False):
            keys[server] = server_key(url)
        return keys

    @cached_property
    def urls(self) -> list[str]:
        """URL of each page, generated if it has no real URL. O(pages)."""
        if self.given_urls:
            return list(self.given_urls)
        keys = self.keys
        return [f"{keys[server]}/{page}" for page, server in enumerate(self.server.tolist())]

    @cached_property
    def first(self) -> IntArray:
        """Index of each server's first page if pages are sorted by server."""
        return np.concatenate(([0], np.cumsum(self.page_counts)[:-1])).astype(np.int64)

    @cached_property
    def collectable(self) -> BoolArray:
        """Pages that some crawl from the seeds can fetch. O(pages + links)."""
        answers = ~self.dead[self.server]
        if len(self.errors):
            answers = answers & (self.errors <= RETRIES)
        kinds = self.kinds if len(self.kinds) else np.full(self.pages, PAGE, dtype=np.int64)
        shows: BoolArray = answers & (kinds <= MOVED)
        collectable: BoolArray = shows & (kinds == PAGE) & reachable(self.indptr, self.targets, self.seeds, shows)
        return collectable

    def with_quality(self, quality: FloatArray) -> SimulatedWeb:
        """The same web with other page qualities, scaled to sum to 1.

        Raises ValueError if no collectable page has a quality above 0.
        """
        if not quality[self.collectable].sum() > 0:
            raise ValueError("no page of the web that can be fetched has a quality above 0")
        return replace(self, quality=quality / quality.sum())

    def chains(self) -> FloatArray:
        """For each server the time to fetch its collectable pages: the longest is a lower bound of a crawl's time."""
        pages = np.flatnonzero(self.collectable)
        counts = np.bincount(self.server[pages], minlength=self.servers)
        times = np.bincount(self.server[pages], self.page_time[pages], minlength=self.servers)
        chains: FloatArray = times + 2 * -(-counts // self.keep_alive_limit) * self.connect_time
        return chains


@dataclass(frozen=True)
class Crawl:
    """The pages fetched, in order of the ends of their responses; times in seconds."""

    web: SimulatedWeb
    pages: IntArray
    #: Start of each page's request, and end of its response.
    started: FloatArray
    ended: FloatArray
    connections: int
    #: Requests that timed out.
    failures: int
    #: Other requests that brought no page: copies, redirects, 404, 500.
    wasted: int

    @property
    def size(self) -> float:
        """Bytes of the pages."""
        return float(self.web.size[self.pages].sum())

    @property
    def full_time(self) -> float:
        """End of the last page's response; 0 without pages."""
        return float(self.ended[-1]) if len(self.ended) else 0.0


def ranges(starts: IntArray, stops: IntArray) -> IntArray:
    """All integers of the half-open ranges, concatenated. O(their number).

    >>> ranges(np.array([3, 8]), np.array([5, 9])).tolist()
    [3, 4, 8]
    """
    lengths = stops - starts
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    numbers: IntArray = np.arange(lengths.sum(), dtype=np.int64) + offsets
    return numbers


def reachable(indptr: IntArray, targets: IntArray, starts: IntArray, answers: BoolArray | None = None) -> BoolArray:
    """Whether each page is reachable by links from ``starts``, including these. O(pages + links).

    ``answers``: the pages that show their links; None: all.
    """
    seen = np.zeros(len(indptr) - 1, dtype=np.bool_)
    wave = np.unique(starts)
    while len(wave):
        seen[wave] = True
        shown = wave if answers is None else wave[answers[wave]]
        found = targets[ranges(indptr[shown], indptr[shown + 1])]
        wave = np.unique(found[~seen[found]])
    return seen


def compressed(source: IntArray, target: IntArray, pages: int) -> tuple[IntArray, IntArray]:
    """(indptr, targets) of links in their order, without duplicates and links of pages to themselves.

    Keeps the first of equal links.  O(links log links).

    >>> [array.tolist() for array in compressed(np.array([1, 0, 1, 1, 1]), np.array([2, 1, 0, 2, 1]), 3)]
    [[0, 1, 3, 3], [1, 2, 0]]
    """
    others = source != target
    source, target = source[others], target[others]
    kept = np.unique(source * pages + target, return_index=True)[1]
    kept = kept[np.lexsort((kept, source[kept]))]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(source[kept], minlength=pages)))).astype(np.int64)
    return indptr, target[kept]


def sources_of(indptr: IntArray) -> IntArray:
    """The page of each link. O(links).

    >>> sources_of(np.array([0, 1, 3, 3])).tolist()
    [0, 1, 1]
    """
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
