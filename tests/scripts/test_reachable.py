"""The oracle that knows the web: its order of pages by brute force, and that it stays below the bound."""

from itertools import combinations

import numpy as np
import pytest

from crawlproject.frontier import BestPrefix
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.metrics import bound_shares, collectable_quality
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.worth import KnownWorth
from scripts.reachable import Oracle, discovery_tree, worth_with_links

SMALL = build(SyntheticSpec(servers=3, pages=14, seed=2, seed_count=1))


def test_a_page_is_worth_the_best_part_of_what_it_heads() -> None:
    """Against all parts of the tree of 14 pages."""
    crawl = simulate(SMALL, BestPrefix(), KnownWorth(SMALL), CrawlOptions(sessions=2))
    parent, worth = discovery_tree(crawl), worth_with_links(crawl)
    for head in range(SMALL.pages):
        best = 0.0
        others = [page for page in range(SMALL.pages) if page != head]
        for size in range(SMALL.pages):
            for chosen in combinations(others, size):
                part = {head, *chosen}
                if all(parent[page] in part for page in chosen):
                    pages = list(part)
                    best = max(best, float(SMALL.quality[pages].sum() / SMALL.page_time[pages].sum()))
        assert worth[head] == pytest.approx(best)


def test_oracle_stays_below_the_bound_and_gets_everything() -> None:
    """At every page's end, for a few sessions or one."""
    web = build(SyntheticSpec(servers=20, pages=300))
    for sessions in (1, 4):
        crawl = simulate(web, BestPrefix(), KnownWorth(web), CrawlOptions(sessions=sessions))
        curve = Oracle(web, sessions, worth_with_links(crawl)).run()
        bound = bound_shares(bound_of(web, sessions), collectable_quality(web), curve.times)
        assert len(curve.times) == web.pages
        assert curve.shares[-1] == pytest.approx(1.0)
        assert np.all(curve.shares <= bound + 1e-9)
