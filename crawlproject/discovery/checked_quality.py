"""Checks what a project's own ``FRONTIER_QUALITY`` returns: a wrong value must not end the crawl or break ranks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from crawlproject.download.few_lines import FewLines
from crawlproject.frontier.quality import MAX_QUALITY, QUALITIES, Deepest, LinkQuality, ScoredQuality

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.statscollectors import StatsCollector

    from crawlproject.frontier.quality import Quality

logger = logging.getLogger(__name__)

_OWN = (*QUALITIES.values(), ScoredQuality, Deepest)


def checked(quality: Quality, stats: StatsCollector) -> Quality:
    """``quality`` itself if it is one of this package, else with checks of what it returns."""
    if type(quality) in _OWN:
        return quality
    return _CheckedLinkQuality(quality, stats) if isinstance(quality, LinkQuality) else _CheckedQuality(quality, stats)


class _CheckedQuality:
    """Anything but a number from 0 to ``MAX_QUALITY`` counts as 0, and so does an exception.

    Stats: ``frontier/quality/invalid``.
    """

    def __init__(self, quality: Any, stats: StatsCollector) -> None:
        self._inner = quality
        self._stats = stats
        self._lines = FewLines(logger)

    def quality(self, url: str, depth: int) -> float:
        return self._value(self._inner.quality, url, depth)

    def _value(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> float:
        try:
            number = float(method(*arguments, **options))
            if 0.0 <= number <= MAX_QUALITY:
                return number
            found = repr(number)
        except Exception as error:  # noqa: BLE001 (the project's code, given strangers' URLs)
            found = repr(error)
        self._stats.inc_value("frontier/quality/invalid")
        text = "FRONTIER_QUALITY: %s%.200r: %.200s is no number from 0 to 3.4e38, and counts as 0"
        self._lines.log(logging.ERROR, text, method.__qualname__, arguments, found)
        return 0.0


class _CheckedLinkQuality(_CheckedQuality):
    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return self._value(self._inner.gain, page_quality, links, internal=internal)
