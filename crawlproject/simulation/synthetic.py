"""Synthetic webs: sizes, speeds, connections and links drawn from a seed.

Two kinds.  *Work-bound*: no server is so large and slow that a crawl ends up waiting for it; here scheduling can
be judged.  *Tail-bound*: sizes follow Zipf, speed has nothing to do with size, and the slowest server's chain of
requests decides when a crawl ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crawlproject.simulation.pagerank import pagerank
from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb, ranges

# Speed: page time = round trip + think time * lognormal + size / bandwidth
CONNECT_RANGE = (0.02, 0.3)  # seconds, log-uniform
ROUND_TRIP = 0.6  # of the connect time
THINK_MEDIAN = 0.11  # seconds
THINK_SIGMA_SERVERS = 1.7
THINK_SIGMA_PAGES = 0.8
BANDWIDTH_RANGE = (1e5, 2e6)  # bytes per second, log-uniform
SIZE_MEDIAN = 8000.0  # bytes
SIZE_SIGMA = 0.8
CONNECT_SIGMA = 0.3  # noise of single connections
CONNECT_NOISE_RANGE = (0.5, 2.0)

# Work-bound webs
SERVER_SIGMA = 0.45  # sizes are log-normal
SERVER_SIZES = (0.38, 3.17)  # least and most pages of a server, in means: 23 to 190 of 60
SLOW_SHARE = 0.25  # of the servers, the slowest, which are the smallest
LONGEST_CHAIN = 0.7  # of the work of one session of CHAIN_SESSIONS
CHAIN_SESSIONS = 64
# Tail-bound webs
TAIL_EXPONENT = 0.66  # the largest server has about 4.5% of the pages

# Requests per connection (Cao 2003, figure 3): 24% one, 66% a hundred, the others between
SINGLE_SHARE = 0.24
HUNDRED_SHARE = 0.66
OTHER_LIMITS = (2, 50)

# Links: these give the best 1% and 10% of the pages about 18% and 54% of the PageRank
MENU = 5  # pages that every page of a server links to, besides the home page
LINKS_SIGMA = 0.6
SERVER_POPULARITY = 0.75  # in-links of servers ~ rank^-0.75
SIZE_POPULARITY = 1.0  # and of their sizes to this power
PAGE_SKEW = 4.6  # page number ~ u^4.6, so in-links within a server ~ rank^-0.78
HOME_SHARE = 0.3  # of the links that enter a server


@dataclass(frozen=True)
class SyntheticSpec:
    """What a synthetic web is like; the same spec always builds the same web."""

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
    """The web of ``spec``, its quality PageRank. O(links log links): 0.5 s for 30,000 pages."""
    speeds = _speeds(spec)
    counts = _sizes(spec, speeds.think)
    server = np.repeat(np.arange(spec.servers, dtype=np.int64), counts)
    limits = _limits(spec)
    size, page_time = _page_times(spec, speeds, server, limits)
    indptr, targets = _links(spec, counts, server)
    first = np.cumsum(counts) - counts
    dead = np.zeros(spec.servers, dtype=np.bool_)
    order = _rng(spec, "dead").permutation(spec.servers - spec.seed_count) + spec.seed_count
    dead[order[: round(spec.dead_share * spec.servers)]] = True
    noise = _rng(spec, "connections").lognormal(0, CONNECT_SIGMA, spec.pages).clip(*CONNECT_NOISE_RANGE)
    return SimulatedWeb(
        server=server,
        indptr=indptr,
        targets=targets,
        size=size,
        page_time=page_time,
        quality=pagerank(indptr, targets),
        connect_time=speeds.connect,
        connect_draws=speeds.connect[server] * noise,
        keep_alive_limit=limits,
        seeds=first[: spec.seed_count],
        dead=dead,
    )


@dataclass(frozen=True)
class _Speeds:
    """Seconds, and bytes per second, by server."""

    connect: FloatArray
    think: FloatArray
    bandwidth: FloatArray


def _rng(spec: SyntheticSpec, stream: str) -> np.random.Generator:
    """Chance for one purpose, so that one choice does not move all others."""
    return np.random.default_rng([spec.seed, *stream.encode()])


def _log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> FloatArray:
    drawn: FloatArray = np.exp(rng.uniform(np.log(low), np.log(high), count))
    return drawn


def _speeds(spec: SyntheticSpec) -> _Speeds:
    rng = _rng(spec, "speeds")
    connect = _log_uniform(rng, *CONNECT_RANGE, spec.servers)
    think = rng.lognormal(np.log(THINK_MEDIAN), THINK_SIGMA_SERVERS, spec.servers)
    return _Speeds(connect, think, _log_uniform(rng, *BANDWIDTH_RANGE, spec.servers))


def _sizes(spec: SyntheticSpec, think: FloatArray) -> IntArray:
    """Pages of each server, at least one."""
    rng = _rng(spec, "sizes")
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


def _limits(spec: SyntheticSpec) -> IntArray:
    """Requests per connection of each server."""
    rng = _rng(spec, "limits")
    single = round(SINGLE_SHARE * spec.servers)
    hundred = min(round(HUNDRED_SHARE * spec.servers), spec.servers - single)
    others = rng.integers(OTHER_LIMITS[0], OTHER_LIMITS[1] + 1, spec.servers - single - hundred)
    limits: IntArray = rng.permutation(
        np.concatenate((np.ones(single), np.full(hundred, 100), others)).astype(np.int64)
    )
    return limits


def _page_times(
    spec: SyntheticSpec, speeds: _Speeds, server: IntArray, limits: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Bytes and seconds of each page.  On a work-bound web the slowest servers' think times are cut to fit."""
    rng = _rng(spec, "pages")
    size = rng.lognormal(np.log(SIZE_MEDIAN), SIZE_SIGMA, spec.pages)
    noise = rng.lognormal(0, THINK_SIGMA_PAGES, spec.pages)
    fixed = ROUND_TRIP * speeds.connect[server] + size / speeds.bandwidth[server]
    thinking = speeds.think[server] * noise
    if not spec.tail:
        counts = np.bincount(server)
        connecting = 2 * -(-counts // limits) * speeds.connect
        fixed_sums: FloatArray = np.bincount(server, fixed) + connecting
        thinking_sums = np.bincount(server, thinking).astype(np.float64)
        longest = _longest_chain(fixed_sums, thinking_sums)
        cut = np.minimum(1, np.maximum(0.05, (longest - fixed_sums) / thinking_sums))
        thinking *= cut[server]
    return size, fixed + thinking


def _longest_chain(fixed: FloatArray, thinking: FloatArray) -> float:
    """The x that is LONGEST_CHAIN / CHAIN_SESSIONS of the work left when longer chains are cut to x.

    The work grows with x, but slower: the iteration shrinks to the fixed point.
    """
    longest = float((fixed + thinking).sum())
    for _ in range(200):
        work = float(np.minimum(fixed + thinking, np.maximum(fixed, longest)).sum())
        longest = LONGEST_CHAIN * work / CHAIN_SESSIONS
    return longest


def _links(spec: SyntheticSpec, counts: IntArray, server: IntArray) -> tuple[IntArray, IntArray]:
    """(indptr, targets): each page's links in document order, each target once, never itself."""
    rng = _rng(spec, "links")
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
    parts = [menus, trees, homes, np.stack((source, target))]
    return _compressed(np.concatenate(parts, axis=1), spec.pages)


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
    """(source, target): every page but a home page has a parent, on its own server or on another.

    Pages in an order that follows the page numbers of each server; a parent comes before its child.
    """
    number = ranges(np.zeros_like(counts), counts)
    order = np.argsort((number + rng.random(spec.pages)) / np.repeat(counts, counts), kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(spec.pages)
    inner = np.flatnonzero(number)
    chance = rng.random(len(inner))
    own = np.repeat(first, counts)[inner] + (chance * number[inner]).astype(np.int64)
    any_server = order[(chance * position[inner]).astype(np.int64)]
    is_local = rng.random(len(inner)) < spec.local_share
    return np.stack((np.where(is_local, own, any_server), inner))


def _home_links(spec: SyntheticSpec, rng: np.random.Generator, counts: IntArray, first: IntArray) -> IntArray:
    """(source, target): every home page but a seed is linked from a server that can be reached before it."""
    order = rng.permutation(np.arange(spec.seed_count, spec.servers))
    reached = np.concatenate((np.arange(spec.seed_count), order))
    earlier = reached[(rng.random(len(order)) * np.arange(spec.seed_count, spec.servers)).astype(np.int64)]
    source = first[earlier] + (rng.random(len(order)) * counts[earlier]).astype(np.int64)
    return np.stack((source, first[order]))


def _compressed(links: IntArray, pages: int) -> tuple[IntArray, IntArray]:
    """(indptr, targets) of (source, target) pairs; the first of equal pairs counts, their order is kept."""
    source, target = links[:, links[0] != links[1]]
    kept = np.unique(source * pages + target, return_index=True)[1]
    kept = kept[np.lexsort((kept, source[kept]))]
    indptr = np.concatenate(([0], np.cumsum(np.bincount(source[kept], minlength=pages)))).astype(np.int64)
    return indptr, target[kept]
