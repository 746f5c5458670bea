"""Names of settings: what is misspelt does not run silently."""

from __future__ import annotations

import re

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.options.all_settings import DEFAULTS, check_names


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FRONTIER_POLICI", "FRONTIER_POLICY"),
        ("FRONTIER_MAX_SESSION", "FRONTIER_MAX_SESSIONS"),
        ("frontier_policy", "FRONTIER_POLICY"),
        ("FRONTIER_DUPLICATES_NEER", "FRONTIER_DUPLICATES_NEAR"),
        ("FRONTIER_REPOSITORY_DIRECTORY", "FRONTIER_REPOSITORY_DIR"),
        ("FRONTIER_DROP_PARAMS", "FRONTIER_DROP_PARAMETERS"),
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


def test_all_settings_and_scrapys_own_are_known(caplog: pytest.LogCaptureFixture) -> None:
    """No word about any of them, also after the add-on has set its own."""
    settings = Settings({**DEFAULTS, "DOWNLOAD_DELAY": 1})
    for _ in range(2):
        FrontierAddon().update_settings(settings)
    assert caplog.text == ""
