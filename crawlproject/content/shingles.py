"""``plain_shingles.py`` with numpy on the bytes of a text: 0.05 ms for 1,000 words."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from crawlproject.content import plain_shingles
from crawlproject.content.plain_shingles import BASE, BIN_SHIFT, BINS, INVERSE_BASE, PIECE, SPACE, WORDS, pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

Hashes: TypeAlias = "NDArray[np.uint64]"

_MIX = tuple(map(np.uint64, plain_shingles.MIX))
_SHIFTS = tuple(map(np.uint64, plain_shingles.SHIFTS))
_FACTORS = tuple(map(np.uint64, plain_shingles.FACTORS))
_EMPTY = np.uint64(2**64 - 1)
_MASK_64 = (1 << 64) - 1


def mixed(hashes: Hashes) -> Hashes:
    """``hashes`` with their bits mixed. O(n)."""
    for shift, factor in zip(_SHIFTS, _MIX, strict=False):
        hashes = (hashes ^ (hashes >> shift)) * factor
    return hashes ^ (hashes >> _SHIFTS[2])


def _powers(base: int) -> NDArray[np.uint32]:
    powers = np.full(PIECE, base, np.uint32)
    powers[0] = 1
    return np.multiply.accumulate(powers, dtype=np.uint32)


_POWERS = _powers(BASE)
_INVERSE_POWERS = _powers(INVERSE_BASE)


def summary(text: str) -> tuple[int, bytes, int]:
    """As ``plain_shingles.summary``. O(length), piece by piece: some 2 MB in addition to the text's bytes."""
    least = np.full(BINS, _EMPTY)
    count, total = 0, 0
    before = np.zeros(0, np.uint64)  # the last words: shingles that continue in the next piece
    for piece in pieces(text):
        words: Hashes = np.concatenate((before, _piece_hashes(piece).astype(np.uint64)))
        hashes = shingle_hashes(words)
        np.minimum.at(least, (hashes >> np.uint64(BIN_SHIFT)).astype(np.intp), hashes)
        count, total = count + len(hashes), total + int(hashes.sum())
        before = words[1 - WORDS :]
    return count, _bins_of(least), total & _MASK_64


def _bins_of(least: Hashes) -> bytes:
    bins = least.astype(np.uint16) | np.uint16(1)
    bins[least == _EMPTY] = 0
    return bins.tobytes()


def _piece_hashes(data: bytes) -> NDArray[np.uint32]:
    """A word's hash is a polynomial of its bytes mod 2^32 (Karp and Rabin 1987), shifted to the word's end.

    Bytes between words do not count.
    """
    codes = np.frombuffer(data, np.uint8)
    blank = codes <= SPACE
    last = np.flatnonzero(blank[1:] > blank[:-1])  # last byte of each word
    if not len(last):
        return np.zeros(0, np.uint32)
    end = last[-1] + 1  # ignores an incomplete last word: it ends in a later piece
    terms = codes[:end] * _POWERS[:end]
    terms *= ~blank[:end]
    first = np.concatenate(([0], last[:-1] + 1))  # byte after the previous word
    return np.add.reduceat(terms, first, dtype=np.uint32) * _INVERSE_POWERS[last]


def shingle_hashes(words: Hashes) -> Hashes:
    """A hash for each four consecutive words, including repeated ones; empty for fewer words. O(words)."""
    count = len(words) - WORDS + 1
    if count < 1:
        return np.zeros(0, np.uint64)
    hashes = words[:count] * _FACTORS[0]
    for offset in range(1, WORDS):
        hashes += words[offset : offset + count] * _FACTORS[offset]
    return mixed(hashes)
