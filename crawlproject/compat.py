"""What the supported versions of Scrapy do not all have: one name for each thing, whatever the version.

Refuses other versions in one line.  The names of Scrapy that it does not promise to keep, and without which a crawl
would fail or stand still, are in ``USED`` and ``USED_BY_LANE``: ``missing_names`` says at the start which are gone.
"""

from __future__ import annotations

import logging
import os
import ssl
import sys
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals
from scrapy.core import engine, scraper
from scrapy.core.downloader import Downloader, Slot
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.extensions.closespider import CloseSpider

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

#: The first version that is supported, and the first that is not.  2.13 has no coroutines in its engine.
LOWEST, ABOVE = (2, 14), (2, 21)
VERSION = scrapy.version_info[:2]

if sys.platform == "win32":
    raise SystemExit("crawlproject needs Linux or macOS: on Windows use WSL")
if not LOWEST <= VERSION < ABOVE:
    # not an exception, whose traceback Scrapy would show: it loads the add-on before it logs
    raise SystemExit(
        f"crawlproject needs Scrapy {LOWEST[0]}.{LOWEST[1]} to {ABOVE[0]}.{ABOVE[1] - 1}, found {scrapy.__version__}"
    )

if VERSION >= (2, 15):
    from scrapy.exceptions import CannotResolveHostError as CannotResolveHostError
    from scrapy.exceptions import DownloadCancelledError as DownloadCancelledError
    from scrapy.exceptions import DownloadConnectionRefusedError as DownloadConnectionRefusedError
    from scrapy.exceptions import DownloadFailedError as DownloadFailedError
    from scrapy.exceptions import DownloadTimeoutError as DownloadTimeoutError
    from scrapy.exceptions import ResponseDataLossError as ResponseDataLossError
    from scrapy.exceptions import UnsupportedURLSchemeError as UnsupportedURLSchemeError
else:  # RETRY_EXCEPTIONS, and errbacks of projects, know the errors of Twisted
    from scrapy.exceptions import NotSupported
    from twisted.internet import error as _twisted
    from twisted.internet.defer import CancelledError as _Cancelled
    from twisted.web.client import ResponseFailed as _ResponseFailed

    class CannotResolveHostError(_twisted.DNSLookupError):  # type: ignore[no-redef]
        pass

    class DownloadConnectionRefusedError(_twisted.ConnectionRefusedError):  # type: ignore[no-redef]
        pass

    class DownloadTimeoutError(_twisted.TimeoutError):  # type: ignore[no-redef]
        pass

    class DownloadFailedError(_ResponseFailed):  # type: ignore[no-redef]
        def __init__(self, *args: Any) -> None:
            Exception.__init__(self, *args)
            self.reasons, self.response = [], None

        def __str__(self) -> str:
            return Exception.__str__(self)

    class ResponseDataLossError(DownloadFailedError):  # type: ignore[no-redef]
        pass

    class DownloadCancelledError(_Cancelled):  # type: ignore[no-redef]
        pass

    class UnsupportedURLSchemeError(NotSupported):  # type: ignore[no-redef]
        pass


#: Sent after a robots.txt was parsed; Scrapy sends it itself from 2.15 on.
robots_parsed: Any = getattr(signals, "robots_parsed", "robots_parsed")

#: ``Downloader.total_concurrency`` without a limit; 0 means that from 2.18 on.
UNLIMITED = 0 if VERSION >= (2, 18) else 1 << 30


class SlotDownloader(Downloader):
    """Scrapy's downloader, whose new slots have the delay ``_delay``: before 2.18 they read the settings."""

    _delay: float

    if VERSION < (2, 18):

        def __init__(self, crawler: Crawler) -> None:
            self._delay = crawler.settings.getfloat("DOWNLOAD_DELAY")
            super().__init__(crawler)

        def _get_slot(self, request: Request, spider: Spider | None = None) -> tuple[str, Slot]:
            is_new = self.get_slot_key(request) not in self.slots
            key, slot = super()._get_slot(request)
            if is_new and "delay" not in self.per_slot_settings.get(key, {}):
                throttles = self.settings.getbool("AUTOTHROTTLE_ENABLED")  # it sets the attribute of the spider
                delay = getattr(self.crawler.spider, "download_delay", None) if throttles else None
                slot.delay = self._delay if delay is None else delay
            return key, slot

    def leave_out_jitter(self) -> None:
        """Delays are as long as set."""
        if VERSION >= (2, 19):
            self._jitter = 0.0
        else:
            vars(self)["randomize_delay"] = False


def normalize_bind_address(value: str | tuple[str, int] | None) -> tuple[str, int] | None:
    """``DOWNLOAD_BIND_ADDRESS``, or ``bindaddress`` of a request, as an address and a port."""
    return (value, 0) if isinstance(value, str) else value


_TLS_VERSIONS = {
    "TLSv1.0": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}

#: OpenSSL's option to contact servers that do not know RFC 5746 of 2010; ``ssl`` names it from Python 3.12 on.
_OP_LEGACY_SERVER_CONNECT = 0x4


def tls_context(settings: BaseSettings) -> ssl.SSLContext:
    """A context by Scrapy's settings. Servers of before 2010 are contacted, unless certificates are verified.

    Raises ValueError for an unknown version of TLS.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
        context.load_default_certs()
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.options |= _OP_LEGACY_SERVER_CONNECT
    for setting, limit in (
        ("DOWNLOAD_TLS_MIN_VERSION", "minimum_version"),
        ("DOWNLOAD_TLS_MAX_VERSION", "maximum_version"),
    ):
        if (version := settings[setting]) is not None:
            if version not in _TLS_VERSIONS:
                raise ValueError(f"{setting}={version!r}: must be one of {', '.join(_TLS_VERSIONS)}")
            setattr(context, limit, _TLS_VERSIONS[version])
    ciphers = settings["DOWNLOADER_CLIENT_TLS_CIPHERS"]
    if ciphers and ciphers != "DEFAULT":  # the default before 2.16: of OpenSSL, not of Python
        context.set_ciphers(ciphers)
    if keylog := os.environ.get("SSLKEYLOGFILE"):
        try:
            context.keylog_filename = keylog
        except OSError as error:
            logging.getLogger(__name__).warning("Cannot write TLS session keys to %s: %s", keylog, error)
    return context


def engine_of(crawler: Crawler) -> engine.ExecutionEngine | None:
    """The engine; None before the crawl starts, when ``Crawler.engine`` raises RuntimeError from 2.18 on."""
    return crawler._engine if VERSION >= (2, 18) else crawler.engine


#: Names that every crawl uses; of classes, and of what their constructors set.
USED: dict[type, tuple[str, ...]] = {
    engine.ExecutionEngine: ("_closewait", "_slot", "_start", "spider", "downloader", "scraper", "close_spider_async"),
    engine._Slot: ("closing", "inprogress", "nextcall", "scheduler"),
    Downloader: ("active", "get_slot_key", "handlers", "per_slot_settings", "slots", "total_concurrency", "_get_slot"),
    DownloadHandlers: ("_crawler", "_get_handler", "download_request_async"),
    scraper.Scraper: ("slot",),
}

#: Names that only the fast lane uses: without one of them requests go Scrapy's way.
USED_BY_LANE: dict[type, tuple[str, ...]] = {
    engine.ExecutionEngine: ("needs_backout",),
    engine._Slot: ("remove_request",),
    Downloader: ("_process_queue", "ip_concurrency", "middleware"),
    Slot: ("active", "concurrency", "free_transfer_slots", "lastseen", "latercall", "queue", "transferring"),
    scraper.Slot: ("MIN_RESPONSE_SIZE", "active", "active_size", "finish_response"),
    scraper.Scraper: ("itemproc", "spidermw"),
}


def closes_lane() -> str | None:
    """Why requests go Scrapy's way instead of the fast lane's; None: they need not."""
    if VERSION < (2, 16):  # its middlewares' methods are kept in another way
        return "it needs Scrapy 2.16"
    missing = missing_names(USED_BY_LANE)
    return f"this Scrapy has no {', '.join(missing)}" if missing else None


def missing_names(used: dict[type, tuple[str, ...]]) -> list[str]:
    """Those of the names ``used`` that this Scrapy does not have, as ``Class.name``. O(names)."""
    return [f"{kind.__name__}.{name}" for kind, names in used.items() for name in names if name not in _names_of(kind)]


def _names_of(kind: type) -> set[str]:
    """The names of a class, of its bases, and of what their constructors use."""
    names = set(dir(kind))
    for each in kind.__mro__:
        code = getattr(vars(each).get("__init__"), "__code__", None)
        names.update(() if code is None else code.co_names)
    return names


def forget_timeout(crawler: Crawler) -> None:
    """Let Scrapy's ``CLOSESPIDER_TIMEOUT`` not end this crawl; again without effect."""
    for extension in () if crawler.extensions is None else crawler.extensions.middlewares:
        if isinstance(extension, CloseSpider) and (task := getattr(extension, "task", None)) is not None:
            task.cancel()
