"""Ranks sitemaps among pages: a server's sitemap is queued as a URL and fetched when it is worth it, not first.

A sitemap has no quality of its own.  Its worth is the mean gain of sitemaps so far: ``Σ max(0, q - ρ·t)`` over the new
URLs of each (``look_ahead``).  The mean is decayed, and starts at the gain of ``PRIOR_URLS`` average URLs.

    worth = (W·30·g + S) / (W + N)    S gain of N fetched sitemaps, both decayed

Without look-ahead there is no gain, and a sitemap is worth 0.  Where pages are limited, ``refund`` is the quality of a
page's price: a sitemap does not count as a page, but its server's pages do.  O(1) per sitemap and new URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.learning.look_ahead import DRIFT
from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.learning.look_ahead import LookAhead

PRIOR_URLS = 30.0  # new URLs that a sitemap is assumed to list before one was fetched
PRIOR_WEIGHT = 2.0  # W: weight of this assumption, in sitemaps
DECAY = 0.97  # per fetched sitemap
RAISED_AT_ONCE = 50  # sitemaps whose worth is compared in one call: at most 1 ms


class Sitemaps(Stored):
    """Tracks the worth of sitemaps and the queued sitemaps.

    Memory grows with the sitemaps that wait or were handed out.  After a restart, waiting sitemaps keep their quality.
    """

    STATE = ("_gain", "_weight")

    def __init__(self, look_ahead: LookAhead | None) -> None:
        self._look_ahead = look_ahead
        self._gain = 0.0  # decayed sum
        self._weight = 0.0
        self._waiting: dict[str, float] = {}  # URL -> the quality it waits with
        self._handed_out: set[str] = set()
        self._outdated: list[str] = []  # those of ``_waiting`` that the present round has not reached

    def __len__(self) -> int:
        """Number of waiting sitemaps. O(1)."""
        return len(self._waiting)

    @property
    def worth(self) -> float:
        """Expected gain of the next sitemap. O(1)."""
        if self._look_ahead is None:
            return 0.0
        prior = PRIOR_WEIGHT * PRIOR_URLS * self._look_ahead.gain
        return (prior + self._gain) / (PRIOR_WEIGHT + self._weight)

    def learn(self, gain: float) -> None:
        """Learn the ``gain`` of a fetched sitemap's new URLs. O(1)."""
        self._gain = self._gain * DECAY + gain
        self._weight = self._weight * DECAY + 1.0

    def priced(self, entry: Entry, refund: float = 0.0) -> Entry:
        """Set the quality of the sitemap ``entry`` and count it as waiting. O(1)."""
        worth = self._waiting[entry.url] = self.worth + refund
        return entry._replace(quality=worth)

    def handed_out(self, entry: Entry) -> None:
        """Note that ``entry``, a sitemap or not, no longer waits. O(1)."""
        if self._waiting.pop(entry.url, None) is not None:
            self._handed_out.add(entry.url)

    def given_back(self, entry: Entry) -> None:
        """Note that ``entry``, a sitemap or not, was handed out and waits again. O(1)."""
        if entry.url in self._handed_out:
            self._handed_out.discard(entry.url)
            self._waiting[entry.url] = entry.quality

    def dropped(self, entries: Iterable[Entry]) -> None:
        """Note that ``entries``, sitemaps or not, will never be handed out. O(1) each."""
        for entry in entries:
            self._waiting.pop(entry.url, None)

    def forget(self, is_unknown: Callable[[str], bool]) -> None:
        """Forget the waiting sitemaps whose URL ``is_unknown``. O(waiting)."""
        self._waiting = {url: quality for url, quality in self._waiting.items() if not is_unknown(url)}

    @property
    def is_raising(self) -> bool:
        """Whether a round of ``raised`` is under way."""
        return bool(self._outdated)

    def raise_again(self) -> None:
        """Start a round of ``raised`` over all waiting sitemaps. O(waiting), 10 ms for a million."""
        self._outdated = list(self._waiting)

    def raised(self, refund: float = 0.0) -> list[tuple[str, float]]:
        """The next sitemaps whose worth has risen by more than ``DRIFT``, with the gain to add to each quality."""
        worth, waiting = self.worth + refund, self._waiting
        found = [(url, waiting[url]) for url in self._outdated[-RAISED_AT_ONCE:] if url in waiting]
        del self._outdated[-RAISED_AT_ONCE:]
        gains = [(url, worth - quality) for url, quality in found if worth > quality * DRIFT]
        for url, _ in gains:
            waiting[url] = worth
        return gains
