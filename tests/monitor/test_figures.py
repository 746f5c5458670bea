"""The figures as values of JSON."""

import time
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.monitor.figures import Figures, figures_of
from crawlproject.monitor.forecast import Forecast


@pytest.mark.parametrize(
    ("forecast", "told"),
    [
        (Forecast(3.0, limit="time"), (3.0, "", True)),
        (Forecast(None, "too few pages yet"), (None, "too few pages yet", False)),
    ],
)
def test_the_estimate_of_the_end(forecast: Forecast, told: Any) -> None:
    """Its seconds, or why it is unknown."""
    found = Figures(at=0.0, elapsed=1.0, forecast=forecast).flat()
    assert (found["end"], found["why_no_end"], found["is_limit"]) == told


def test_a_clock_that_is_set_does_not_move_the_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back, it would stop them until it has caught up; set forward, it would squeeze all earlier points."""
    figures = figures_of(get_crawler())
    before = figures.now(fresh=0.0)
    for jump in (-3600.0, 86_400.0):
        monkeypatch.setattr(time, "time", lambda jump=jump: before.at + jump)
        after = figures.now(fresh=0.0)
        assert after.at - before.at == pytest.approx(after.elapsed - before.elapsed, abs=1e-3)
