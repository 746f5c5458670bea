"""What the console says of the figures, without a crawl."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from crawlproject.monitor.console import room
from crawlproject.monitor.figures import Figures
from crawlproject.monitor.forecast import Forecast, Range


@pytest.mark.parametrize(
    ("forecast", "most", "within"),
    [
        (Forecast(None, "", Range(2.0, 3.0, 4.0), 0.5), (2.0, 3.0, 4.0), None),
        (Forecast(None, "", None, 0.5, 40.0), None, 40.0),
        (Forecast(None, "too few pages yet", None, None), None, None),
    ],
)
def test_the_forecast_of_most_of_the_quality(forecast: Forecast, most: Any, within: float | None) -> None:
    """Its range, or where that is too wide to be told, its end."""
    sampler = SimpleNamespace(now=lambda: Figures(at=0.0, elapsed=1.0, forecast=forecast))
    anything: Any = mock.Mock()
    with mock.patch.object(room, "figures_of", return_value=sampler):
        found = room.CrawlRoom(anything, anything, anything, anything, anything, anything).figures()
    assert (found["most_quality"], found["most_within"]) == (most, within)
