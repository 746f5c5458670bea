"""Sitemaps in simulated crawls: they cost a request, are no pages, and show what is hidden."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES
from crawlproject.frontier.quality import QUALITIES
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs


def crawl_of(web: SimulatedWeb, policy: str, sessions: int = 4) -> Crawl:
    return simulate(web, POLICIES[policy](), KnownWorth(web), CrawlOptions(sessions, timeout=1.0))


def chains(sitemap: float) -> SimulatedWeb:
    """Ten servers of 30 pages each behind the seed's server; each page but the last links to the next, the last is
    worth as much as a hundred others."""
    pages = [Page(links=tuple(range(1, 301, 30)))]
    for server in range(1, 11):
        first = 1 + 30 * (server - 1)
        pages += [
            Page(server, 0.1, 100.0 if place == 29 else 1.0, (first + place + 1,) if place < 29 else ())
            for place in range(30)
        ]
    return make_web([Host(), *[Host(sitemap=sitemap)] * 10], pages)


@settings(deadline=None)
@given(webs(may_be_dead=True, with_sitemaps=True), st.sampled_from(sorted(POLICIES)), st.integers(1, 4))
def test_every_page_is_fetched_once_with_sitemaps_too(web: SimulatedWeb, policy: str, count: int) -> None:
    """Those that links lead to, no others, and no sitemap is taken for a page."""
    crawl = crawl_of(web, policy, count)
    assert sorted(crawl.pages) == np.flatnonzero(web.collectable).tolist()


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_sitemaps_cost_one_request_each(policy: str) -> None:
    """One server, one session at a time: the crawl is longer by just the sitemap's time."""
    pages = [Page(0, 1.0, 0.5, (1, 2)), Page(), Page()]
    without, with_one = (crawl_of(make_web([Host(0.1, sitemap=time)], pages), policy, 1) for time in (0.0, 0.5))
    took = with_one.full_time - without.full_time
    last = policy in ("capacity", "quality", "depth-first")  # after the last page: it does not keep a page waiting
    assert took == pytest.approx(0.0 if last else 0.5)
    assert len(with_one.pages) == 3


def test_sitemap_by_hand() -> None:
    """Found with its server, before the links of the first page: .1 s to connect, 1 s, the sitemap .5 s, two pages."""
    pages = [Page(0, 1.0, 0.5, (1,)), Page(0, 1.0, 0.1, (2,)), Page(0, 1.0, 0.9)]
    crawl = crawl_of(make_web([Host(0.1, sitemap=0.5)], pages), "breadth-first", 1)
    assert crawl.pages.tolist() == [0, 1, 2]
    assert crawl.ended == pytest.approx([1.1, 2.6, 3.6])


def test_hidden_pages_are_collected_sooner() -> None:
    """What ends chains of 30 pages; by prefix, which looks ahead."""
    without, with_them = (crawl_of(chains(time), "prefix") for time in (0.0, 0.1))
    assert Curve.of(with_them).time_of(0.5) < 0.5 * Curve.of(without).time_of(0.5)


@pytest.mark.parametrize("name", sorted(QUALITIES))
def test_estimators_fetch_everything_with_sitemaps(name: str) -> None:
    """Listed pages are worth what the estimator says before any link."""
    web = build(SyntheticSpec(20, 400, sitemap_share=0.5))
    crawl = simulate(web, POLICIES["prefix"](), QUALITIES[name](), CrawlOptions(sessions=4))
    assert sorted(crawl.pages) == list(range(400))
