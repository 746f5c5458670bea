"""``ADDONS = {"crawlproject.addon.FrontierAddon": 300}`` enables everything, in any Scrapy project."""

from __future__ import annotations

import atexit
import logging
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.offsite import OffsiteMiddleware
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from crawlproject.compat import USED, missing_names
from crawlproject.engine import Crawl
from crawlproject.monitor.logs import shorten_lists, use_json
from crawlproject.options.all_settings import FAMILIES, check_names
from crawlproject.options.monitor import MonitorOptions
from crawlproject.options.project_rules import take_over_rules
from crawlproject.options.records import RecordOptions, RepositorySettings
from crawlproject.options.start_errors import starting
from crawlproject.requests.owners import Owners

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

HANDLER = "crawlproject.download.handler.FrontierDownloadHandler"
DOWNLOADER = "crawlproject.download.downloader.FrontierDownloader"

DOWNLOADER_MIDDLEWARES = {
    "crawlproject.middlewares.limits.LimitsMiddleware": 80,  # outermost: sees only final responses
    "crawlproject.middlewares.admission.AdmissionMiddleware": 90,  # before RobotsMiddleware (100)
    "crawlproject.middlewares.admission.PolitenessMiddleware": 110,  # after RobotsMiddleware
    # after decompression (590), before large pages are parsed (585) and refreshes followed (580)
    "crawlproject.middlewares.rendering.RenderMiddleware": 587,
    # between HttpCompressionMiddleware and MetaRefreshMiddleware
    "crawlproject.middlewares.large_pages.LargePageMiddleware": 585,
    # inside HttpCacheMiddleware (900), which sends its own conditional requests
    "crawlproject.middlewares.recrawl.RecrawlMiddleware": 950,
    "crawlproject.middlewares.timing.ServerTimingMiddleware": 990,  # after HttpCacheMiddleware (900), for its misses
}

#: Only with FRONTIER_REPOSITORY_DIR: it imports the extra "repository".
REPOSITORY_MIDDLEWARE = {
    "crawlproject.middlewares.repository.RepositoryMiddleware": 995,  # innermost: responses before any change
}

COMPONENTS = {
    "SCHEDULER": "crawlproject.scheduler.FrontierScheduler",
    "ROBOTSTXT_PARSER": "crawlproject.middlewares.robots.CappedRobotParser",
}

#: With that scheduler only: it stores the keys.
DUPEFILTER = "crawlproject.dupefilter.SeenDupeFilter"

#: Scrapy's middleware -> its replacement, used if the project has not replaced or disabled Scrapy's.
REPLACED = {
    HttpCompressionMiddleware: "crawlproject.middlewares.compression.OffLoopCompressionMiddleware",
    RedirectMiddleware: "crawlproject.middlewares.redirects.TolerantRedirectMiddleware",
    MetaRefreshMiddleware: "crawlproject.middlewares.redirects.TolerantMetaRefreshMiddleware",
    OffsiteMiddleware: "crawlproject.middlewares.offsite.TolerantOffsiteMiddleware",
    RetryMiddleware: "crawlproject.middlewares.retries.ServerRetryMiddleware",
    RobotsTxtMiddleware: "crawlproject.middlewares.robots.RobotsMiddleware",
    DownloaderStats: "crawlproject.middlewares.timing.QuickDownloaderStats",
}

#: The same for a middleware that is imported only with ``COOKIES_ENABLED``: its path, and its replacement.
COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
COOKIES_REPLACEMENT = "crawlproject.middlewares.cookies.TolerantCookiesMiddleware"

#: Replaces Scrapy's ``HttpErrorMiddleware`` with ``FRONTIER_LOG_FAILURES = "counts"``.
COUNTING = "crawlproject.monitor.failure_log.CountingHttpErrorMiddleware"

SPIDER_MIDDLEWARES = {
    "crawlproject.middlewares.links.OriginMiddleware": 0,  # after all middlewares that create or replace requests
    "crawlproject.middlewares.duplicates.DuplicatesMiddleware": 100,  # after HttpErrorMiddleware (50)
    "crawlproject.middlewares.links.LinksMiddleware": 950,  # before all middlewares that read requests
}

#: Only with several spiders (``-a spiders``).
SPIDERS_MIDDLEWARES = {
    "crawlproject.middlewares.spiders.SpiderOfPage": 1,  # before HttpErrorMiddleware (50), which leads to errbacks
    "crawlproject.middlewares.spiders.SpidersMiddleware": 945,  # sees what ``LinksMiddleware`` leaves
}

#: Only with FRONTIER_RECORDS_DB, or FRONTIER_RECORDS_PAGES: they import the extra "records".
DATABASE_PIPELINE = {"crawlproject.records.pipeline.DatabasePipeline": 900}  # after those that change items
PAGE_OBJECTS_MIDDLEWARE = {
    "crawlproject.records.page_objects.PageObjectsMiddleware": 940,  # its items pass all other middlewares
}

EXTENSIONS = {
    "crawlproject.monitor.load.LoadMonitor": 0,
    "crawlproject.monitor.console.extension.Console": 0,
    "crawlproject.monitor.logs.StatsFile": 0,
    "crawlproject.monitor.logs.BriefStats": 0,
    "crawlproject.monitor.progress.extension.Progress": 0,
    "crawlproject.monitor.series.recording.Series": 0,
    "crawlproject.middlewares.limits.PageTypes": 0,
    "crawlproject.monitor.failed_end.FailedEnd": 0,
}

#: Setting that switches an extension of Scrapy off -> that extension, which imports much.
SWITCHED = {
    "TELNETCONSOLE_ENABLED": "scrapy.extensions.telnet.TelnetConsole",
    "REMOTE_CONTROL_ENABLED": "scrapy.extensions.remote_control.RemoteControl",
}


class FrontierAddon:
    """Enables scheduler, dupefilter, download handler and middlewares, unless the project has chosen others.

    Checks all settings: raises ValueError at the start for an invalid value or a misspelled name.
    """

    def __init__(self, crawler: Crawler | None = None) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Called by Scrapy before it configures the log."""
        with suppress(ValueError):  # reported when the crawl starts, in one line
            options = MonitorOptions.from_settings(settings)
            if options.log_json:
                use_json(settings, options)

    @starting()
    def update_settings(self, settings: BaseSettings) -> None:
        ignore_late_signals()
        if missing := missing_names(USED):
            raise ValueError(f"Scrapy {scrapy.__version__} has no {', '.join(missing)}: use another version")
        check_names(settings)
        _check_job_dir(settings)
        for name, value in COMPONENTS.items():
            settings.set(name, value, priority="addon")
        if settings["SCHEDULER"] == COMPONENTS["SCHEDULER"]:  # other schedulers rely on Scrapy's limits
            settings.set("DUPEFILTER_CLASS", DUPEFILTER, priority="addon")
            # Limits are the frontier's: a request delayed in the downloader would occupy a connection.
            running = self._crawler and (self._crawler.spider or self._crawler.spidercls)
            logger.info("Politeness: %s", take_over_rules(settings, running))
            settings.set("DOWNLOADER", DOWNLOADER, priority="addon")
            if settings["DOWNLOADER"] != DOWNLOADER:  # ours knows that Scrapy's default is no limit
                settings.set("CONCURRENT_REQUESTS", 0, priority="addon")
        options: dict[type, Any] = {
            family: family.of(self._crawler) if self._crawler else family.from_settings(settings) for family in FAMILIES
        }
        has_repository = options[RepositorySettings].directory is not None
        # ftp is off: Scrapy's handler connects to any address given by DNS or by the server's answer to PASV.
        for scheme, handler in (("http", HANDLER), ("https", HANDLER), ("ftp", None)):
            _set_in(settings, "DOWNLOAD_HANDLERS", scheme, handler)
        _check_handlers(settings)
        _check_reactor(settings)
        downloader = DOWNLOADER_MIDDLEWARES | (REPOSITORY_MIDDLEWARE if has_repository else {})
        spider = SPIDER_MIDDLEWARES | (PAGE_OBJECTS_MIDDLEWARE if options[RecordOptions].pages else {})
        if self._crawler is not None and len(Crawl.of(self._crawler).part(Owners)) > 0:  # several spiders, made by now
            spider |= SPIDERS_MIDDLEWARES
        chosen: dict[str, dict[str, int]] = {
            "DOWNLOADER_MIDDLEWARES": downloader,
            "SPIDER_MIDDLEWARES": spider,
            "ITEM_PIPELINES": DATABASE_PIPELINE if options[RecordOptions].database else {},
            "EXTENSIONS": EXTENSIONS,
        }
        for name, components in chosen.items():
            for path, order in components.items():
                settings.setdefault_in_component_priority_dict(name, load_object(path), order)
        _leave_out_extensions(settings)
        _replace(settings)
        # a refresh for readers without frames replaced the whole page; its frames were lost
        settings.set("METAREFRESH_IGNORE_TAGS", ["noscript", "noframes"], priority="addon")
        _set_log(settings, options[MonitorOptions])


def _check_reactor(settings: BaseSettings) -> None:
    """Raise ValueError if the download handler cannot work: each request would fail."""
    if HANDLER not in settings.getdict("DOWNLOAD_HANDLERS").values() or not settings.getbool("TWISTED_REACTOR_ENABLED"):
        return
    name = settings["TWISTED_REACTOR"]
    if is_reactor_installed():
        works = is_asyncio_reactor_installed()
    else:
        works = bool(name) and issubclass(load_object(name), AsyncioSelectorReactor)
    if not works:
        raise ValueError(f"TWISTED_REACTOR={name!r}: must be Scrapy's default, the reactor on asyncio")


def _replace(settings: BaseSettings) -> None:
    """Replace Scrapy's middlewares by hardened ones, which tolerate malformed answers and unreachable servers."""
    replaced: dict[type, str] = dict(REPLACED)
    if settings.getbool("COOKIES_ENABLED"):
        replaced[load_object(COOKIES)] = COOKIES_REPLACEMENT
    else:  # Scrapy would import it, and with it tldextract and requests (2 MB), to find that it is off
        base = settings.getdict("DOWNLOADER_MIDDLEWARES_BASE")
        base.pop(COOKIES, None)
        priority = settings.getpriority("DOWNLOADER_MIDDLEWARES_BASE") or 0
        settings.set("DOWNLOADER_MIDDLEWARES_BASE", base, priority=priority)
    chosen = {load_object(key): order for key, order in settings.getdict("DOWNLOADER_MIDDLEWARES").items()}
    for old, new in replaced.items():
        if old in chosen and chosen[old] is None:
            continue  # switched off
        _replace_in(settings, "DOWNLOADER_MIDDLEWARES", old, new)


def _set_log(settings: BaseSettings, options: MonitorOptions) -> None:
    if options.counts_failures:
        _count_failures(settings)
    if options.log_json:
        use_json(settings, options)
    if options.log_brief:
        shorten_lists()
    if options.sorts_stats:
        settings.set("STATS_DUMP", False, priority="addon")


def _count_failures(settings: BaseSettings) -> None:
    """Apply ``FRONTIER_LOG_FAILURES = "counts"``, unless the project has chosen other components."""
    settings.set("RETRY_GIVE_UP_LOG_LEVEL", "DEBUG", priority="addon")
    settings.set("LOG_FORMATTER", "crawlproject.monitor.failure_log.CountingLogFormatter", priority="addon")
    _replace_in(settings, "SPIDER_MIDDLEWARES", HttpErrorMiddleware, COUNTING)


def _replace_in(settings: BaseSettings, name: str, old: type, new: str) -> None:
    for each in (name, f"{name}_BASE"):
        with suppress(KeyError):  # it is in the other, or in neither
            settings.replace_in_component_priority_dict(each, old, load_object(new))


def _check_job_dir(settings: BaseSettings) -> None:
    """Make JOBDIR if it is missing. Raises ValueError if it cannot be used."""
    path = settings["JOBDIR"]
    if not path:
        return
    try:
        if not Path(path).exists():
            Path(path).mkdir(parents=True)
    except (OSError, TypeError) as error:
        raise ValueError(f"JOBDIR={path!r}: {getattr(error, 'strerror', error)}") from error
    if not (Path(path).is_dir() and os.access(path, os.W_OK | os.X_OK)):
        raise ValueError(f"JOBDIR={path!r}: must be a writable directory")


def _check_handlers(settings: BaseSettings) -> None:
    """Raise ValueError for a download handler that cannot be imported: Scrapy only logs it, and each request fails."""
    for scheme, handler in settings.getdict("DOWNLOAD_HANDLERS").items():
        if handler is not None:
            try:
                load_object(handler)
            except (ImportError, NameError, ValueError, AttributeError) as error:
                raise ValueError(f"DOWNLOAD_HANDLERS[{scheme!r}]={handler!r}: {error}") from error


def _leave_out_extensions(settings: BaseSettings) -> None:
    """Leave out extensions of Scrapy that are switched off: it would import them to find that out."""
    off = {path: None for switch, path in SWITCHED.items() if not settings.getbool(switch)}
    base = settings.getdict("EXTENSIONS_BASE")
    settings.set("EXTENSIONS_BASE", {**base, **off}, priority=settings.getpriority("EXTENSIONS_BASE") or 0)


def _set_in(settings: BaseSettings, name: str, key: str, value: Any) -> None:
    """Set one key of a dict setting, unless the project has set it (even to None)."""
    chosen = settings.getdict(name)
    if key not in chosen:
        settings.set(name, {**chosen, key: value}, priority=settings.getpriority(name) or 0)


def ignore_late_signals() -> None:
    """Let SIGINT and SIGTERM do nothing once Python exits, if a crawl handles them until then. Again without effect.

    While Python exits, which takes up to a second, it gives handled signals their default action back.  A worker that
    had done all its work, and got a second Ctrl-C then, was reported as killed by it (exit code -2).
    """
    atexit.unregister(_ignore_handled)
    atexit.register(_ignore_handled)


def _ignore_handled() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, signal.SIG_IGN)
