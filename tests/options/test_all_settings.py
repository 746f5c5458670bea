"""Names of settings and presets: what is misspelt does not run silently, what is set explicitly wins."""

from __future__ import annotations

import re
from typing import Any

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.options.all_settings import DEFAULTS, check_names
from crawlproject.options.project_rules import PRESETS
from crawlproject.options.scheduling import FrontierOptions


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FRONTIER_POLICI", "FRONTIER_POLICY"),
        ("FRONTIER_MAX_SESSION", "FRONTIER_MAX_SESSIONS"),
        ("frontier_policy", "FRONTIER_POLICY"),
        ("FRONTIER_GUARD_ENABLE", "FRONTIER_GUARD_ENABLED"),
        ("FRONTIER_DUPLICATES_NEER", "FRONTIER_DUPLICATES_NEAR"),
        ("FRONTIER_REPOSITORY_DIRECTORY", "FRONTIER_REPOSITORY_DIR"),
        ("FRONTIER_SEEN_CACHE_SIZES", "FRONTIER_SEEN_CACHE_SIZE"),
        ("FRONTIER_LINKS_FILES", "FRONTIER_LINKS_FILE"),
        ("FRONTIER_DROP_PARAMS", "FRONTIER_DROP_PARAMETERS"),
        ("FRONTIER_ROBOTS_CACHETIME", "FRONTIER_ROBOTS_CACHE_TIME"),
    ],
)
def test_misspelt_setting_stops_the_start(name: str, meant: str) -> None:
    """With the value and the right name."""
    with pytest.raises(ValueError, match=re.escape(f"{name}='x': unknown setting; did you mean {meant}?")):
        check_names(Settings({name: "x"}))


@pytest.mark.parametrize("name", ["FRONTIER_FILE", "FRONTIER_TEAM"])
def test_setting_of_the_project_is_not_taken_for_a_misspelling(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A long prefix alone makes no name similar to one of ours: a warning, and the crawl starts."""
    check_names(Settings({name: "x"}))
    assert name in caplog.text


def test_names_without_the_prefix_get_a_hint(caplog: pytest.LogCaptureFixture) -> None:
    """They may be another component's, so the crawl starts."""
    check_names(Settings({"RENDER": "x", "REPOSITORY_URL": "y"}))
    assert "RENDER is not one of crawlproject's; did you mean FRONTIER_RENDER?" in caplog.text
    assert "REPOSITORY_URL" not in caplog.text


def test_all_settings_and_scrapys_own_are_known(caplog: pytest.LogCaptureFixture) -> None:
    """No word about any of them, also after the add-on has set its own."""
    settings = Settings({**DEFAULTS, "DOWNLOAD_DELAY": 1})
    for _ in range(2):
        FrontierAddon().update_settings(settings)
    assert caplog.text == ""


def with_addon(settings: dict[str, Any], priority: str = "project") -> Settings:
    made = Settings()
    made.setdict(settings, priority=priority)
    FrontierAddon().update_settings(made)
    return made


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_a_bundle_of_defaults(name: str) -> None:
    """Each of its settings is one of ours, is used, and loses to the project's."""
    assert PRESETS[name].keys() <= DEFAULTS.keys()
    settings = with_addon({"FRONTIER_PRESET": name})
    FrontierOptions.from_settings(settings)
    for setting, value in PRESETS[name].items():
        assert settings[setting] == value != DEFAULTS[setting]


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_explicit_setting_wins_over_the_preset(priority: str) -> None:
    """Wherever it is made."""
    settings = with_addon({"FRONTIER_PRESET": "gentle", "FRONTIER_DELAY_FACTOR": 3}, priority)
    options = FrontierOptions.from_settings(settings)
    assert options.politeness.factor == 3
    assert (options.group, options.politeness.min_delay) == ("domain", 5.0)


def test_unknown_preset_is_refused() -> None:
    """With those there are."""
    with pytest.raises(ValueError, match="FRONTIER_PRESET='rude': must be one of gentle, polite"):
        with_addon({"FRONTIER_PRESET": "rude"})
