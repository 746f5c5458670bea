"""Scrapy's downloader without delays: the frontier enforces them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader import Downloader

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

#: Settings by which a project controls jitter.
_JITTER = ("DOWNLOAD_DELAY_JITTER", "RANDOMIZE_DOWNLOAD_DELAY")


class FrontierDownloader(Downloader):
    """Ignores ``DOWNLOAD_DELAY``, which would occupy a connection while a server rests: the frontier enforces it.

    Delays in ``DOWNLOAD_SLOTS``, also enforced by the frontier, have jitter only if the project sets it.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._delay = 0.0
        if not any(crawler.settings.getpriority(name) for name in _JITTER):
            self._jitter = 0.0
