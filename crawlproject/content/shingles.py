"""The shingles of a text: every sequence of four words in it, as hashes (Broder, Glassman, Manasse and Zweig 1997).

White space parts words; nothing else is made equal.  Hashing words one by one and combining the hashes in numpy takes
0.1 ms for 1,000 words; hashing every shingle's text takes four times that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Hashes: TypeAlias = "NDArray[np.uint64]"

WORDS = 4  # of a shingle

# Finalizer of splitmix64 (Steele, Lea and Flood 2014): every bit of a hash depends on every bit that went in.
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def mixed(hashes: Hashes) -> Hashes:
    """``hashes`` with their bits spread. O(n)."""
    for shift, factor in zip(_SHIFTS, _MIX, strict=False):
        hashes = (hashes ^ (hashes >> shift)) * factor
    return hashes ^ (hashes >> _SHIFTS[2])


_FACTORS = mixed(np.arange(1, WORDS + 1, dtype=np.uint64)) | np.uint64(1)


def word_hashes(text: str) -> Hashes:
    """A hash for each word of ``text``, in order. O(length)."""
    words = text.encode("utf-8", "surrogatepass").split()
    return np.fromiter(map(crc32, words), np.uint64, len(words))


def shingle_hashes(words: Hashes) -> Hashes:
    """A hash for each four words in a row, repeated ones included; none where there are fewer. O(words)."""
    count = len(words) - WORDS + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    hashes = words[:count] * _FACTORS[0]
    for offset in range(1, WORDS):
        hashes += words[offset : offset + count] * _FACTORS[offset]
    return mixed(hashes)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Shared among all distinct shingles of both (resemblance); 1 where there are none. O(n log n)."""
    one, other = np.unique(one), np.unique(other)
    shared = len(np.intersect1d(one, other, assume_unique=True))
    together = len(one) + len(other) - shared
    return shared / together if together else 1.0
