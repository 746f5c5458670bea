# cython: language_level=3, boundscheck=True, wraparound=False
# Every index is checked, so that no page can make it read or write other memory.
"""The shingles of ``crawlproject/content/sketch.py`` in C."""

from cpython cimport array
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

import array

cdef enum:
    SPACE = 32  # the largest byte that separates words
    BINS = 256

cdef array.array _BINS = array.array("H", bytes(2 * BINS))
cdef uint32_t[256] CHECKSUMS

for number in range(256):
    CHECKSUMS[number] = number
    for _ in range(8):
        CHECKSUMS[number] = (CHECKSUMS[number] >> 1) ^ (0xEDB88320UL if CHECKSUMS[number] & 1 else 0)


cdef class _Shingles:
    """The shingles of the words added so far."""

    # The indexes of these are 8 bits of a hash.
    cdef int64_t[BINS] least
    cdef bint[BINS] is_used
    cdef Py_ssize_t count
    cdef uint64_t total
    cdef uint32_t[4] words  # the last ones

    cdef void add(self, uint32_t word) noexcept:
        cdef int64_t shingle
        cdef uint8_t place
        self.words[0], self.words[1], self.words[2], self.words[3] = self.words[1], self.words[2], self.words[3], word
        self.count += 1
        if self.count >= 4:
            shingle = self.shingle()
            place = <uint8_t>(<uint64_t>shingle & 0xFF)
            self.total += <uint64_t>shingle
            if not self.is_used[place] or shingle < self.least[place]:
                self.least[place] = shingle
                self.is_used[place] = True

    cdef int64_t shingle(self) noexcept:
        """As Python's hash of the tuple (Objects/tupleobject.c, since 3.8)."""
        cdef uint64_t value = 2870177450012600261ULL
        cdef int place
        for place in range(4):
            value += self.words[place] * 14029467366897019727ULL
            value = (value << 31) | (value >> 33)
            value *= 11400714785074694791ULL
        value += 4 ^ (2870177450012600261ULL ^ 3527539ULL)
        return 1546275796 if value == 0xFFFFFFFFFFFFFFFFULL else <int64_t>value

    cdef bytes bins(self):
        cdef array.array bins = array.clone(_BINS, BINS, zero=True)
        cdef uint16_t[::1] view = bins
        cdef Py_ssize_t place
        for place in range(BINS):
            if self.is_used[place]:
                view[place] = <uint16_t>(<uint64_t>self.least[place] >> 8 & 0xFFFF) | 1
        return bins.tobytes()


def summary(str text not None):
    """As ``sketch.summary``, for a text of any length. O(length)."""
    data = text.encode("utf-8", "surrogatepass") + b" "  # so that the last word ends like all others
    cdef const uint8_t[::1] codes = data
    cdef Py_ssize_t place
    cdef uint32_t word = 0xFFFFFFFFUL
    cdef uint8_t code
    cdef bint is_in_word = False
    cdef _Shingles shingles = _Shingles()
    for place in range(codes.shape[0]):
        code = codes[place]
        if code > SPACE:
            word = CHECKSUMS[(word ^ code) & 0xFF] ^ (word >> 8)
            is_in_word = True
        elif is_in_word:
            shingles.add(word ^ 0xFFFFFFFFUL)
            word, is_in_word = 0xFFFFFFFFUL, False
    return max(shingles.count, 3) - 3, shingles.bins(), shingles.total
