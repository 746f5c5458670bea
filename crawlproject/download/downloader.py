"""Scrapy's downloader, where the frontier keeps the delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader import Downloader

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

#: Any of them is the project's word about jitter.
_JITTER = ("DOWNLOAD_DELAY_JITTER", "RANDOMIZE_DOWNLOAD_DELAY")


class FrontierDownloader(Downloader):
    """Without ``DOWNLOAD_DELAY``, which would hold a connection while a server rests: the frontier keeps it.

    Delays of ``DOWNLOAD_SLOTS``, which the frontier keeps as well, have jitter only where the project sets one.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._delay = 0.0
        if not any(crawler.settings.getpriority(name) for name in _JITTER):
            self._jitter = 0.0
