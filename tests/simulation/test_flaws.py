"""What real webs and crawls have besides pages: redirects, dead links, errors, robots.txt, one thread; by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, BreadthFirst, Politeness
from crawlproject.simulation.crawl import NO_WAIT, Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import collectable_quality
from crawlproject.simulation.web import COPY, FORBIDDEN, MISSING, MOVED, PAGE, SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs


def crawl_of(web: SimulatedWeb, options: CrawlOptions | None = None) -> Crawl:
    return simulate(web, BreadthFirst(), KnownWorth(web), options or CrawlOptions(1))


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


def two_pages(limit: int) -> SimulatedWeb:
    return make_web([Host(connect=0.1, limit=limit)], [Page(links=(1,)), Page()])


@pytest.mark.parametrize(("limit", "ends", "connections"), [(100, [1.6, 2.6], 1), (2, [1.6, 2.8], 2), (1, [1.8, 3], 3)])
def test_robots_txt_comes_before_the_first_page(limit: int, ends: list[float], connections: int) -> None:
    """It takes 0.5 s and counts as a request of its connection: with a limit of 1 the page needs another one."""
    crawl = crawl_of(replace(two_pages(limit), robots_time=np.array([0.5])), CrawlOptions(1))
    assert crawl.ended == pytest.approx(ends)
    assert crawl.connections == connections


def test_robots_txt_is_followed_by_a_polite_wait() -> None:
    """0.1 s to connect, 0.5 for robots.txt and as long a rest, longer than the connection is held: 0.1 s again."""
    web = replace(two_pages(100), robots_time=np.array([0.5]))
    crawl = crawl_of(web, CrawlOptions(1, Politeness("request", 1.0, 0.0, 60.0)))
    assert crawl.ended[0] == pytest.approx(0.1 + 0.5 + 0.5 + 0.1 + 1.0)


@pytest.mark.parametrize(("limit", "ends"), [(100, [1.3, 2.3]), (1, [1.3, 2.7])])
def test_first_response_of_a_connection_takes_longer(limit: int, ends: list[float]) -> None:
    """By 0.2 s: on every connection with a limit of 1."""
    crawl = crawl_of(replace(two_pages(limit), first_extra=np.array([0.2])), CrawlOptions(1))
    assert crawl.ended == pytest.approx(ends)


def test_responses_wait_for_the_crawlers_thread() -> None:
    """Two responses come at 1.1 s and are dealt with at 1.4 and 1.7; requests of a second follow."""
    pages = [Page(0, links=(2,)), Page(1, links=(3,)), Page(0), Page(1)]
    web = make_web([Host(connect=0.1)] * 2, pages, seeds=(0, 1))
    assert crawl_of(web, CrawlOptions(2, cpu_time=0.3)).ended == pytest.approx([1.1, 1.1, 2.4, 2.7])


def test_place_of_a_connection_that_closes_in_no_time_is_free_at_once() -> None:
    """Two servers of one page each on one place: 0.1 s to connect, a second; and again."""
    web = make_web([Host(connect=0.1)] * 2, [Page(0, links=(1,)), Page(1)])
    assert crawl_of(web, CrawlOptions(1)).ended == pytest.approx([1.1, 2.3])


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
