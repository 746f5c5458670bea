"""``ADDONS = {"crawlproject.addon.FrontierAddon": 300}``: everything on, in any Scrapy project."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware

from crawlproject.options import FrontierOptions
from crawlproject.tolerant import (
    TolerantCompressionMiddleware,
    TolerantMetaRefreshMiddleware,
    TolerantRedirectMiddleware,
)

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

HANDLER = "crawlproject.download.handler.FrontierDownloadHandler"

DOWNLOADER_MIDDLEWARES = {
    "crawlproject.middlewares.AdmissionMiddleware": 90,  # before RobotsTxtMiddleware (100)
    "crawlproject.middlewares.PolitenessMiddleware": 110,  # after it
    "crawlproject.tolerant.CharsetMiddleware": 585,  # between HttpCompressionMiddleware and MetaRefreshMiddleware
    "crawlproject.middlewares.ServerTimingMiddleware": 990,  # after HttpCacheMiddleware (900): real answers only
}

#: Scrapy's own -> ours, where the project still has Scrapy's.
REPLACED = {
    HttpCompressionMiddleware: TolerantCompressionMiddleware,
    RedirectMiddleware: TolerantRedirectMiddleware,
    MetaRefreshMiddleware: TolerantMetaRefreshMiddleware,
}

SPIDER_MIDDLEWARES = {"crawlproject.middlewares.LinksMiddleware": 950}  # before all that look at requests


class FrontierAddon:
    """Switches on scheduler, dupefilter, download handler and middlewares, where the project has not chosen its own.

    Raises ValueError at start for a wrong setting.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawl."""
        self._take_over_delay(settings)
        FrontierOptions.from_settings(settings)
        for name, value in self._defaults().items():
            settings.set(name, value, priority="addon")
        for scheme in ("http", "https"):
            _set_in(settings, "DOWNLOAD_HANDLERS", scheme, HANDLER)
        for path, order in DOWNLOADER_MIDDLEWARES.items():
            _set_in(settings, "DOWNLOADER_MIDDLEWARES", path, order)
        self._replace(settings)
        for path, order in SPIDER_MIDDLEWARES.items():
            _set_in(settings, "SPIDER_MIDDLEWARES", path, order)

    @staticmethod
    def _replace(settings: BaseSettings) -> None:
        for old, new in REPLACED.items():
            for name in ("DOWNLOADER_MIDDLEWARES_BASE", "DOWNLOADER_MIDDLEWARES"):
                with suppress(KeyError):  # switched off, or the project has its own
                    settings.replace_in_component_priority_dict(name, old, new)

    @staticmethod
    def _defaults() -> dict[str, Any]:
        return {
            "SCHEDULER": "crawlproject.scheduler.FrontierScheduler",
            "DUPEFILTER_CLASS": "crawlproject.dupefilter.SeenDupeFilter",
            # The frontier hands out at most one request per server and FRONTIER_MAX_SESSIONS in all.
            "CONCURRENT_REQUESTS": 0,
            "ROBOTSTXT_PARSER": "crawlproject.tolerant.CappedRobotParser",
        }

    @staticmethod
    def _take_over_delay(settings: BaseSettings) -> None:
        """Keep ``DOWNLOAD_DELAY`` in the frontier: in the downloader it would hold a connection while waiting."""
        delay = settings.getfloat("DOWNLOAD_DELAY")
        if delay > 0:
            settings.set("FRONTIER_REQUEST_DELAY", delay, priority="addon")
            settings.set("DOWNLOAD_DELAY", 0, priority=settings.getpriority("DOWNLOAD_DELAY") or 0)


def _set_in(settings: BaseSettings, name: str, key: str, value: Any) -> None:
    """Set one key of a setting that is a dict, unless the project has it (also as None)."""
    chosen = settings.getdict(name)
    if key not in chosen:
        settings.set(name, {**chosen, key: value}, priority=settings.getpriority(name) or 0)
