"""Predicts the gain of a page's links: a page is worth its quality plus the new URLs that it shows.

The next page of server s is expected to show y_s new URLs.  Each is worth g beyond the time it takes (an option: a
poor URL need not be fetched).  So each URL of s is worth its quality plus ``a_s = y_s · g``.

    y_s = (Y_s + K·ȳ_b) / (N_s + K)    Y_s new URLs on N_s pages of s, both decayed; ȳ_b the mean over all servers with
                                       as many pages fetched (b: bit length of that number)
    g   = mean over new URLs v of max(0, q_v - ρ·t_v)     ρ: rank of the server that got the last connection

O(1) per page and new URL.
"""

from __future__ import annotations

from crawlproject.frontier.state import Stored

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
