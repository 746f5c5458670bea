"""Crawls within budgets, beside what an oracle gathers and what no schedule can exceed."""

from dataclasses import replace

import numpy as np
import pytest

from crawlproject.frontier import POLICIES
from crawlproject.frontier.budgets import Limits
from crawlproject.frontier.quality import MAX_QUALITY
from crawlproject.simulation import report
from crawlproject.simulation.bound import bound_within
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import Experiment, KnownWorth, run
from crawlproject.simulation.oracle import oracle_within
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import COPY, PAGE, SimulatedWeb

PAGES = 1500
LIMITS = (Limits(pages=450), Limits(seconds=3.0), Limits(size=3_000_000), Limits(450, 6.0))


@pytest.fixture(scope="module")
def web() -> SimulatedWeb:
    return build(SyntheticSpec(servers=100, pages=PAGES))


def crawl(web: SimulatedWeb, limits: Limits, policy: str = "prefix", choosiness: float = 10.0) -> Crawl:
    options = CrawlOptions(sessions=16, limits=limits, choosiness=choosiness)
    return simulate(web, POLICIES[policy](), KnownWorth(web), options)


def gathered(crawl: Crawl) -> float:
    return float(crawl.web.quality[crawl.pages].sum())


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_a_crawl_keeps_within_its_budgets_and_below_the_bound(web: SimulatedWeb, limits: Limits) -> None:
    """The last answers may exceed the budget of bytes: nobody knows their size before."""
    done = crawl(web, limits)
    assert len(done.pages) <= limits.pages
    assert done.full_time <= limits.seconds
    assert done.size <= limits.size * 1.1
    most = bound_within(web, 16, limits)
    assert gathered(done) <= most * 1.02
    whole = crawl(web, Limits())
    assert 0.8 * gathered(done) <= oracle_within(whole, 16, limits) <= most + 1e-9


def test_the_bound_of_a_page_budget_is_the_best_pages(web: SimulatedWeb) -> None:
    """A knapsack of items of equal weight."""
    best = np.sort(web.quality)[::-1][:150].sum()
    assert bound_within(web, 16, Limits(pages=150)) == pytest.approx(best, rel=1e-3)


def test_the_bound_of_a_byte_budget_is_the_fractional_knapsack(web: SimulatedWeb) -> None:
    """The best pages by quality per byte."""
    order = np.argsort(-web.quality / web.size)
    size = np.cumsum(web.size[order])
    best = np.interp(3_000_000, size, np.cumsum(web.quality[order]))
    assert bound_within(web, 16, Limits(size=3_000_000)) == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("pages", [150, 450])
def test_with_a_page_budget_a_choosy_crawl_gathers_more(web: SimulatedWeb, pages: int) -> None:
    """In more time, and never less than without choosiness."""
    hasty, choosy = (crawl(web, Limits(pages=pages), choosiness=choosiness) for choosiness in (0.0, 10.0))
    assert gathered(choosy) > 1.05 * gathered(hasty)
    assert choosy.full_time > hasty.full_time


def test_without_choosiness_a_page_budget_cuts_the_crawl_without_a_budget(web: SimulatedWeb) -> None:
    """The same pages in the same order, but for those in flight at its end."""
    whole, part = crawl(web, Limits()), crawl(web, Limits(pages=450), choosiness=0.0)
    assert whole.pages[:430].tolist() == part.pages[:430].tolist()
    assert len(part.pages) == 450


def test_two_budgets_end_together(web: SimulatedWeb) -> None:
    """Pages and time, between a hasty and a choosy crawl: both are used to 90%."""
    hasty, choosy = (crawl(web, Limits(pages=600), choosiness=choosiness) for choosiness in (0.0, 1000.0))
    limits = Limits(600, (hasty.ended[-30] + choosy.ended[-30]) / 2)
    done = crawl(web, limits)
    assert len(done.pages) >= 0.9 * limits.pages
    assert done.full_time >= 0.9 * limits.seconds


@pytest.mark.parametrize(("pages", "fetched"), [(1, 1), (10 * PAGES, PAGES), (10**12, PAGES)])
def test_a_budget_may_be_tiny_or_larger_than_the_web(web: SimulatedWeb, pages: int, fetched: int) -> None:
    assert len(crawl(web, Limits(pages=pages)).pages) == fetched


@pytest.mark.parametrize("quality", [np.ones(PAGES), np.arange(PAGES) == 7, np.geomspace(1e-12, 1.0, PAGES)])
def test_qualities_may_be_equal_zero_or_far_apart(web: SimulatedWeb, quality: np.ndarray) -> None:
    """All pages of the budget are fetched."""
    assert len(crawl(web.with_quality(quality.astype(float)), Limits(pages=300)).pages) == 300


class Rising:
    """Each URL found is worth half as much again as the one before, up to the highest quality; so is each link."""

    def __init__(self) -> None:
        self._worth = 1.0

    def quality(self, url: str, depth: int) -> float:
        self._worth = min(1.5 * self._worth, MAX_QUALITY)
        return self._worth

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return self._worth


@pytest.mark.parametrize("limits", [Limits(pages=300), Limits(size=3_000_000), Limits(300, 60.0, 10**9)], ids=str)
def test_qualities_may_rise_for_ever(web: SimulatedWeb, limits: Limits) -> None:
    """A crawl fetches as many pages as with equal ones."""
    options = CrawlOptions(sessions=16, limits=limits)
    rising, equal = (simulate(web, POLICIES["prefix"](), each, options) for each in (Rising(), KnownWorth(web)))
    assert len(rising.pages) >= min(limits.pages, 0.5 * len(equal.pages))


def test_a_server_of_copies_gets_few_pages_of_a_budget(web: SimulatedWeb) -> None:
    """The largest one, all of whose pages claim to be among the best 5%."""
    copies = web.server == np.bincount(web.server).argmax()
    copies[web.seeds] = False
    quality = np.where(copies, np.quantile(web.quality, 0.95), web.quality)
    flawed = replace(web, kinds=np.where(copies, COPY, PAGE)).with_quality(quality)
    limited = crawl(flawed, Limits(pages=200))
    assert limited.wasted < 0.5 * copies.sum()
    assert len(limited.pages) + limited.wasted == 200


def test_the_table_has_the_oracle_and_the_bound() -> None:
    """Of each quality, beneath the policies."""
    specs = (SyntheticSpec(20, 300), SyntheticSpec(20, 300, seed=2))
    options = CrawlOptions(sessions=4, limits=Limits(pages=60))
    trials = run(Experiment(specs, ("pagerank", "zipf"), ("prefix",), options=options))
    lines = [line.split() for line in report.text(trials).splitlines() if line]
    policies = ["prefix", "oracle", "bound"]
    assert [line[0] for line in lines[2:]] == ["pagerank", *policies, "zipf", *policies]
    assert lines[3][4:6] == [f"{np.mean([t.outcome.full_time for t in trials[::2]]):.1f}", "60"]


def test_a_policy_without_prices_keeps_within_the_budget(web: SimulatedWeb) -> None:
    """It only ends there."""
    whole, part = (crawl(web, limits, "capacity") for limits in (Limits(), Limits(pages=100)))
    assert len(part.pages) == 100
    assert whole.pages[:80].tolist() == part.pages[:80].tolist()
