"""Counts failed pages instead of logging each (``FRONTIER_LOG_FAILURES = "counts"``): a broad crawl has many."""

from __future__ import annotations

import logging
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from crawlproject.engine import stats_of
from crawlproject.requests.failures import FETCH_FAILURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

#: Prefix of the names of stats -> the label that replaces it in the log line.
COUNTED = {
    "httperror/response_ignored_status_count/": "status ",
    "frontier/failures/": "",
    "robotstxt/forbidden": "forbidden by robots.txt",
    "robotstxt/unreachable": "robots.txt unavailable",
    "guard/refused/": "address ",
    "frontier/dropped/": "dropped: ",
    "retry/count": "retries",
}

#: Ends of names of stats that say too little by themselves -> their words: nobody here has refused anything.
KINDS = {"refused": "connection refused", "dns": "DNS"}


class CountingLogFormatter(LogFormatter):
    """``LOG_FORMATTER``: logs failed downloads at DEBUG."""

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """Other errors are bugs and keep their level."""
        result = super().download_error(failure, request, spider, errmsg)
        if isinstance(failure.value, FETCH_FAILURES):
            result["level"] = logging.DEBUG
        return result


class CountingHttpErrorMiddleware(HttpErrorMiddleware):
    """Replaces Scrapy's ``HttpErrorMiddleware``: logs error statuses at DEBUG, those of seeds as warnings."""

    def process_spider_exception(  # type: ignore[override]
        self, response: Response, exception: Exception
    ) -> Iterable[Any] | None:
        if not isinstance(exception, HttpError):
            return None
        stats = stats_of(self.crawler)
        stats.inc_value("httperror/response_ignored_count")
        stats.inc_value(f"httperror/response_ignored_status_count/{response.status}")
        level = logging.DEBUG if response.meta.get("depth") else logging.WARNING
        logger.log(level, "Not fetched: %s: status %d", response.request, response.status)
        return ()


def failures_by_kind(
    stats: Mapping[str, Any], counted: Mapping[str, str] = MappingProxyType(COUNTED)
) -> dict[str, int]:
    """Failures so far: kind in words -> count, most frequent first. O(stats)."""
    counts: list[tuple[int, str]] = []
    beginnings = tuple(counted)
    for name, count in stats.items():
        if not name.startswith(beginnings):
            continue
        for beginning, words in counted.items():
            if name == beginning:
                counts.append((count, words))
            elif beginning.endswith("/") and name.startswith(beginning):
                kind = name.removeprefix(beginning)
                counts.append((count, words + KINDS.get(kind, kind).replace("_", " ")))
    return {words: count for count, words in sorted(counts, key=lambda each: (-each[0], each[1]))}


def failure_counts(stats: Mapping[str, Any], counted: Mapping[str, str] = MappingProxyType(COUNTED)) -> str:
    """``failures_by_kind`` as text (``status 404: 12, timeout: 3``); empty if none. O(stats)."""
    return ", ".join(f"{words}: {count}" for words, count in failures_by_kind(stats, counted).items())
