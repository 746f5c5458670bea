"""A web as arrays: everything a simulated crawl can meet, drawn once, so that all policies meet the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class SimulatedWeb:
    """Pages 0..n-1 on servers 0..s-1; times in seconds.

    The links of page p are ``targets[indptr[p]:indptr[p + 1]]``, in document order, each target once.  A server
    without a live connection (``dead``) answers nothing; its pages and what only they lead to cannot be collected.
    """

    #: Server of each page.
    server: IntArray
    indptr: IntArray
    targets: IntArray
    #: Bytes of each page.
    size: FloatArray
    #: From request to last byte, of each page: drawn once (common random numbers).
    page_time: FloatArray
    #: What each page is worth; sums to 1.
    quality: FloatArray
    #: Mean time to open a connection to each server, and the time to close one.
    connect_time: FloatArray
    #: Time to open the j-th connection to server s, from 0: entry ``first[s] + j``; no crawl needs more.
    connect_draws: FloatArray
    #: Requests that one connection to each server carries.
    keep_alive_limit: IntArray
    #: Pages known from the start.
    seeds: IntArray
    dead: BoolArray

    def __post_init__(self) -> None:
        pages, servers = len(self.server), len(self.connect_time)
        lengths = {len(self.size), len(self.page_time), len(self.quality), len(self.connect_draws)}
        if lengths != {pages} or {len(self.keep_alive_limit), len(self.dead)} != {servers}:
            raise ValueError("a web's arrays must have one entry for each page or server")
        if len(self.indptr) != pages + 1 or self.indptr[-1] != len(self.targets):
            raise ValueError("indptr must have pages + 1 entries and end with the number of links")
        if not len(self.seeds):
            raise ValueError("a web needs a seed")

    @property
    def pages(self) -> int:
        """Number of pages."""
        return len(self.server)

    @property
    def servers(self) -> int:
        """Number of servers."""
        return len(self.connect_time)

    @cached_property
    def page_counts(self) -> IntArray:
        """Pages of each server."""
        return np.bincount(self.server, minlength=self.servers).astype(np.int64)

    @cached_property
    def keys(self) -> list[str]:
        """Server key of each server."""
        return [f"http://s{server}.test" for server in range(self.servers)]

    @cached_property
    def urls(self) -> list[str]:
        """URL of each page. O(pages)."""
        keys = self.keys
        return [f"{keys[server]}/{page}" for page, server in enumerate(self.server.tolist())]

    @cached_property
    def first(self) -> IntArray:
        """Where each server's pages start if pages are sorted by server."""
        return np.concatenate(([0], np.cumsum(self.page_counts)[:-1])).astype(np.int64)

    @cached_property
    def collectable(self) -> BoolArray:
        """Pages that some crawl from the seeds can fetch. O(pages + links)."""
        seen = np.zeros(self.pages, dtype=np.bool_)
        live = ~self.dead[self.server]
        wave = np.unique(self.seeds)
        while len(wave):
            seen[wave] = True
            wave = wave[live[wave]]
            found = np.unique(self.targets[ranges(self.indptr[wave], self.indptr[wave + 1])])
            wave = found[~seen[found]]
        result: BoolArray = seen & live
        return result

    def with_quality(self, quality: FloatArray) -> SimulatedWeb:
        """The same web with other page qualities, scaled to sum to 1."""
        return replace(self, quality=quality / quality.sum())

    def work(self) -> float:
        """Busy time of a crawl with as few connections as possible, summed over servers."""
        return float(self.chains().sum())

    def chains(self) -> FloatArray:
        """For each server the time to fetch all its pages: no crawl is shorter than the longest."""
        connections = -(-self.page_counts // self.keep_alive_limit)
        times = np.bincount(self.server, self.page_time, minlength=self.servers)
        chains: FloatArray = times + 2 * connections * self.connect_time
        return chains


def ranges(starts: IntArray, stops: IntArray) -> IntArray:
    """All integers of the half-open ranges, one after another. O(their number).

    >>> ranges(np.array([3, 8]), np.array([5, 9])).tolist()
    [3, 4, 8]
    """
    lengths = stops - starts
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    numbers: IntArray = np.arange(lengths.sum(), dtype=np.int64) + offsets
    return numbers
