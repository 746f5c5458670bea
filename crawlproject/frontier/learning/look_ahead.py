"""Predicts the gain of a page's links: a page is worth its quality plus the new URLs that it shows.

The next page of server s is expected to show y_s new URLs.  Each is worth g beyond the time it takes (an option: a
poor URL need not be fetched).  So each URL of s is worth its quality plus ``a_s = y_s · g``.

    y_s = (Y_s + K·ȳ_b) / (N_s + K)    Y_s new URLs on N_s pages of s, both decayed; ȳ_b the mean over all servers with
                                       as many pages fetched (b: bit length of that number)
    g   = mean over new URLs v of max(0, q_v - ρ·t_v)     ρ: rank of the server that got the last connection

A server's sitemap is ranked among pages: it is queued as a URL and fetched when it is worth it, not first.
A sitemap has no quality of its own.  Its worth is the mean gain of sitemaps so far: ``Σ max(0, q - ρ·t)`` over the new
URLs of each.  The mean is decayed, and starts at the gain of ``PRIOR_URLS`` average URLs.

    worth = (W·30·g + S) / (W + N)    S gain of N fetched sitemaps, both decayed

Without look-ahead there is no gain, and a sitemap is worth 0.  Where pages are limited, ``refund`` is the quality of a
page's price: a sitemap does not count as a page, but its server's pages do.  O(1) per sitemap and new URL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry

SERVER_DECAY = 0.97  # per page of the server
BUCKET_DECAY = 0.995  # per page fetched of a server in the bucket
GAIN_DECAY = 0.999  # per new URL
POPULATION_WEIGHT = 8.0  # K: weight of the mean over all servers, in pages
#: Servers are reranked when g has changed by more than this factor.
DRIFT = 1.1


class LinkYield(Stored):
    """New URLs found on one server's pages."""

    __slots__ = ("new", "pages", "visits")
    STATE = __slots__

    def __init__(self) -> None:
        self.new = 0.0  # decayed
        self.pages = 0.0  # decayed
        self.visits = 0  # pages, not decayed


class LookAhead(Stored):
    """Learns the gain of links over all servers."""

    STATE = ("_buckets", "_gain", "_weight", "_last", "_pages")

    def __init__(self) -> None:
        self._buckets: list[list[float]] = []  # [new URLs, pages], decayed, by bit length of a server's visits
        self._gain = 0.0  # decayed sum
        self._weight = 0.0
        self._of_unmet: float | None = None  # cached bonus of a new server, until something is learned
        self._last = 0.0  # g, when is_outdated was last true
        self._pages = 0  # since then

    @property
    def gain(self) -> float:
        """g: the worth of a new URL beyond its time."""
        return self._gain / self._weight if self._weight else 0.0

    def learn_page(self, found: LinkYield, new: float) -> None:
        """Learn that a page of the server of ``found`` showed ``new`` new URLs. O(1)."""
        bucket = found.visits.bit_length()
        while len(self._buckets) <= bucket:
            self._buckets.append([0.0, 0.0])
        self._of_unmet = None
        totals = self._buckets[bucket]
        totals[0] = totals[0] * BUCKET_DECAY + new
        totals[1] = totals[1] * BUCKET_DECAY + 1.0
        found.new = found.new * SERVER_DECAY + new
        found.pages = found.pages * SERVER_DECAY + 1.0
        found.visits += 1
        self._pages += 1

    def learn_url(self, quality: float, rate: float, page_time: float) -> float:
        """Learn from a new URL of this quality, found while a second is worth ``rate``; returns its gain. O(1)."""
        gain = quality - rate * page_time
        if not gain > 0.0:
            gain = 0.0
        self._of_unmet = None
        self._gain = self._gain * GAIN_DECAY + gain
        self._weight = self._weight * GAIN_DECAY + 1.0
        return gain

    def bonus(self, found: LinkYield | None) -> float:
        """a_s: expected worth of the links on a server's next page; ``found`` None: on a new server's. O(1)."""
        bucket, new, pages = 0, 0.0, 0.0
        if found is not None:
            bucket, new, pages = found.visits.bit_length(), found.new, found.pages
        elif self._of_unmet is not None:
            return self._of_unmet
        buckets = self._buckets
        if not buckets or not self._weight:
            return 0.0
        all_new, all_pages = buckets[bucket] if bucket < len(buckets) else buckets[-1]
        mean = all_new / all_pages if all_pages else 0.0
        bonus = self._gain / self._weight * (new + POPULATION_WEIGHT * mean) / (pages + POPULATION_WEIGHT)
        if found is None:
            self._of_unmet = bonus
        return bonus

    def is_outdated(self, servers: int) -> bool:
        """Whether g has drifted, and as many pages as ``servers`` were fetched, since this was last true. O(1)."""
        if self._pages < servers:
            return False
        gain = self.gain
        if self._last / DRIFT <= gain <= self._last * DRIFT:
            return False
        self._last, self._pages = gain, 0
        return True


PRIOR_URLS = 30.0  # new URLs that a sitemap is assumed to list before one was fetched
PRIOR_WEIGHT = 2.0  # W: weight of this assumption, in sitemaps
SITEMAP_DECAY = 0.97  # per fetched sitemap
RAISED_AT_ONCE = 50  # sitemaps whose worth is compared in one call: at most 1 ms


class Sitemaps(Stored):
    """Tracks the worth of sitemaps and the queued sitemaps.

    Memory grows with the sitemaps that wait.  One that is given back, or waits after a restart, keeps its quality.
    """

    STATE = ("_gain", "_weight")

    def __init__(self, look_ahead: LookAhead | None) -> None:
        self._look_ahead = look_ahead
        self._gain = 0.0  # decayed sum
        self._weight = 0.0
        self._waiting: dict[str, float] = {}  # URL -> the quality it waits with
        self.outdated: list[str] = []  # those of ``_waiting`` that the present round has not reached

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
        self._gain = self._gain * SITEMAP_DECAY + gain
        self._weight = self._weight * SITEMAP_DECAY + 1.0

    def priced(self, entry: Entry, refund: float = 0.0) -> Entry:
        """Set the quality of the sitemap ``entry`` and count it as waiting. O(1)."""
        worth = self._waiting[entry.url] = self.worth + refund
        return entry._replace(quality=worth)

    def handed_out(self, entry: Entry) -> None:
        """Note that ``entry``, a sitemap or not, no longer waits. O(1)."""
        self._waiting.pop(entry.url, None)

    def raise_again(self) -> None:
        """Start a round of ``raised`` over all waiting sitemaps. O(waiting), 10 ms for a million."""
        self.outdated = list(self._waiting)

    def raised(self, refund: float = 0.0) -> list[tuple[str, float]]:
        """The next sitemaps whose worth has risen by more than ``DRIFT``, with the gain to add to each quality."""
        worth, waiting = self.worth + refund, self._waiting
        found = [(url, waiting[url]) for url in self.outdated[-RAISED_AT_ONCE:] if url in waiting]
        del self.outdated[-RAISED_AT_ONCE:]
        gains = [(url, worth - quality) for url, quality in found if worth > quality * DRIFT]
        for url, _ in gains:
            waiting[url] = worth
        return gains
