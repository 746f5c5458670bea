"""``_most_open`` of ``crawlproject/urls/parse_budget.py`` without a regular expression."""

from libc.stdint cimport uint64_t

cdef enum:
    MAX_NAME = 6  # characters: "strike", "strong"


cdef uint64_t packed(str name) except? 0:
    """Up to eight ASCII characters as one number."""
    cdef uint64_t number = 0
    cdef Py_UCS4 char
    for char in name:
        number = number << 8 | <uint64_t>char
    return number


cdef inline bint ends_name(Py_UCS4 char) noexcept:
    return char == u"/" or char == u">" or char == u" " or 9 <= char <= 13


cdef class MostOpen:
    """Called with a text: as ``_most_open``, for elements of these ``names`` (lower case). O(length)."""

    cdef uint64_t[16] names
    cdef Py_ssize_t count

    def __cinit__(self, names):
        for name in names:
            if not 0 < len(name) <= MAX_NAME or not name.isascii() or self.count == 16:
                raise ValueError(f"too many names, or a name too long: {name!r}")
            self.names[self.count] = packed(name)
            self.count += 1

    def __call__(self, str text not None):
        cdef Py_ssize_t place = text.find("<"), length = len(text), start, number
        cdef int opened = 0, most = 0
        cdef bint is_end
        cdef uint64_t name
        cdef Py_UCS4 char
        while 0 <= place < length - 1:
            start = place + 1
            is_end = text[start] == u"/"
            start += is_end
            name, place = 0, start
            while place < length and place - start <= MAX_NAME:
                char = text[place]
                if ends_name(char):
                    break
                if u"A" <= char <= u"Z":
                    char = <Py_UCS4>(<uint64_t>char + 32)
                if not u"a" <= char <= u"z":
                    name = 0
                    break
                name = name << 8 | <uint64_t>char
                place += 1
            if name and place < length and ends_name(text[place]):
                for number in range(self.count):
                    if self.names[number] == name:
                        opened = max(0, opened - 1 if is_end else opened + 1)
                        most = max(most, opened)
                        break
            place = text.find("<", start)
        return most
