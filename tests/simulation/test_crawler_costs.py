"""What a real crawl has beside pages: robots.txt, dear first responses, a crawler with one thread; by hand."""

from dataclasses import replace

import numpy as np
import pytest

from crawlproject.frontier import BreadthFirst, Politeness
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import Host, Page, make_web


def crawl_of(web: SimulatedWeb, options: CrawlOptions) -> Crawl:
    return simulate(web, BreadthFirst(), KnownWorth(web), options)


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
    assert crawl_of(web, CrawlOptions(1, closing=0.0)).ended == pytest.approx([1.1, 2.2])
