"""The shingles of a text: every sequence of four words in it, as hashes (Broder, Glassman, Manasse and Zweig 1997).

White space and control characters separate words; there is no other normalization.  0.25 ms for 1,000 words in
Python; the same in C takes a tenth of that.
"""

from __future__ import annotations

from array import array
from zlib import crc32

SPACE = 32  # the largest byte that separates words
BINS = 256

#: Maximum text length (characters): 0.1 s at worst, so that a long page does not block the crawl. No limit in C.
LONGEST = 1 << 18

_ONLY_SPACES = bytes([SPACE] * (SPACE + 1) + list(range(SPACE + 1, 256)))
_NONE = 1 << 63  # above all hashes


def hashes_of(text: str) -> list[int]:
    """A hash of each four consecutive words: Python's of the tuple of their checksums. O(length)."""
    words = list(map(crc32, text.encode("utf-8", "surrogatepass").translate(_ONLY_SPACES).split()))
    return list(map(hash, zip(words, words[1:], words[2:], words[3:], strict=False)))


def summary(text: str) -> tuple[int, bytes, int]:
    """For the shingles of ``text``, including repeated ones: their number, their bins, their sum mod 2^64.

    The bins are 256 numbers of 16 bits: a shingle's last 8 bits select its bin; a bin holds the 16 bits before these of
    its smallest shingle, made odd, or 0 if it has none.  O(length).  A text longer than ``LONGEST`` counts as empty.
    """
    hashes = hashes_of(text) if len(text) <= LONGEST else []
    least = [_NONE] * BINS
    for shingle in hashes:
        place = shingle & 0xFF
        if shingle < least[place]:
            least[place] = shingle
    bins = array("H", (0 if shingle == _NONE else shingle >> 8 & 0xFFFF | 1 for shingle in least))
    return len(hashes), bins.tobytes(), sum(hashes) & 0xFFFF_FFFF_FFFF_FFFF
