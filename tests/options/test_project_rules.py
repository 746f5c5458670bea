"""Rules of politeness that a project gives by Scrapy's settings."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from crawlproject.frontier.politeness import Politeness
from crawlproject.options.project_rules import ADDON
from crawlproject.options.scheduling import FrontierOptions


def rules(caplog: pytest.LogCaptureFixture, settings: dict[str, Any], **attributes: Any) -> tuple[Politeness, str]:
    """What holds in a crawl with ``settings`` and a spider with ``attributes``; what the log says of it."""
    kind = type("OwnSpider", (Spider,), {"name": "own", **attributes})
    with caplog.at_level(logging.INFO, "crawlproject.addon"):
        crawler = get_crawler(kind, {"ADDONS": {ADDON: 300}, "DOWNLOAD_HANDLERS": {}, **settings})
    [told] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Politeness: ")]
    return FrontierOptions.of(crawler).politeness, told


@pytest.mark.parametrize(
    ("settings", "attributes", "delay", "connections"),
    [
        ({"DOWNLOAD_DELAY": 0}, {}, 0.0, 8),
        ({"DOWNLOAD_DELAY": "1.5"}, {}, 1.5, 8),
        ({"CONCURRENT_REQUESTS_PER_DOMAIN": 2}, {}, 0.0, 2),
        ({"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}, {}, 1.0, 1),
        ({}, {"custom_settings": {"DOWNLOAD_DELAY": 3}}, 3.0, 8),
        ({"AUTOTHROTTLE_ENABLED": True, "DOWNLOAD_DELAY": 2}, {}, 0.0, 8),  # the extension has delays of its own
    ],
)
def test_rules_of_the_project_replace_the_rests(
    settings: dict[str, Any],
    attributes: dict[str, Any],
    delay: float,
    connections: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What it leaves open is as in Scrapy; the log names what it set, and how to have rests."""
    held, told = rules(caplog, settings, **attributes)
    assert (held.mode, held.request_delay, held.connections) == ("slots", delay, connections)
    for name in {**settings, **attributes.get("custom_settings", {})}:
        assert name in told
    assert "FRONTIER_POLITENESS = 'session'" in told


@pytest.mark.filterwarnings("ignore:The '(download_delay|max_concurrent_requests)' spider attribute")
def test_attributes_of_the_spider_are_rules(caplog: pytest.LogCaptureFixture) -> None:
    """Scrapy's deprecated ones."""
    held, told = rules(caplog, {}, download_delay=3, max_concurrent_requests=2)
    assert (held.mode, held.request_delay, held.connections) == ("slots", 3.0, 2)
    assert "download_delay, max_concurrent_requests" in told


def test_without_rules_servers_rest(caplog: pytest.LogCaptureFixture) -> None:
    """The log says how to change that."""
    held, told = rules(caplog, {})
    assert held == Politeness()
    assert "DOWNLOAD_DELAY or CONCURRENT_REQUESTS_PER_DOMAIN" in told


@pytest.mark.parametrize("rest", [{"FRONTIER_POLITENESS": "session"}, {"FRONTIER_DELAY_FACTOR": 10}])
def test_rests_that_the_project_asks_for_hold(rest: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """Its delay is then a minimum."""
    held, told = rules(caplog, {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 4, **rest})
    assert (held.mode, held.request_delay, held.connections) == ("session", 1.0, 1)
    assert held.factor > 0
    assert next(iter(rest)) in told
