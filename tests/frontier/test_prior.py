"""Expected times of new servers."""

from math import exp, log, sqrt
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.learning.estimate import (
    FIRST_VARIANCE_BETWEEN,
    FIRST_VARIANCE_WITHIN,
    FIRST_WEIGHT,
    Observed,
    Population,
    Prior,
)
from tests.frontier.invariants import check

times = st.floats(0.001, 30)


def observe(population: Population, servers: list[list[float]]) -> list[Observed]:
    observed = [Observed() for _ in servers]
    for one, values in zip(observed, servers, strict=True):
        for value in values:
            population.observe(one, value)
    return observed


@given(st.lists(st.lists(times, min_size=1, max_size=8), min_size=1, max_size=8))
def test_running_moments_equal_those_of_all_observations(servers: list[list[float]]) -> None:
    """Running sums give the same result as all observations."""
    population = Population(typical=0.2)
    observe(population, servers)
    logs = [[log(value) for value in values] for values in servers]
    means = [mean(values) for values in logs]
    degrees = sum(len(values) - 1 for values in logs)
    squares = sum((x - m) ** 2 for values, m in zip(logs, means, strict=True) for x in values)
    middle = (sum(means) + FIRST_WEIGHT * log(0.2)) / (len(servers) + FIRST_WEIGHT)
    within = (squares + FIRST_WEIGHT * FIRST_VARIANCE_WITHIN) / (degrees + FIRST_WEIGHT)
    spread = sum((m - middle) ** 2 for m in means) - within * sum(1 / len(values) for values in logs)
    between = (max(0.0, spread) + FIRST_WEIGHT * FIRST_VARIANCE_BETWEEN) / (len(servers) + FIRST_WEIGHT)
    assert population.moments() == pytest.approx((middle, max(0.01, between), max(0.01, within)), rel=1e-6, abs=1e-6)


def test_server_never_met_is_expected_to_be_like_the_others() -> None:
    """exp(M + √V/2 + W/2), M over first requests, and so slower after slow servers than after fast ones."""
    slow, fast = Population(0.2), Population(0.2)
    observe(slow, [[2.0, 2.5], [3.0, 2.0]])
    observe(fast, [[0.02, 0.025], [0.03, 0.02]])
    m = (log(2.0) + log(3.0) + FIRST_WEIGHT * log(0.2)) / (2 + FIRST_WEIGHT)
    _, v, w = slow.moments()
    assert slow.expected(None) == pytest.approx(exp(m + 0.5 * sqrt(v) + w / 2))
    assert slow.expected(Observed()) == slow.expected(None)
    assert slow.expected(None) > 2 * fast.expected(None)


def test_server_never_met_is_expected_to_be_like_those_met_of_late() -> None:
    """After 300 fast servers and 200 slow ones a new one is expected to be slow; one of the first is not."""
    population = Population(0.2)
    early = observe(population, [[0.1]] * 300)[0]
    observe(population, [[2.0]] * 200)
    assert population.expected(None) > 2.0
    assert population.expected(early) < 0.5


def test_new_servers_take_what_others_taught() -> None:
    """After 30 fast answers of one server, a new one is expected to be faster than at the start."""
    frontier = Frontier(BestPrefix(), Politeness(factor=0, min_delay=0))
    frontier.push([Entry(f"http://a.example/{i}") for i in range(40)] + [Entry("http://b.example/")])
    before = frontier.server("http://b.example").estimates.response_time
    for now in range(30):
        frontier.record(
            Measurement("http://a.example", float(now), status=200, connect_time=0.01, response_time=0.02, fetch_time=0)
        )
    check(frontier)
    assert frontier.server("http://b.example").estimates.response_time < before / 2


def test_first_expectations_are_those_given() -> None:
    """Means in seconds, including the spread between servers and between requests."""
    for connect, response in ((0.05, 0.2), (1.0, 3.0)):
        assert Prior(connect, response).unmet == pytest.approx((connect, response))
