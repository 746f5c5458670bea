"""What real webs have besides pages: redirects, dead links, copies, errors, robots.txt; crawls by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, BreadthFirst
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import collectable_quality
from crawlproject.simulation.record import NO_WAIT
from crawlproject.simulation.web import COPY, FORBIDDEN, MISSING, MOVED, PAGE, SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs


def crawl_of(web: SimulatedWeb) -> Crawl:
    return simulate(web, BreadthFirst(), KnownWorth(web), CrawlOptions(1))


def with_kinds(links: list[tuple[int, ...]], kinds: list[int], errors: list[int] | None = None) -> SimulatedWeb:
    """One server, 0.1 s to connect, a second for each URL."""
    web = make_web([Host()], [Page(links=each) for each in links])
    return replace(web, kinds=np.array(kinds), errors=np.array(errors or [0] * len(links)))


def test_redirect_takes_a_request_and_leads_to_its_target() -> None:
    crawl = crawl_of(with_kinds([(1,), (2,), ()], [PAGE, MOVED, PAGE]))
    assert crawl.pages.tolist() == [0, 2]
    assert crawl.ended == pytest.approx([1.1, 3.1])
    assert crawl.wasted == 1


def test_missing_page_takes_a_request_and_shows_no_links() -> None:
    web = with_kinds([(1, 2), (3,), (), ()], [PAGE, MISSING, PAGE, PAGE])
    assert web.collectable.tolist() == [True, False, True, False]
    assert crawl_of(web).ended == pytest.approx([1.1, 3.1])


def test_copy_shows_links_but_is_not_collected() -> None:
    web = with_kinds([(1,), (2,), ()], [PAGE, COPY, PAGE])
    assert crawl_of(web).pages.tolist() == [0, 2]
    assert collectable_quality(web) == pytest.approx(web.quality[[0, 2]].sum())


def test_url_that_robots_txt_disallows_takes_no_time() -> None:
    web = with_kinds([(1, 2), (), ()], [PAGE, FORBIDDEN, PAGE])
    crawl = crawl_of(replace(web, robots_time=np.array([0.5])))
    assert crawl.ended == pytest.approx([1.6, 2.6])


@pytest.mark.parametrize(("errors", "pages", "wasted"), [(1, [0, 2, 1], 1), (2, [0, 2, 1], 2), (3, [0, 2], 3)])
def test_url_that_fails_is_tried_twice_again_after_others(errors: int, pages: list[int], wasted: int) -> None:
    web = with_kinds([(1, 2), (), ()], [PAGE] * 3, [0, errors, 0])
    crawl = crawl_of(replace(web, quality=np.array([0.4, 0.3, 0.3])))
    assert sorted(crawl.pages.tolist()) == sorted(pages)
    assert crawl.wasted == wasted
    assert web.collectable[1] == (errors <= 2)


def test_crawl_delay_holds_from_robots_txt_on() -> None:
    """robots.txt ends at 0.6 s; 2 s later a new connection brings the first page, and so on."""
    web = make_web([Host()], [Page(links=(1,)), Page()])
    web = replace(web, robots_time=np.array([0.5]), crawl_delay=np.array([2.0]))
    crawl = crawl_of(web)
    assert crawl.started[0] >= 0.6 + 2
    assert crawl.started[1] >= crawl.ended[0] + 2


@pytest.mark.parametrize("changed", [{"kinds": np.zeros(1)}, {"errors": np.zeros(1)}, {"crawl_delay": np.ones(1)}])
def test_arrays_of_another_length_are_refused(changed: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="must have one entry"):
        replace(make_web([Host()], [Page(links=(1,)), Page()]), **changed)


@settings(deadline=None)
@given(webs(), st.data(), st.sampled_from(sorted(POLICIES)), st.integers(1, 4))
def test_every_page_that_can_be_collected_is_collected(
    web: SimulatedWeb, data: st.DataObject, policy: str, count: int
) -> None:
    """Once, whatever the other URLs are."""
    kinds = data.draw(st.lists(st.sampled_from(range(5)), min_size=web.pages, max_size=web.pages))
    errors = data.draw(st.lists(st.integers(0, 3), min_size=web.pages, max_size=web.pages))
    flawed = replace(web, kinds=np.array(kinds), errors=np.array(errors), robots_time=np.full(web.servers, 0.2))
    options = CrawlOptions(count, NO_WAIT, linger=0.1, cpu_time=0.02)
    crawl = simulate(flawed, POLICIES[policy](), KnownWorth(flawed), options)
    assert sorted(crawl.pages.tolist()) == np.flatnonzero(flawed.collectable).tolist()
