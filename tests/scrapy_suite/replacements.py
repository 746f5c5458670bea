"""A pytest plugin for Scrapy's own tests: everything of Scrapy's that this project replaces is replaced.

Loaded with ``-p replacements`` where Scrapy's tests lie: crawlers have the add-on by default, and what tests import by
name, the middlewares, are this project's.  Only loopback may be contacted; nothing waits out of politeness.
"""

from __future__ import annotations

from typing import Any

from scrapy.downloadermiddlewares import httpcompression, redirect, robotstxt
from scrapy.settings import default_settings

from crawlproject import robots, tolerant
from crawlproject.addon import FrontierAddon

DEFAULTS: dict[str, Any] = {
    "ADDONS": {FrontierAddon: 300},
    "ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MAX_DELAY": 0,
    "FRONTIER_MIN_BACKOFF": 0.01,
    "FRONTIER_MAX_BACKOFF": 0.02,
}

for name, value in DEFAULTS.items():
    setattr(default_settings, name, value)

for module, name, ours in (
    (robotstxt, "RobotsTxtMiddleware", robots.RobotsMiddleware),
    (redirect, "RedirectMiddleware", tolerant.TolerantRedirectMiddleware),
    (redirect, "MetaRefreshMiddleware", tolerant.TolerantMetaRefreshMiddleware),
    (httpcompression, "HttpCompressionMiddleware", tolerant.TolerantCompressionMiddleware),
):
    setattr(module, name, ours)
