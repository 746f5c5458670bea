"""Scrapy's downloader without delays: the frontier enforces them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader import Downloader

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

#: Settings by which a project controls jitter.
_JITTER = ("DOWNLOAD_DELAY_JITTER", "RANDOMIZE_DOWNLOAD_DELAY")


class ActiveRequests(set["Request"]):
    """Requests in progress; remembers which have ended, so that nobody needs to look for them."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: list[Request] = []

    def remove(self, request: Request) -> None:
        """The request has ended."""
        super().remove(request)
        self._ended.append(request)

    def take_ended(self) -> list[Request]:
        """Requests that have ended since the last call."""
        ended = self._ended
        if ended:
            self._ended = []
        return ended


class FrontierDownloader(Downloader):
    """Ignores ``DOWNLOAD_DELAY``, which would occupy a connection while a server rests: the frontier enforces it.

    Delays in ``DOWNLOAD_SLOTS``, also enforced by the frontier, have jitter only if the project sets it.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.active = ActiveRequests()
        self._delay = 0.0
        if not any(crawler.settings.getpriority(name) for name in _JITTER):
            self._jitter = 0.0
