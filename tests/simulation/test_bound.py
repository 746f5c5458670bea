"""No crawl is better than the bound, and the bound is not much better than the best crawl."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, Politeness
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import Curve, bound_area
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs


def test_one_session_for_two_servers_by_hand() -> None:
    """Two pages of .7 and .3, each 2 s of connection: the better first, by 1.5 s; both by 3.5 s.

    At price .35 per second the first pays nothing and the second does not either: UB(1.5) = .35 · (1.5 + .5) = .7.
    At .15 the first gains .4: UB(3.5) = .4 + .15 · (3.5 + .5) = 1.
    """
    web = make_web([Host(0.5), Host(0.5)], [Page(0, quality=0.7), Page(1, quality=0.3)], seeds=(0, 1))
    bound = bound_of(web, 1, np.array([0.0, 0.15, 0.35]))
    assert bound.at(1.5) == pytest.approx(0.7)
    assert bound.at(2.5) == pytest.approx(0.85)
    assert bound.at(3.5) == pytest.approx(1.0)


@settings(deadline=None)
@given(
    webs(may_be_dead=True),
    st.sampled_from(sorted(POLICIES)),
    st.integers(1, 4),
    st.sampled_from([0.0, 2.0]),
    st.sampled_from(["session", "request"]),
)
def test_no_policy_is_above_the_bound(web: SimulatedWeb, policy: str, sessions: int, factor: float, mode: str) -> None:
    """At the end of each response, whatever the web, the politeness and the number of sessions."""
    options = CrawlOptions(sessions, Politeness(mode, factor, 0, 60), max_batch=5, timeout=2.0)
    crawl = simulate(web, POLICIES[policy](), KnownWorth(web), options)
    bound = bound_of(web, sessions)
    collected = np.cumsum(web.quality[crawl.pages])
    assert (bound.curve(crawl.ended) >= collected - 1e-9).all()


def schedules(web: SimulatedWeb, slots: Sequence[float]) -> list[list[tuple[float, float]]]:
    """All orders in which connections can be opened, one after another, as (end, quality) of the pages.

    A connection starts as soon as its slot and its server are free: starting later brings nothing.
    """
    found: list[list[tuple[float, float]]] = []

    def connections(server: int, left: frozenset[int]) -> list[tuple[int, ...]]:
        mine = [page for page in left if web.server[page] == server]
        made: list[tuple[int, ...]] = [()]
        for one in made:
            if len(one) < web.keep_alive_limit[server]:
                made += [(*one, page) for page in mine if page not in one]
        return made[1:]

    def extend(
        slots: tuple[float, ...], servers: tuple[float, ...], left: frozenset[int], log: list[tuple[float, float]]
    ) -> None:
        if not left:
            found.append(log)
        for slot in {time: slot for slot, time in enumerate(slots)}.values():  # of equal slots one
            for server in range(web.servers):
                for pages in connections(server, left):
                    now = max(slots[slot], servers[server]) + web.connect_time[server]
                    ends = now + np.cumsum(web.page_time[list(pages)])
                    closed = float(ends[-1] + web.connect_time[server])
                    extend(
                        tuple(closed if i == slot else time for i, time in enumerate(slots)),
                        tuple(closed if i == server else time for i, time in enumerate(servers)),
                        left - set(pages),
                        log + list(zip(ends.tolist(), web.quality[list(pages)].tolist(), strict=True)),
                    )

    extend(tuple(slots), (0.0,) * web.servers, frozenset(range(web.pages)), [])
    return found


known_webs = st.builds(
    lambda hosts, pages: make_web(hosts, pages, seeds=range(len(pages))),
    st.lists(st.builds(Host, st.floats(0.05, 1), st.integers(1, 3)), min_size=2, max_size=2),
    st.lists(st.builds(Page, st.integers(0, 1), st.floats(0.1, 3), st.floats(0.1, 1)), min_size=1, max_size=4),
)


@settings(deadline=None, max_examples=30)
@given(known_webs, st.integers(1, 2))
def test_the_best_of_all_schedules_is_below_the_bound(web: SimulatedWeb, sessions: int) -> None:
    """Everything known from the start, every schedule tried, for each time the one that is best by then."""
    every = schedules(web, (0.0,) * sessions)
    bound = bound_of(web, sessions)
    ends = sorted({end for log in every for end, _ in log})
    for time in ends[:: max(1, len(ends) // 20)]:
        optimum = max(sum(quality for end, quality in log if end <= time) for log in every)
        assert optimum <= bound.at(time) + 1e-9


def test_a_crawl_that_knows_all_has_nearly_the_bounds_area() -> None:
    """Every page known from the start, and its worth: so the bound is not much too high."""
    web = build(SyntheticSpec(servers=60, pages=2000))
    web = replace(web, seeds=np.arange(web.pages))
    crawl = simulate(web, POLICIES["prefix"](), KnownWorth(web), CrawlOptions(sessions=8))
    bound = bound_of(web, 8)
    assert Curve.of(crawl).area(crawl.full_time) / bound_area(bound, 1.0, crawl.full_time) > 0.97
