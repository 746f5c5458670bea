"""Counts failed pages instead of logging each (``FRONTIER_LOG_FAILURES = "counts"``): a broad crawl has many."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from crawlproject.engine import stats_of
from crawlproject.requests.failures import FETCH_FAILURES
from crawlproject.urls.fates import STATS, Reason, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.logformatter import LogFormatterResult
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

#: Reasons that say too little by themselves -> their words: nobody here has refused anything.
_WORDS = {Reason.REFUSED: "connection refused", Reason.DNS: "DNS", Reason.ROBOTS: "forbidden by robots.txt"}

#: Reasons other than pages that are no failures: what nobody wanted.
_UNWANTED = (Reason.REPLACED, Reason.WRONG_TYPE, Reason.KEPT, Reason.GUARD, Reason.MERGED, Reason.EXTENSION)

#: Name of a stat -> what it counts.
COUNTED = {
    **{
        name: _WORDS.get(reason, reason.replace("_", " "))
        for (stage, reason), name in STATS.items()
        if stage is not Stage.LINK and not reason.is_page and reason not in _UNWANTED
    },
    "robotstxt/unreachable": "robots.txt unavailable",
    "retry/count": "retries",
}


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


def failures_by_kind(stats: Mapping[str, Any]) -> dict[str, int]:
    """URLs lost so far, and retries: kind in words -> count, most frequent first. O(kinds)."""
    counts: Counter[str] = Counter()
    for name, words in COUNTED.items():
        if name in stats:
            counts[words] += stats[name]
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def failure_counts(stats: Mapping[str, Any]) -> str:
    """``failures_by_kind`` as text (``not found: 12, timeout: 3``); empty if none. O(kinds)."""
    return ", ".join(f"{words}: {count}" for words, count in failures_by_kind(stats).items())
