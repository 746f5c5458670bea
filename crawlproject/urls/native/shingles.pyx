# cython: language_level=3, boundscheck=True, wraparound=False
# Every index is checked, so that no page can make it read or write other memory.
"""``crawlproject/content/plain_shingles.py`` in C."""

from cpython cimport array
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

import array

cdef extern from *:
    const unsigned int SOURCE_CHECKSUM

#: Checksum of this file when it was compiled (setup.py).
SOURCE = SOURCE_CHECKSUM

cdef enum:
    PIECE = 65536  # bytes; of a longer word only the end counts
    SPACE = 32  # the largest byte that separates words
    NEWLINE = 10
    BINS = 256

cdef uint32_t INVERSE_BASE = 0x144CBC89
cdef uint64_t[4] FACTORS
cdef array.array _BINS = array.array("H", bytes(2 * BINS))


cdef inline uint64_t mixed(uint64_t value) noexcept:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL
    return value ^ (value >> 31)


for number in range(4):
    FACTORS[number] = mixed(number + 1) | 1


cdef class _Shingles:
    """The shingles of the words added so far."""

    # The indexes of these are 8 bits of a hash.
    cdef uint64_t[BINS] least
    cdef bint[BINS] is_used
    cdef Py_ssize_t count
    cdef uint64_t total
    cdef uint64_t one, two, three  # the words before, the last one last

    cdef void add(self, uint32_t word) noexcept:
        cdef uint64_t shingle
        cdef uint8_t place
        self.count += 1
        if self.count >= 4:
            shingle = mixed(self.one * FACTORS[0] + self.two * FACTORS[1] + self.three * FACTORS[2] + word * FACTORS[3])
            place = <uint8_t>(shingle >> 56)
            self.total += shingle
            if not self.is_used[place] or shingle < self.least[place]:
                self.least[place] = shingle
                self.is_used[place] = True
        self.one, self.two, self.three = self.two, self.three, word

    cdef bytes bins(self):
        cdef array.array bins = array.clone(_BINS, BINS, zero=True)
        cdef uint16_t[::1] view = bins
        cdef Py_ssize_t place
        for place in range(BINS):
            if self.is_used[place]:
                view[place] = <uint16_t>(self.least[place] & 0xFFFF) | 1
        return bins.tobytes()


def summary(str text not None):
    """As ``plain_shingles.summary``, for a text of any length. O(length)."""
    data = text.encode("utf-8", "surrogatepass") + b" "  # so that the last word ends like all others
    cdef const uint8_t[::1] codes = data
    cdef Py_ssize_t length = codes.shape[0]
    cdef Py_ssize_t start = 0, end, place
    cdef uint32_t word
    cdef uint8_t code
    cdef bint is_in_word
    cdef _Shingles shingles = _Shingles()
    while start < length:
        end = _end_of_piece(codes, start)
        word, is_in_word = 0, False
        for place in range(start, end):
            code = codes[place]
            if code > SPACE:
                word = word * INVERSE_BASE + code
                is_in_word = True
            elif is_in_word:
                shingles.add(word)
                word, is_in_word = 0, False
        start = end  # a word that has not ended continues in the next piece, and counts there
    return max(shingles.count, 3) - 3, shingles.bins(), shingles.total


cdef Py_ssize_t _end_of_piece(const uint8_t[::1] codes, Py_ssize_t start) except -1:
    """After the last space or newline in the next ``PIECE`` bytes, if there is one."""
    cdef Py_ssize_t cut, end = start + PIECE
    if end >= codes.shape[0]:
        return codes.shape[0]
    cut = end
    while cut > start and codes[cut - 1] != SPACE and codes[cut - 1] != NEWLINE:
        cut -= 1
    return cut if cut > start else end
