"""Sitemaps in simulated crawls: they cost a request, are no pages, and show what is hidden."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES
from crawlproject.frontier.quality import QUALITIES
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.times import SITEMAP_BYTES, SYNTHETIC, draw_sitemaps, draw_speeds
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs

SMALL = SyntheticSpec(servers=40, pages=2000)


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
    last = policy in ("capacity", "quality")  # after the last page: it does not keep a page waiting
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


def test_breadth_first_reads_them_too() -> None:
    """Ten servers on four connections: the time of ten sitemaps of .1 s, and no page more or less."""
    without, with_them = (crawl_of(chains(time), "breadth-first") for time in (0.0, 0.1))
    assert with_them.full_time > without.full_time + 0.2
    assert sorted(with_them.pages) == sorted(without.pages)


def test_web_is_the_same_but_for_its_sitemaps() -> None:
    """Pages, times, quality, bound: all but the sitemaps, whose draws are the same for all shares."""
    plain, some, every = (
        build(SyntheticSpec(SMALL.servers, SMALL.pages, sitemap_share=share)) for share in (0.0, 0.3, 1.0)
    )
    assert plain.page_time.tolist() == every.page_time.tolist()
    assert plain.collectable.tolist() == every.collectable.tolist()
    assert bound_of(plain, 4).at(3.0) == pytest.approx(bound_of(every, 4).at(3.0))
    assert [np.count_nonzero(web.sitemap_time) for web in (plain, some, every)] == [0, 12, 40]
    chosen = some.sitemap_time > 0
    assert some.sitemap_time[chosen].tolist() == every.sitemap_time[chosen].tolist()


def test_sitemaps_take_as_long_as_a_page_of_their_size() -> None:
    """A round trip, the think time, and 120 bytes for each page."""
    speeds = draw_speeds(SYNTHETIC, 500, 1)
    small, large = (draw_sitemaps(SYNTHETIC, speeds, np.full(500, count), 1.0, 1) for count in (10, 1010))
    assert large - small == pytest.approx(SITEMAP_BYTES * 1000 / speeds.bandwidth)
    assert (small > SYNTHETIC.round_trip * speeds.connect).all()


@pytest.mark.parametrize("name", sorted(QUALITIES))
def test_estimators_fetch_everything_with_sitemaps(name: str) -> None:
    """Listed pages are worth what the estimator says before any link."""
    web = build(SyntheticSpec(20, 400, sitemap_share=0.5))
    crawl = simulate(web, POLICIES["prefix"](), QUALITIES[name](), CrawlOptions(sessions=4))
    assert sorted(crawl.pages) == list(range(400))


def test_sitemap_times_must_fit_the_servers() -> None:
    """One for each, or none."""
    web = make_web([Host()], [Page()])
    with pytest.raises(ValueError, match="sitemaps must have one time for each server"):
        SimulatedWeb(**{name: getattr(web, name) for name in web.__dataclass_fields__} | {"sitemap_time": np.ones(2)})
