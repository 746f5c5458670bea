"""Sums of quality, gathered and queued: for display, not for decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry


class QualityTally(Stored):
    """Sums of estimated qualities; O(1) each.

    ``gathered``: of the pages fetched, each as it was when its page was handed out; earlier runs included.  ``pages``:
    their number.

    The sum of queued URLs is kept for those that came one by one; servers that come from a store or leave with their
    queues are assumed to have URLs of mean quality.
    """

    __slots__ = ("_sum", "_urls", "gathered", "pages")
    STATE = __slots__

    def __init__(self) -> None:
        self.gathered = 0.0
        self.pages = 0
        self._sum = 0.0
        self._urls = 0

    def add(self, urls: int, quality: float) -> None:
        """Count queued URLs by the sum of their quality."""
        self._sum += quality
        self._urls += urls

    def left(self, entry: Entry) -> None:
        """Count a URL that is no longer queued."""
        if self._urls > 1:
            self._sum -= entry.quality
            self._urls -= 1
        else:  # the last one, or one that a store brought back: no rounding errors remain
            self._sum, self._urls = 0.0, 0

    def raised(self, gain: float) -> None:
        """Count a rise of the quality of a queued URL."""
        self._sum += gain

    def fetched(self, quality: float) -> None:
        """Count a page fetched."""
        self.gathered += quality
        self.pages += 1

    def unfetched(self, quality: float) -> None:
        """Forget a page fetched earlier: it will be fetched again."""
        self.gathered = max(0.0, self.gathered - quality)
        self.pages = max(0, self.pages - 1)

    def queued(self, urls: int) -> float | None:
        """Quality of the ``urls`` that are queued; None if it is not known."""
        if not urls:
            return 0.0
        return max(0.0, self._sum / self._urls * urls) if self._urls > 0 else None
