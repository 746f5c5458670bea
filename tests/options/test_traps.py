"""The settings of the guards."""

from __future__ import annotations

from datetime import UTC, datetime

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


def test_servers_are_released_by_host_or_key() -> None:
    """A host stands for all its servers."""
    options = TrapOptions.from_settings(Settings({"FRONTIER_GUARD_RELEASED": ["a.example", "http://b.example:81"]}))
    keys = ["https://a.example:8443", "http://b.example", "http://b.example:81", "http://c.example"]
    assert [options.is_released(key) for key in keys] == [True, False, True, False]
