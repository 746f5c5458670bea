"""Scores, by hand."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given

from crawlproject.frontier import BreadthFirst
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import Curve, Outcome, Reference, best_first, bound_area, bound_shares, score
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import SimulatedWeb
from tests.simulation.webs import webs

# Half of the quality after 1 s, .8 after 2 s, all after 4 s.
STEPS = Curve(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.8, 1.0]))


def test_area_under_steps() -> None:
    """.5 · (4 - 1) + .3 · (4 - 2) + .2 · 0 = 2.1; to 1.5 s only .5 · .5."""
    assert STEPS.area(4.0) == pytest.approx(2.1)
    assert STEPS.area(1.5) == pytest.approx(0.25)
    assert STEPS.area(0.5) == 0


def test_score_by_hand() -> None:
    """T = 4 s, breadth-first's area 1.6, the bound's 2.6: nauc 2.1 / 2.6, gap (2.1 - 1.6) / (2.6 - 1.6)."""
    outcome = Outcome(STEPS, full_time=4.0, connections=3, failures=1, size=0.0)
    row = {"q10": 0.0, "q20": 0.0, "q30": 0.5, "q50": 0.8, "t50": 0.25, "t80": 0.5, "t90": 1.0}
    row |= {"nauc": 2.1 / 2.6, "gap": 0.5, "t80_breadth_first": 0.8, "full_time": 1.0, "connections": 3, "failures": 1}
    assert score(outcome, Reference(unit=4.0, t80=2.5, breadth_first=1.6, bound=2.6)) == pytest.approx(row)
    assert isnan(score(outcome, Reference(4.0, 2.5, 2.1, 2.1))["gap"])


def test_area_of_the_bound_is_exact_enough() -> None:
    """A grid ten times as fine changes it by less than 1e-5 of the time."""
    web = build(SyntheticSpec(servers=20, pages=200))
    bound, until = bound_of(web, 4), 40.0
    times = until * np.linspace(0, 1, 4001) ** 2
    exact = np.trapezoid(bound_shares(bound, 1.0, times), times)
    assert bound_area(bound, 1.0, until) == pytest.approx(exact, abs=1e-5 * until)


@given(webs())
def test_best_pages_first_is_the_most_that_so_many_pages_hold(web: SimulatedWeb) -> None:
    """From nothing to everything, ever more slowly."""
    shares = best_first(web)
    assert (shares[0], shares[-1]) == (0, pytest.approx(1))
    crawl = simulate(web, BreadthFirst(), KnownWorth(web))
    counts = np.round(np.linspace(0, web.pages, len(shares))).astype(int)
    assert (Curve.of(crawl).shares_of_first(counts) <= shares + 1e-9).all()
