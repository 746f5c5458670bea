"""A Bloom filter of keys: "new" is certain, "seen" is not."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: In pybloom-live's scalable filter, the error rate of each further filter is 0.9 times that of the one before, so the
#: total is up to 9 times the given rate (0.9 + 0.81 + ...).
_ERROR_SHARE = 0.1


class UrlBloom:
    """pybloom-live's scalable filter, sized so that the error rate stays below ``error_rate`` at any size.

    About 2.4 bytes per key of ``capacity`` at an error rate of 0.001, allocated at once; it doubles when full.
    Keys are ints: pybloom-live hashes their decimal digits, so an int and its bytes are different keys.
    """

    def __init__(self, capacity: int, error_rate: float) -> None:
        if capacity < 1 or not 0 < error_rate < 1:
            raise ValueError(
                f"a Bloom filter of capacity {capacity} and error rate {error_rate}: must be >= 1 and between 0 and 1"
            )
        from pybloom_live import ScalableBloomFilter  # only crawls with a Bloom filter need it

        self._filter = ScalableBloomFilter(capacity, error_rate * _ERROR_SHARE, ScalableBloomFilter.SMALL_SET_GROWTH)

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; True for those that are certainly new. O(1) each: 4-7 us."""
        add = self._filter.add
        return [not add(key) for key in keys]

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
