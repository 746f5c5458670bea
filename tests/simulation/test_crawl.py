"""A crawl in virtual time keeps to the rules of connections and politeness, and misses nothing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, CapacityBased, Politeness
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import Host, Page, connections, make_web, most_at_once, webs

policies = st.sampled_from(sorted(POLICIES))
sessions = st.integers(1, 4)
#: Any log that two numbers differ in by no more is a matter of rounding.
ROUNDING = 1e-9


def crawl_of(web: SimulatedWeb, policy: str, options: CrawlOptions) -> Crawl:
    return simulate(web, POLICIES[policy](), KnownWorth(web), options)


@settings(deadline=None)
@given(webs(may_be_dead=True), policies, sessions)
def test_every_page_that_can_be_is_fetched_once(web: SimulatedWeb, policy: str, count: int) -> None:
    """Nothing twice, nothing left, nothing from the dead."""
    crawl = crawl_of(web, policy, CrawlOptions(count, timeout=1.0))
    assert sorted(crawl.pages) == np.flatnonzero(web.collectable).tolist()


@settings(deadline=None)
@given(webs(), policies, sessions)
def test_connections_keep_to_the_limits(web: SimulatedWeb, policy: str, count: int) -> None:
    """One to a server, so many in all, from opening to closing; as many requests on each as the server carries."""
    crawl = crawl_of(web, policy, CrawlOptions(count))
    made = connections(crawl)
    assert len(made) == crawl.connections
    assert most_at_once([(one.opened, one.closed) for one in made]) <= count
    for server in range(web.servers):
        mine = [one for one in made if one.server == server]
        assert all(before.closed <= after.opened + ROUNDING for before, after in pairwise(mine))
        assert all(one.requests <= web.keep_alive_limit[server] for one in mine)


@settings(deadline=None)
@given(webs(), policies, sessions, st.floats(0.5, 5), st.sampled_from([0.0, 1.0]))
def test_servers_rest_after_each_session(
    web: SimulatedWeb, policy: str, count: int, factor: float, least: float
) -> None:
    """As long as factor x the session, from the beginning of its opening to its last response, and ``least``."""
    crawl = crawl_of(web, policy, CrawlOptions(count, Politeness("session", factor, least, 1e9)))
    for before, after in pairwise(connections(crawl)):
        if before.server == after.server:
            rest = max(least, factor * (before.last_end - before.opened))
            assert after.opened >= before.last_end + rest - ROUNDING


@settings(deadline=None)
@given(webs(), policies, sessions, st.floats(0.1, 5), st.sampled_from([0.0, 1.0]))
def test_servers_rest_after_each_request(
    web: SimulatedWeb, policy: str, count: int, factor: float, least: float
) -> None:
    """As long as factor x the time it took, and ``least``."""
    crawl = crawl_of(web, policy, CrawlOptions(count, Politeness("request", factor, least, 1e9)))
    for server in range(web.servers):
        mine = web.server[crawl.pages] == server
        requests = sorted(zip(crawl.started[mine].tolist(), crawl.ended[mine].tolist(), strict=True))
        for (started, ended), (after, _) in pairwise(requests):
            assert after >= ended + max(least, factor * (ended - started)) - ROUNDING


@settings(deadline=None)
@given(webs(may_be_dead=True), policies, sessions)
def test_equal_crawls_are_equal(web: SimulatedWeb, policy: str, count: int) -> None:
    """Nothing is left to chance once the web is drawn."""
    first, again = (crawl_of(web, policy, CrawlOptions(count, timeout=1.0)) for _ in range(2))
    assert first.pages.tolist() == again.pages.tolist()
    assert first.ended.tolist() == again.ended.tolist()


@settings(deadline=None)
@given(webs(), policies, sessions)
def test_links_are_followed_once_they_are_known(web: SimulatedWeb, policy: str, count: int) -> None:
    """No page but a seed before a page that links to it has come."""
    crawl = crawl_of(web, policy, CrawlOptions(count, linger=0.1))
    ended = dict(zip(crawl.pages.tolist(), crawl.ended.tolist(), strict=True))
    sources: dict[int, list[int]] = {}
    for page in range(web.pages):
        for link in web.targets[web.indptr[page] : web.indptr[page + 1]].tolist():
            sources.setdefault(link, []).append(page)
    for page, started in zip(crawl.pages.tolist(), crawl.started.tolist(), strict=True):
        if page not in web.seeds:
            assert started >= min(ended[source] for source in sources[page]) - ROUNDING


def test_capacity_by_hand() -> None:
    """Servers a, b, c with .1, .2, .3 s to connect; all are thought to take .1 and .5 s at first, p = 1.2.

    b0 (worth .5) is best: .5 / (.2 + .5/1.2). It shows b1 (.1) and a1 (.4). The session goes on with b1.
    Then a has .4 + .2: .6 / (.2 + 2 · .5/1.2) = .58, c has .3 / (.2 + .5/1.2) = .49: first a1, a0, then c0.
    """
    pages = [
        Page(0, 1.0, 0.2), Page(0, 1.0, 0.4), Page(1, 0.5, 0.5, (4, 1)), Page(2, 0.5, 0.3), Page(1, 0.5, 0.1),
    ]  # fmt: skip
    web = make_web([Host(0.1), Host(0.2), Host(0.3)], pages, seeds=(0, 2, 3))
    crawl = simulate(web, CapacityBased(), KnownWorth(web), CrawlOptions(sessions=1))
    assert crawl.pages.tolist() == [2, 4, 1, 0, 3]
    # b opens .2, two pages, closes .2: 1.4; a opens .1, two pages, closes .1: 3.6; c opens .3
    assert crawl.started == pytest.approx([0.2, 0.7, 1.5, 2.5, 3.9])
    assert crawl.ended == pytest.approx([0.7, 1.2, 2.5, 3.5, 4.4])
    assert crawl.connections == 3


def test_dead_server_costs_time_outs_until_it_is_given_up() -> None:
    """Ten requests of 2 s each, one for each of ten URLs, with growing pauses; the other two URLs are dropped."""
    web = make_web([Host(), Host(dead=True)], [Page(0, links=tuple(range(1, 13))), *[Page(1)] * 12])
    crawl = simulate(web, CapacityBased(), KnownWorth(web), CrawlOptions(sessions=1, timeout=2.0))
    assert crawl.pages.tolist() == [0]
    assert crawl.failures == 10
