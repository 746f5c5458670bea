"""When fewer sessions are opened, and what the settings of the monitor may be."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.monitor.load import Throttle
from crawlproject.options.monitor import MonitorOptions

ADDONS = {"crawlproject.addon.FrontierAddon": 300}


def limits(throttle: Throttle, *lags: float, memory: int = 0) -> list[int]:
    """The limit after each look."""
    return [throttle.look(lag, memory) for lag in lags]


def test_limit_is_halved_while_the_loop_lags() -> None:
    """From the second bad look on, down to one session."""
    assert limits(Throttle(8, 1.0, 0), *[1.1] * 6) == [8, 4, 2, 1, 1, 1]


def test_one_bad_look_is_none() -> None:
    """A single long callback changes nothing."""
    assert limits(Throttle(8, 1.0, 0), 9.0, 0.0, 9.0, 0.0, 9.0) == [8] * 5


def test_limit_grows_step_by_step() -> None:
    """By a sixteenth of all, rounded up."""
    throttle = Throttle(64, 1.0, 0)
    limits(throttle, *[2.0] * 10)
    assert limits(throttle, *[0.1] * 17) == [*range(5, 65, 4), 64, 64]


def test_limit_stays_between_the_bounds() -> None:
    """A lag between half of what is allowed and all of it: neither lower nor higher."""
    throttle = Throttle(8, 1.0, 0)
    limits(throttle, 2.0, 2.0)
    assert limits(throttle, 0.6, 0.9, 0.6) == [4, 4, 4]


def test_memory_counts_as_lag_does() -> None:
    """Too much, nearly too much, little."""
    throttle = Throttle(8, 1.0, 1000)
    assert limits(throttle, 0.0, 0.0, 0.0, memory=1001) == [8, 4, 2]
    assert limits(throttle, 0.0, memory=950) == [2]
    assert limits(throttle, 0.0, memory=899) == [3]


def test_without_bounds_nothing_is_throttled() -> None:
    """0 = no limit, of both."""
    assert limits(Throttle(8, 0.0, 0), *[99.0] * 4, memory=10**12) == [8] * 4


@given(st.integers(1, 300), st.lists(st.floats(0, 5)))
def test_limit_is_always_between_one_and_all(full: int, lags: list[float]) -> None:
    """And after 16 good looks it is all."""
    throttle = Throttle(full, 1.0, 0)
    assert all(1 <= limit <= full for limit in limits(throttle, *lags))
    assert limits(throttle, *[0.0] * 16)[-1] == full


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MONITOR_INTERVAL", 0),
        ("MONITOR_INTERVAL", "often"),
        ("MONITOR_MAX_LAG", -1),
        ("MONITOR_MAX_MEMORY", 0.5),
        ("METRICS_PORT", 70_000),
        ("METRICS_PORT", "http"),
    ],
)
def test_wrong_setting_stops_the_start(name: str, value: Any) -> None:
    """With its name and value."""
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}")):
        get_crawler(settings_dict={"ADDONS": ADDONS, name: value})


def test_settings_are_read() -> None:
    """Memory in megabytes."""
    settings = {"MONITOR_MAX_MEMORY": "100", "METRICS_PORT": "9100", "MONITOR_MAX_LAG": "0.5"}
    options = MonitorOptions.from_settings(get_crawler(settings_dict=settings).settings)
    defaults = MonitorOptions.from_settings(Settings())
    assert options == replace(defaults, max_memory=100 * 2**20, metrics_port=9100, max_lag=0.5)


def test_none_is_off() -> None:
    """METRICS_PORT = None."""
    settings = get_crawler(settings_dict={"METRICS_PORT": None}).settings
    assert MonitorOptions.from_settings(settings).metrics_port == 0
