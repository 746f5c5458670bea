"""Servers whose pages take the longer the deeper they lie, and those whose times say nothing of the kind."""

from __future__ import annotations

from random import Random

import pytest

from crawlproject.frontier import Entry, Frontier, QualityFirst
from crawlproject.frontier.depth_times import DEEP, LEAST_PAGES, DepthTimes
from crawlproject.frontier.guard import Guard
from crawlproject.frontier.snapshot import server_state, set_state
from crawlproject.frontier.suspects import GuardLimits

SITE = "http://a.example"


def judged(times: list[tuple[int, float]], slower: float = 10.0) -> str:
    """What is said of a server whose pages at these depths took so long."""
    frontier = Frontier(QualityFirst())
    frontier.push([Entry(SITE + "/")])
    guard, server = Guard(GuardLimits(server_slower=slower), frontier.server), frontier.server(SITE)
    assert server is not None
    for depth, time in times:
        guard.learn_time(server, depth, time)
    return guard.standing_out(server)


def getting_slower(factor: float, pages: int = 120, noise: float = 0.5) -> list[tuple[int, float]]:
    """A chain of pages of which the last takes ``factor`` times as long as the first deep one."""
    chance = Random(1)
    per_level = factor ** (1 / (pages - 1))
    return [(DEEP + page, 0.1 * per_level**page * chance.lognormvariate(0, noise)) for page in range(pages)]


def test_pages_that_get_ever_slower_stand_out() -> None:
    """Though single times scatter."""
    assert judged(getting_slower(40)) == "slower"


def test_a_little_slower_is_nothing() -> None:
    """Deep pages have longer paths and colder caches."""
    assert judged(getting_slower(4)) == ""


def test_a_few_pages_say_nothing() -> None:
    """However steep."""
    assert judged(getting_slower(1000, pages=LEAST_PAGES - 1, noise=0.0)) == ""


def test_the_rule_can_be_switched_off() -> None:
    """By 0, as all of the guard's."""
    assert judged(getting_slower(1000), slower=0) == ""


@pytest.mark.parametrize("seed", range(200))
def test_times_that_only_scatter_do_not_stand_out(seed: int) -> None:
    """At any depths, however much: as slow as they may be, that is for the rank."""
    chance = Random(seed)
    depths = [min(40, DEEP + int(chance.expovariate(0.3))) for _ in range(200)]
    assert judged([(depth, chance.lognormvariate(0, 2.0)) for depth in depths]) == ""


def test_faster_deep_pages_do_not_stand_out() -> None:
    """A trend alone is not enough, it must go up."""
    assert judged([(depth, 1 / time) for depth, time in getting_slower(1000)]) == ""


def test_all_pages_at_one_depth_have_no_trend() -> None:
    """Nor do they divide by nothing."""
    assert judged([(DEEP, 1.0 + page) for page in range(200)]) == ""
    assert judged([(DEEP + page, 0.0) for page in range(200)]) == ""


def test_a_server_without_deep_pages_costs_nothing() -> None:
    """Most have none."""
    frontier = Frontier(QualityFirst())
    frontier.push([Entry(SITE + "/")])
    server = frontier.server(SITE)
    assert server is not None
    Guard(GuardLimits(), frontier.server).learn_time(server, DEEP - 1, 5.0)
    assert server.depth_times is None


def test_it_is_kept_over_a_restart() -> None:
    """So that a chain of pages does not begin anew with each run."""
    frontier = Frontier(QualityFirst())
    frontier.push([Entry(SITE + "/"), Entry("http://b.example/")])
    server, other = frontier.server(SITE), frontier.server("http://b.example")
    assert server is not None
    assert other is not None
    guard = Guard(GuardLimits(), frontier.server)
    for depth, time in getting_slower(40):
        guard.learn_time(server, depth, time)
    assert isinstance(server.depth_times, DepthTimes)
    set_state(other, {"depth_times": server_state(server)["depth_times"]})
    assert other.depth_times is not None
    assert other.depth_times.growth == server.depth_times.growth
    assert guard.standing_out(other) == "slower"
