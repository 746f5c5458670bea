"""Wrong settings of the guards: refused at start, by name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from scrapy.settings import Settings

from crawlproject.frontier.guard.patterns import GuardLimits
from crawlproject.options.traps import TrapOptions
from crawlproject.urls.traps import TrapRules


def test_without_settings_the_defaults_hold() -> None:
    """Those of the pure modules, and the years around this one."""
    options = TrapOptions.from_settings(Settings())
    year = datetime.now(UTC).year
    assert options.rules == TrapRules(years=(year - 200, year + 5))
    assert options.limits == GuardLimits()
    assert options.is_guarded
    assert not options.is_released("http://a.example")


def test_settings_are_read_as_text_too() -> None:
    """As the command line gives them."""
    options = TrapOptions.from_settings(Settings({"FRONTIER_GUARD_MAX_SAME": "7", "FRONTIER_GUARD_ENABLED": "0"}))
    assert (options.limits.max_same, options.is_guarded) == (7, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FRONTIER_GUARD_ENABLED", "perhaps"),
        ("FRONTIER_GUARD_MAX_SAME", -1),
        ("FRONTIER_GUARD_MAX_WAITING", None.__class__),
        ("FRONTIER_GUARD_MAX_OWN_URLS", "x"),
        ("FRONTIER_GUARD_SERVER_COPIES", -0.1),
        ("FRONTIER_GUARD_PROBES", "perhaps"),
    ],
)
def test_wrong_value_is_refused(name: str, value: object) -> None:
    """With setting and value."""
    with pytest.raises(ValueError, match=rf"^{name}="):
        TrapOptions.from_settings(Settings({name: value}))


def test_servers_are_released_by_host_or_key() -> None:
    """A host stands for all its servers."""
    options = TrapOptions.from_settings(Settings({"FRONTIER_GUARD_RELEASED": ["a.example", "http://b.example:81"]}))
    keys = ["https://a.example:8443", "http://b.example", "http://b.example:81", "http://c.example"]
    assert [options.is_released(key) for key in keys] == [True, False, True, False]
