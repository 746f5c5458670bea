"""A seen-set that is a Bloom filter alone: "new" is certain, "seen" is not."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: In pybloom-live's scalable filter, the error rate of each further filter is 0.9 times that of the one before, so the
#: total is up to 9 times the given rate (0.9 + 0.81 + ...).
_ERROR_SHARE = 0.1


class BloomSeenSet:
    """``SeenUrls``: pybloom-live's scalable filter, whose error rate stays below ``error_rate`` at any size.

    About 2.4 bytes per key of ``capacity`` at an error rate of 0.001, allocated at once; it doubles when full.
    Keys are ints: pybloom-live hashes their decimal digits, so an int and its bytes are different keys.
    """

    def __init__(self, capacity: int, error_rate: float) -> None:
        from pybloom_live import ScalableBloomFilter  # only crawls with a Bloom filter need it

        self._filter = ScalableBloomFilter(capacity, error_rate * _ERROR_SHARE, ScalableBloomFilter.SMALL_SET_GROWTH)
        #: Expected number of new URLs that were taken for seen, and so never fetched.
        self.lost = 0.0

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; True for those that are certainly new; others may be new at the filter's error rate.

        A new URL is lost with probability f and reported with 1 - f: so f / (1 - f) were lost for each one reported.
        O(1) each: 4-7 us.
        """
        add = self._filter.add
        answers = [not add(key) for key in keys]
        if new := sum(answers):
            rate = self.false_positive_rate
            self.lost += new * rate / (1.0 - rate)
        return answers

    def loaded(self, keys: Iterable[int]) -> None:
        self.add_new(list(keys))

    def dropped(self) -> None:
        pass

    def counts(self) -> dict[str, float]:
        """Number of known ``urls``, expected number ``lost``, and the latter's share of both (``loss_rate``)."""
        met = len(self) + self.lost
        return {"urls": len(self), "lost": self.lost, "loss_rate": self.lost / met if met else 0.0}

    def __contains__(self, key: int) -> bool:
        return key in self._filter

    def __len__(self) -> int:
        """Number of keys that were new. O(log n)."""
        return len(self._filter)

    @property
    def false_positive_rate(self) -> float:
        """Probability that a new key is reported as seen at the current size. O(log n).

        For a filter of k slices of m bits with n keys it is (1 - e^(-n/m))^k.
        """
        right = 1.0
        for part in self._filter.filters:
            fill = 1.0 - exp(-part.count / part.bits_per_slice)
            right *= 1.0 - fill**part.num_slices
        return 1.0 - right
