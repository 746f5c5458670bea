# cython: language_level=3, boundscheck=True, wraparound=False
# Every index is checked, so that no page can make it read or write other memory.
"""``_marks_of_text`` of ``crawlproject/content/page_marks.py`` in C."""

from cpython cimport array
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

import array
from os import urandom
from zlib import crc32 as _crc32

cdef extern from *:
    const unsigned int SOURCE_CHECKSUM

#: Checksum of this file when it was compiled (setup.py).
SOURCE = SOURCE_CHECKSUM

cdef extern from *:
    """
    /* a * b mod 2^61 - 1, for a and b below 2^61 */
    static inline uint64_t product_mod_61(uint64_t a, uint64_t b) {
        const uint64_t p = (1ULL << 61) - 1;
        unsigned __int128 product = (unsigned __int128) a * b;
        uint64_t sum = ((uint64_t) product & p) + (uint64_t) (product >> 61);
        return sum >= p ? sum - p : sum;
    }
    """
    uint64_t product_mod_61(uint64_t a, uint64_t b) noexcept

cdef enum:
    SEPARATOR = 0x1F
    # Kinds of bytes:
    IN_WORD = 1  # ASCII letters and digits; all bytes of other characters
    DIGIT = 2
    IN_IDENTIFIER = 4  # a-z, 0-9
    BEFORE = 8  # no number starts after it: a-z, 0-9, . , : / -
    AFTER = 16  # no number ends before it: a-z, 0-9, : / -
    SEPARATES = 32
    MAX_BYTES = 1 << 28
    IGNORED = 0  # instead of a piece's number, which starts at 1
    # Fields of a word; the last piece with it.
    HASH = 0
    START = 1
    END = 2
    CRC32 = 3
    PIECE = 4
    FIELDS = 5

cdef uint8_t[256] KINDS
cdef uint32_t[256] CRC
# Secret, so that nobody can write words that collide in a table.
cdef uint64_t BASE = int.from_bytes(urandom(8), "little") % (2**61 - 2**32 - 1) + 2**32
cdef array.array _INTS = array.array("i")
cdef array.array _LONGS = array.array("Q")


def _prepare():
    for byte in range(256):
        char = chr(byte)
        digit = char in "0123456789"
        identifier = digit or char in "abcdefghijklmnopqrstuvwxyz"
        KINDS[byte] = (
            (IN_WORD if byte >= 128 or char.isalnum() else 0)
            | (DIGIT if digit else 0)
            | (IN_IDENTIFIER if identifier else 0)
            | (BEFORE if identifier or char in ".,:/-" else 0)
            | (AFTER if identifier or char in ":/-" else 0)
            | (SEPARATES if byte == SEPARATOR else 0)
        )
        CRC[byte] = _crc32(bytes([byte])) ^ _crc32(b"\0")


_prepare()


cdef class _Data:
    """The bytes of a text."""

    cdef const uint8_t[::1] bytes
    cdef Py_ssize_t length

    def __cinit__(self, const uint8_t[::1] data not None):
        if data.shape[0] > MAX_BYTES:
            raise ValueError(f"{data.shape[0]} bytes; the maximum is {MAX_BYTES}")
        self.bytes, self.length = data, data.shape[0]

    cdef uint32_t crc32(self, Py_ssize_t start, Py_ssize_t end) except? 0:
        cdef uint32_t crc = 0xFFFFFFFFU
        cdef Py_ssize_t place
        for place in range(start, end):
            crc = CRC[(crc ^ self.bytes[place]) & 0xFF] ^ (crc >> 8)
        return ~crc

    cdef uint64_t hash(self, Py_ssize_t start, Py_ssize_t end) except? 0:
        """A polynomial of the length and of groups of seven bytes mod 2^61 - 1.

        Two different words of n bytes have equal hashes for at most n/7 + 1 of all bases.
        """
        cdef uint64_t total = <uint64_t>(end - start), group = 0
        cdef Py_ssize_t place
        cdef int count = 0
        for place in range(start, end):
            group = group << 8 | self.bytes[place]
            count += 1
            if count == 7:
                total = product_mod_61(total, BASE) + group
                group, count = 0, 0
        # total < 2^61 + 2^56, which the next product takes as well
        return product_mod_61(product_mod_61(total, BASE) + group, BASE)

    cdef bint is_equal(self, Py_ssize_t start, _Data other, Py_ssize_t other_start, Py_ssize_t length) except -1:
        """Whether parts of both are equal. O(length)."""
        if not 0 < length <= min(self.length - start, other.length - other_start):
            return False
        return memcmp(&self.bytes[start], &other.bytes[other_start], <size_t>length) == 0

    cdef bint says_something(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """As ``_says_something`` of the number from ``start`` to ``end``."""
        cdef Py_ssize_t place
        cdef Py_ssize_t[2] lengths  # of the parts before the first and the second separator
        cdef int parts = 0, value = 0
        lengths[0] = lengths[1] = 0
        for place in range(start, end):
            if not KINDS[self.bytes[place]] & DIGIT:
                parts += 1
                if parts == 3:
                    return True
            elif parts < 2:
                lengths[parts] += 1
        if parts:
            return parts != 2 or lengths[0] > 2 or lengths[1] > 2
        if lengths[0] > 4 or lengths[0] <= 2:
            return lengths[0] > 4
        for place in range(start, end):
            value = 10 * value + self.bytes[place] - c"0"
        return value >= 100 and not 1000 <= value < 3000


cdef class _Words:
    """Distinct parts of ``data``, numbered in the order of their first occurrence. O(1) each, amortised."""

    cdef _Data data
    cdef Py_ssize_t count, room
    cdef uint64_t mask
    cdef int32_t[::1] table  # numbers of words plus 1, each at its hash or after it; 0: free
    cdef uint64_t[::1] words  # ``FIELDS`` of each word

    def __cinit__(self, _Data data not None):
        self.data = data
        self.make_room(min(data.length // 16 + 4, 4096))

    cdef int make_room(self, Py_ssize_t room) except -1:
        """Room for so many words. O(room)."""
        cdef uint64_t[::1] words = array.clone(_LONGS, room * FIELDS, zero=False)
        cdef Py_ssize_t number, size = 8
        cdef uint64_t place
        while size < 2 * room:
            size *= 2
        self.room, self.mask = room, size - 1
        self.table = array.clone(_INTS, size, zero=True)
        if self.count:
            words[: self.count * FIELDS] = self.words[: self.count * FIELDS]
        self.words = words
        for number in range(self.count):
            place = self.words[number * FIELDS + HASH] & self.mask
            while self.table[place]:
                place = (place + 1) & self.mask
            self.table[place] = <int32_t>(number + 1)
        return 0

    cdef Py_ssize_t add(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The number of the word from ``start`` to ``end``; it is new if ``count`` has grown."""
        cdef uint64_t hashed = self.data.hash(start, end), place = hashed & self.mask
        cdef Py_ssize_t number
        while self.table[place]:
            number = self.table[place] - 1
            if self.is_equal(number, self.data, start, end, hashed):
                return number
            place = (place + 1) & self.mask
        number = self.count
        self.words[number * FIELDS + HASH] = hashed
        self.words[number * FIELDS + START], self.words[number * FIELDS + END] = start, end
        self.count = number + 1
        self.table[place] = <int32_t>self.count
        if self.count == self.room:
            self.make_room(2 * self.room)
        return number

    cdef bint has(self, _Data data, Py_ssize_t start, Py_ssize_t end, uint64_t hashed) except -1:
        """Whether it has the word from ``start`` to ``end`` of other ``data``, with that hash."""
        cdef uint64_t place = hashed & self.mask
        while self.table[place]:
            if self.is_equal(self.table[place] - 1, data, start, end, hashed):
                return True
            place = (place + 1) & self.mask
        return False

    cdef bint is_equal(
        self, Py_ssize_t number, _Data data, Py_ssize_t start, Py_ssize_t end, uint64_t hashed
    ) except -1:
        cdef Py_ssize_t own
        if self.words[number * FIELDS + HASH] != hashed:
            return False
        own = <Py_ssize_t>self.words[number * FIELDS + START]
        if <Py_ssize_t>self.words[number * FIELDS + END] - own != end - start:
            return False
        return self.data.is_equal(own, data, start, end - start)


cdef class _Reader:
    """Finds words and numbers in ``data``, from its start to its end."""

    cdef _Data data
    cdef Py_ssize_t read_to  # where the next number may start

    def __cinit__(self, _Data data not None, *_):
        self.data = data

    cdef int word(self, Py_ssize_t start, Py_ssize_t end) except -1:
        raise NotImplementedError

    cdef int number(self, Py_ssize_t start, Py_ssize_t end) except -1:
        raise NotImplementedError

    cdef int piece_ended(self) except -1:
        raise NotImplementedError

    cdef int read(self, bint has_pieces) except -1:
        """``has_pieces``: separators end pieces; else they are parts of words."""
        cdef const uint8_t[::1] data = self.data.bytes
        cdef Py_ssize_t place = 0, start, length = self.data.length
        cdef uint8_t kind, kinds, in_word = IN_WORD if has_pieces else IN_WORD | SEPARATES
        while place < length:
            kind = KINDS[data[place]]
            if not kind & in_word:
                if kind & SEPARATES:
                    self.piece_ended()
                place += 1
                continue
            start, kinds = place, 0
            while kind & in_word:
                kinds |= kind
                place += 1
                if place == length:
                    break
                kind = KINDS[data[place]]
            if kinds & DIGIT:
                self.words_between_identifiers(start, place)
                self.numbers(start, place)
            else:
                self.word(start, place)
        return self.piece_ended()

    cdef int words_between_identifiers(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The parts from ``start`` to ``end`` between identifiers with digits."""
        cdef const uint8_t[::1] data = self.data.bytes
        cdef Py_ssize_t place = start, first
        cdef uint8_t digits, kind
        while place < end:
            first, digits = place, 0
            while place < end:
                kind = KINDS[data[place]]
                if not kind & IN_IDENTIFIER:
                    break
                digits |= kind & DIGIT
                place += 1
            if digits:
                if first > start:
                    self.word(start, first)
                start = place
            if place < end and place == first:
                place += 1
        return self.word(start, end) if start < end else 0

    cdef int numbers(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """The numbers that start between ``start`` and ``end``."""
        cdef const uint8_t[::1] data = self.data.bytes
        cdef Py_ssize_t place = max(start, self.read_to), first, length = self.data.length
        while place < end:
            if not KINDS[data[place]] & DIGIT or (place and KINDS[data[place - 1]] & BEFORE):
                place += 1
                continue
            first = place
            while place < length and KINDS[data[place]] & DIGIT:
                place += 1
                if (
                    place + 1 < length
                    and (data[place] == c"." or data[place] == c",")
                    and KINDS[data[place + 1]] & DIGIT
                ):
                    place += 1
            if place == length or not KINDS[data[place]] & AFTER:
                self.number(first, place)
        self.read_to = place
        return 0


cdef class _Address(_Reader):
    """The words and the numbers of a page's URL."""

    cdef _Words known_words, known_numbers

    def __cinit__(self, _Data data not None):
        self.known_words, self.known_numbers = _Words(data), _Words(data)
        self.read(has_pieces=False)

    cdef int word(self, Py_ssize_t start, Py_ssize_t end) except -1:
        self.known_words.add(start, end)
        return 0

    cdef int number(self, Py_ssize_t start, Py_ssize_t end) except -1:
        self.known_numbers.add(start, end)
        return 0

    cdef int piece_ended(self) except -1:
        return 0


cdef class _Text(_Reader):
    """The marks of a page's text."""

    cdef _Words known, ignored
    cdef _Address address
    cdef uint64_t piece
    cdef bint has_words
    cdef uint32_t total
    cdef set found

    def __cinit__(self, _Data data not None, _Words ignored not None, _Address address not None):
        self.known, self.ignored, self.address = _Words(data), ignored, address
        self.piece = 1
        self.found = set()
        self.read(has_pieces=True)

    cdef int word(self, Py_ssize_t start, Py_ssize_t end) except -1:
        cdef _Words known = self.known
        cdef Py_ssize_t count = known.count, number = known.add(start, end), fields = number * FIELDS
        cdef uint64_t hashed
        if number == count:
            hashed = known.words[fields + HASH]
            if self.ignored.has(self.data, start, end, hashed) or self.address.known_words.has(
                self.data, start, end, hashed
            ):
                known.words[fields + PIECE] = IGNORED
                return 0
            known.words[fields + CRC32] = self.data.crc32(start, end)
        elif known.words[fields + PIECE] == IGNORED or known.words[fields + PIECE] == self.piece:
            return 0
        known.words[fields + PIECE] = self.piece
        self.total += <uint32_t>known.words[fields + CRC32]
        self.has_words = True
        return 0

    cdef int number(self, Py_ssize_t start, Py_ssize_t end) except -1:
        cdef uint64_t hashed
        if self.data.says_something(start, end):
            hashed = self.data.hash(start, end)
            if not self.address.known_numbers.has(self.data, start, end, hashed):
                self.found.add(self.data.crc32(start, end) | 1)
        return 0

    cdef int piece_ended(self) except -1:
        if self.has_words:
            self.found.add(self.total & ~<uint32_t>1)
        self.total, self.has_words = 0, False
        self.piece += 1
        return 0


cdef class TextMarks:
    """Computes the marks of texts without the words ``ignored``."""

    cdef _Words ignored

    def __cinit__(self, ignored):
        cdef Py_ssize_t start = 0
        words = sorted(ignored)
        self.ignored = _Words(_Data(b" ".join(words)))
        for word in words:
            self.ignored.add(start, start + len(word))
            start += len(word) + 1

    def __call__(self, bytes data not None, bytes address not None):
        """As ``_marks_of_text``: a set of ints. O(length)."""
        return _Text(_Data(data), self.ignored, _Address(_Data(address))).found
