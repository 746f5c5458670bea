"""Adds to a simulated web what real ones have besides pages: robots.txt, redirects, dead links, copies, errors.

The crawler meets all of them by asking: until then a URL claims the quality that its links give it.  Some servers have
many more of them than others, so that there is something to learn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crawlproject.simulation.web import COPY, FORBIDDEN, MISSING, MOVED, PAGE, RETRIES, SimulatedWeb, ranges

if TYPE_CHECKING:
    from crawlproject.simulation.web import IntArray


@dataclass(frozen=True)
class Flaws:
    """Amount of each flaw: shares of all URLs, or of all servers."""

    missing: float = 0.05
    moved: float = 0.05
    copies: float = 0.05
    #: Disallowed by robots.txt.
    forbidden: float = 0.03
    #: Answer 500, half of them always, the others once.
    errors: float = 0.01
    #: Spread between servers of the shares above (sigma of a log-normal factor).
    spread: float = 1.0
    #: Share of the servers with a Crawl-delay, and its seconds.
    crawl_delays: float = 0.03
    crawl_delay: float = 1.0
    #: Median and spread of the additional time (seconds) of the first answer on a connection.
    first_extra: float = 0.05
    first_spread: float = 0.7

    def __post_init__(self) -> None:
        if self.missing + self.moved + self.copies + self.forbidden > 0.9:
            raise ValueError("at most .9 of the URLs may lead to no page")


def add_flaws(web: SimulatedWeb, flaws: Flaws, seed: int) -> SimulatedWeb:
    """``web`` with flaws drawn from ``seed``: home pages and seeds stay pages. O(links log links)."""
    rng = np.random.default_rng([seed, *b"flaws"])  # as times.chance
    kinds = _kinds(web, flaws, rng)
    indptr, targets = _links(web, kinds, rng)
    drawn = rng.random(web.pages)
    errors = np.where(drawn < flaws.errors / 2, RETRIES + 1, drawn < flaws.errors).astype(np.int64)
    errors[web.seeds] = 0
    delays = np.zeros(web.servers)
    delays[rng.permutation(web.servers)[: round(flaws.crawl_delays * web.servers)]] = flaws.crawl_delay
    extra = np.zeros(web.servers)
    if flaws.first_extra:
        extra = rng.lognormal(np.log(flaws.first_extra), flaws.first_spread, web.servers)
    shortest = np.full(web.servers, np.inf)
    np.minimum.at(shortest, web.server, web.page_time)  # a file: no page is generated for it
    return replace(
        web,
        indptr=indptr,
        targets=targets,
        kinds=kinds,
        errors=errors,
        crawl_delay=delays,
        first_extra=extra,
        robots_time=shortest,
    )


def _kinds(web: SimulatedWeb, flaws: Flaws, rng: np.random.Generator) -> IntArray:
    """What each URL leads to."""
    weight = rng.lognormal(0.0, flaws.spread, web.servers)[web.server]
    weight[np.unique(web.server, return_index=True)[1]] = 0.0  # the first page of each server
    weight[web.seeds] = 0.0
    kinds = np.full(web.pages, PAGE, dtype=np.int64)
    shares = {MISSING: flaws.missing, MOVED: flaws.moved, COPY: flaws.copies, FORBIDDEN: flaws.forbidden}
    counts = [round(share * web.pages) for share in shares.values()]
    total = min(sum(counts), int(np.count_nonzero(weight)))
    if total:
        # the largest keys log(u) / weight: a weighted draw without replacement (Efraimidis and Spirakis 2006)
        with np.errstate(divide="ignore"):
            keys = np.where(weight > 0, np.log(rng.random(web.pages)) / weight, -np.inf)
        chosen = rng.permutation(np.argsort(-keys, kind="stable")[:total])
        kinds[chosen] = np.repeat(list(shares), counts)[:total]
    return kinds


def _links(web: SimulatedWeb, kinds: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """(indptr, targets): a redirect has its target only, a copy the links of a page of its server, others as before."""
    home = np.zeros(web.servers, dtype=np.int64)
    servers, firsts = np.unique(web.server, return_index=True)
    home[servers] = firsts
    pages = np.flatnonzero(kinds == PAGE)
    own = home[web.server]
    anywhere = pages[rng.integers(0, len(pages), web.pages)]
    target = np.where(rng.random(web.pages) < 0.5, own, anywhere)
    shown = np.where(kinds == COPY, own, np.arange(web.pages))
    starts, stops = web.indptr[shown], web.indptr[shown + 1]
    moved = kinds == MOVED
    lengths = np.where(moved, 1, stops - starts)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    targets = np.empty(indptr[-1], dtype=np.int64)
    targets[indptr[:-1][moved]] = target[moved]
    others = np.flatnonzero(~moved)
    targets[ranges(indptr[others], indptr[others + 1])] = web.targets[ranges(starts[others], stops[others])]
    return indptr, targets
