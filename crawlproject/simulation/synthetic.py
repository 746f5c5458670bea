"""Synthetic webs: sizes, speeds, connections and links drawn from a seed.

Two kinds.  *Work-bound*: no server is so large and slow that it determines the end of a crawl; suitable for comparing
schedules.  *Tail-bound*: sizes follow Zipf, speed is independent of size, and the slowest server's chain of requests
determines the end of a crawl.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawlproject.simulation.pagerank import pagerank
from crawlproject.simulation.times import (
    SYNTHETIC,
    PageTimes,
    Speeds,
    chance,
    draw_connects,
    draw_dead,
    draw_limits,
    draw_page_times,
    draw_sizes,
    draw_speeds,
)
from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb, compressed, ranges

# Work-bound webs
SERVER_SIGMA = 0.45  # sizes are log-normal
SERVER_SIZES = (0.38, 3.17)  # minimum and maximum pages of a server as multiples of the mean: 23 and 190 for 60
SLOW_SHARE = 0.25  # of the servers: the slowest, which get the smallest sizes
LONGEST_CHAIN = 0.7  # maximum chain of requests, as a share of the work of one of CHAIN_SESSIONS sessions
CHAIN_SESSIONS = 64
# Tail-bound webs
TAIL_EXPONENT = 0.66  # the largest server has about 4.5% of the pages

# Links: with these values the best 1% and 10% of the pages have about 18% and 54% of the PageRank
MENU = 5  # pages that every page of a server links to, besides the home page
LINKS_SIGMA = 0.6
SERVER_POPULARITY = 0.75  # in-links of servers ~ rank^-0.75
SIZE_POPULARITY = 1.0  # exponent of a server's size as a factor on its in-links
PAGE_SKEW = 4.6  # page number ~ u^4.6, so in-links within a server ~ rank^-0.78
HOME_SHARE = 0.3  # of the links from other servers


@dataclass(frozen=True)
class SyntheticSpec:
    """Parameters of a synthetic web; the same spec always builds the same web."""

    servers: int = 500
    pages: int = 30_000
    seed: int = 1
    tail: bool = False
    links_per_page: float = 12.0
    local_share: float = 0.75
    seed_count: int = 5
    dead_share: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.seed_count <= self.servers <= self.pages:
            raise ValueError("a web needs seeds <= servers <= pages, at least one of each")


def build(spec: SyntheticSpec) -> SimulatedWeb:
    """Build the web of ``spec`` with PageRank as quality. O(links log links): 0.6 s for 30,000 pages."""
    speeds = draw_speeds(SYNTHETIC, spec.servers, spec.seed)
    counts = _server_sizes(spec, speeds.think)
    server = np.repeat(np.arange(spec.servers, dtype=np.int64), counts)
    limits = draw_limits(spec.servers, spec.seed)
    size = draw_sizes(spec.pages, spec.seed)
    times = draw_page_times(SYNTHETIC, speeds, server, size, spec.seed)
    cut = np.ones(spec.servers) if spec.tail else _cut(times, speeds, server, limits)
    indptr, targets = _links(spec, counts, server)
    return SimulatedWeb(
        server=server,
        indptr=indptr,
        targets=targets,
        size=size,
        page_time=times.fixed + times.thinking * cut[server],
        quality=pagerank(indptr, targets),
        connect_time=speeds.connect,
        connect_draws=draw_connects(speeds, counts, spec.seed),
        keep_alive_limit=limits,
        seeds=(np.cumsum(counts) - counts)[: spec.seed_count],
        dead=draw_dead(spec.servers, spec.dead_share, np.arange(spec.seed_count), spec.seed),
    )


def _server_sizes(spec: SyntheticSpec, think: FloatArray) -> IntArray:
    """Pages of each server, at least one."""
    rng = chance(spec.seed, "sizes")
    if spec.tail:
        shares = np.arange(1, spec.servers + 1) ** -TAIL_EXPONENT
        return _apportion(rng.permutation(shares), spec.pages)
    shares = np.sort(rng.lognormal(0, SERVER_SIGMA, spec.servers))
    shares = (shares / shares.mean()).clip(*SERVER_SIZES)
    slow = round(SLOW_SHARE * spec.servers)
    by_speed = np.argsort(-think)
    assigned = np.empty(spec.servers)
    assigned[by_speed[:slow]] = shares[:slow]
    assigned[by_speed[slow:]] = rng.permutation(shares[slow:])
    return _apportion(assigned, spec.pages)


def _apportion(shares: FloatArray, pages: int) -> IntArray:
    """Whole numbers >= 1 in proportion to ``shares`` that sum to ``pages``."""
    bounds = np.round(np.cumsum(shares) / shares.sum() * (pages - len(shares))).astype(np.int64)
    counts: IntArray = np.diff(bounds, prepend=0) + 1
    return counts


def _cut(times: PageTimes, speeds: Speeds, server: IntArray, limits: IntArray) -> FloatArray:
    """Factor on each server's think times that limits its chain of requests to LONGEST_CHAIN."""
    fixed: FloatArray = np.bincount(server, times.fixed) + 2 * -(-np.bincount(server) // limits) * speeds.connect
    thinking: FloatArray = np.bincount(server, times.thinking).astype(np.float64)
    return np.minimum(1, np.maximum(0.05, (_longest_chain(fixed, thinking) - fixed) / thinking))


def _longest_chain(fixed: FloatArray, thinking: FloatArray) -> float:
    """The x that is LONGEST_CHAIN / CHAIN_SESSIONS of the work that remains when longer chains are cut to x.

    The work grows more slowly than x, so the iteration converges to the fixed point.
    """
    longest = float((fixed + thinking).sum())
    for _ in range(200):
        work = float(np.minimum(fixed + thinking, np.maximum(fixed, longest)).sum())
        longest = LONGEST_CHAIN * work / CHAIN_SESSIONS
    return longest


def _links(spec: SyntheticSpec, counts: IntArray, server: IntArray) -> tuple[IntArray, IntArray]:
    """(indptr, targets): each page's links in document order, each target once, never the page itself."""
    rng = chance(spec.seed, "links")
    first = np.cumsum(counts) - counts
    drawn = np.maximum(1, np.round(spec.links_per_page * rng.lognormal(0, LINKS_SIGMA, spec.pages))).astype(np.int64)
    source = np.repeat(np.arange(spec.pages, dtype=np.int64), drawn)
    is_local = rng.random(len(source)) < spec.local_share
    onto = np.where(is_local, server[source], _popular_servers(rng, counts, len(source)))
    inner = (counts[onto] * rng.random(len(source)) ** PAGE_SKEW).astype(np.int64)
    is_home = ~is_local & (rng.random(len(source)) < HOME_SHARE)
    target = first[onto] + np.where(is_home, 0, inner)
    menus = _menu(counts, first, server)
    trees = _tree(spec, rng, counts, first)
    homes = _home_links(spec, rng, counts, first)
    links = np.concatenate((menus, trees, homes, np.stack((source, target))), axis=1)
    return compressed(links[0], links[1], spec.pages)


def _popular_servers(rng: np.random.Generator, counts: IntArray, count: int) -> IntArray:
    weights = counts**SIZE_POPULARITY * rng.permutation(np.arange(1, len(counts) + 1) ** -SERVER_POPULARITY)
    bounds = np.cumsum(weights) / weights.sum()
    chosen: IntArray = np.searchsorted(bounds, rng.random(count)).astype(np.int64)
    return np.minimum(chosen, len(counts) - 1)


def _menu(counts: IntArray, first: IntArray, server: IntArray) -> IntArray:
    """(source, target) of the navigation template: every page links to the first pages of its server."""
    pages = np.arange(len(server), dtype=np.int64)
    columns = [np.stack((pages, first[server] + i))[:, counts[server] > i] for i in range(1 + MENU)]
    return np.concatenate(columns, axis=1)


def _tree(spec: SyntheticSpec, rng: np.random.Generator, counts: IntArray, first: IntArray) -> IntArray:
    """(source, target): every page except home pages has a parent, on its own server or on another.

    Pages are in an order that keeps the page numbers of each server ascending; a parent precedes its child.
    """
    number = ranges(np.zeros_like(counts), counts)
    order = np.argsort((number + rng.random(spec.pages)) / np.repeat(counts, counts), kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(spec.pages)
    inner = np.flatnonzero(number)
    place = rng.random(len(inner))
    own = np.repeat(first, counts)[inner] + (place * number[inner]).astype(np.int64)
    any_server = order[(place * position[inner]).astype(np.int64)]
    is_local = rng.random(len(inner)) < spec.local_share
    return np.stack((np.where(is_local, own, any_server), inner))


def _home_links(spec: SyntheticSpec, rng: np.random.Generator, counts: IntArray, first: IntArray) -> IntArray:
    """(source, target): every home page except seeds has a link from a server that is reachable before it."""
    order = rng.permutation(np.arange(spec.seed_count, spec.servers))
    reached = np.concatenate((np.arange(spec.seed_count), order))
    earlier = reached[(rng.random(len(order)) * np.arange(spec.seed_count, spec.servers)).astype(np.int64)]
    source = first[earlier] + (rng.random(len(order)) * counts[earlier]).astype(np.int64)
    return np.stack((source, first[order]))
