"""The walk over a page's tags for ``crawlproject/records/nesting.py``, which has the tables and says what for."""

from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    MAX_KINDS = 255
    SLOTS = 1024  # of the table of names: a power of two
    DEPTH = 256
    # Results:
    NO = 0
    YES = 1
    BREAKS = 2
    PARAGRAPHS = 4
    PARTS = 8
    # Parts of a page:
    START = 0
    IN_HTML = 1
    IN_IMPLIED_HEAD = 2
    IN_HEAD = 3
    AFTER_HEAD = 4
    IN_BODY = 5
    AFTER_BODY = 6
    # Kinds of bytes:
    SPACE = 1
    LETTER = 2
    IN_NAME = 4  # also letters

cdef uint8_t[256] BYTES
for _byte in range(256):
    _char = chr(_byte)
    BYTES[_byte] = (
        (SPACE if _char in " \t\n\f\r" else 0)
        | (LETTER if _char.isascii() and _char.isalpha() else 0)
        | (IN_NAME if _char.isascii() and (_char.isalnum() or _char in ":_.-") else 0)
    )

cdef uint64_t FNV = 0xCBF29CE484222325U, FNV_PRIME = 0x100000001B3U


cdef struct Kind:
    uint64_t bit, refused_in, refused_below, needs, start_ends, end_ends, hides, flags


cdef class Nesting:
    """Called with a text: bits of ``Same``.

    ``kinds``: ``KINDS``; ``flags``: those of ``Flag``, by name; ``parts``, ``at_the_end`` and ``foreign``: bits of parts
    of tables, of elements that the end of the page ends, and of SVG and MathML.  Names are compared by 64 bits of hash:
    a page that forges two equal ones gets what browsers make of it.
    """

    cdef Kind[MAX_KINDS + 1] kinds  # the first one: unknown elements
    cdef uint64_t[SLOTS] names
    cdef uint8_t[SLOTS] numbers
    cdef uint64_t parts, at_the_end, foreign
    cdef uint64_t VOID, VOID_IF_CLOSED, RAW, PLAIN_RAW, REFUSED, HEAD_TYPE, ENDS_HEAD, IN_TABLES, BREAK
    cdef uint64_t HTML, HEAD, BODY, NOSCRIPT
    cdef int max_depth
    cdef uint64_t script, p, table, tr, col

    def __cinit__(
        self, dict kinds, dict flags, uint64_t parts, uint64_t at_the_end, uint64_t foreign,
        int max_depth
    ):
        cdef int number = 0
        cdef uint64_t name, slot
        if len(kinds) > MAX_KINDS or not 0 < max_depth < DEPTH - 1:
            raise ValueError("too many kinds, or too deep")
        self.parts, self.at_the_end, self.foreign, self.max_depth = parts, at_the_end, foreign, max_depth
        self.VOID, self.VOID_IF_CLOSED = flags["VOID"], flags["VOID_IF_CLOSED"]
        self.RAW, self.PLAIN_RAW, self.REFUSED = flags["RAW"], flags["PLAIN_RAW"], flags["REFUSED"]
        self.HEAD_TYPE, self.ENDS_HEAD = flags["IN_HEAD"], flags["ENDS_HEAD"]
        self.IN_TABLES, self.BREAK = flags["IN_TABLES"], flags["BREAK"]
        self.HTML, self.HEAD, self.BODY, self.NOSCRIPT = flags["HTML"], flags["HEAD"], flags["BODY"], flags["NOSCRIPT"]
        self.script, self.p = hashed(b"script", 0, 6), hashed(b"p", 0, 1)
        self.table, self.tr, self.col = hashed(b"table", 0, 5), hashed(b"tr", 0, 2), hashed(b"col", 0, 3)
        for text, kind in kinds.items():
            number += 1
            name = hashed(text.encode(), 0, len(text))
            slot = name % SLOTS
            while self.numbers[slot]:
                if self.names[slot] == name:
                    raise ValueError(f"equal hashes: {text}")
                slot = (slot + 1) % SLOTS
            self.names[slot], self.numbers[slot] = name, number
            (self.kinds[number].bit, self.kinds[number].refused_in, self.kinds[number].refused_below,
             self.kinds[number].needs, self.kinds[number].start_ends, self.kinds[number].end_ends,
             self.kinds[number].hides, self.kinds[number].flags) = kind

    cdef inline int number(self, uint64_t name) noexcept:
        """Of the kind."""
        cdef uint64_t slot = name % SLOTS
        while self.numbers[slot]:
            if self.names[slot] == name:
                return self.numbers[slot]
            slot = (slot + 1) % SLOTS
        return 0

    def __call__(self, str text not None):
        """O(length)."""
        return _Walk(self, text.encode("utf-8", "surrogatepass")).result()


cdef uint64_t hashed(const uint8_t[::1] data, Py_ssize_t start, Py_ssize_t end) except? 0:
    """Of a name; upper case counts as lower case."""
    cdef uint64_t name = FNV
    cdef Py_ssize_t place
    cdef uint8_t byte
    for place in range(start, end):
        byte = data[place]
        if c"A" <= byte <= c"Z":
            byte += 32
        name = (name ^ byte) * FNV_PRIME
    return name


cdef class _Walk:
    """Each method returns the place where reading goes on, or -1: both parsers may differ."""

    cdef Nesting of
    cdef bytes text
    cdef const uint8_t[::1] data
    cdef Py_ssize_t length
    cdef uint64_t[DEPTH] names
    cdef uint64_t[DEPTH] above
    cdef uint8_t[DEPTH] numbers
    cdef int depth, part
    cdef bint has_breaks, has_paragraphs, has_parts

    def __cinit__(self, Nesting of not None, bytes text not None):
        self.of, self.text, self.data, self.length = of, text, text, len(text)
        self.part = START

    cdef int result(self) except -1:
        cdef Py_ssize_t place = 0, start
        while True:
            start = place
            if self.part != IN_BODY or self.of.kinds[self.numbers[self.depth]].bit & self.of.parts:
                while place < self.length and self.data[place] != c"<":
                    if not BYTES[self.data[place]] & SPACE:
                        return NO
                    place += 1
            else:
                while place < self.length and self.data[place] != c"<":
                    place += 1
            if place == self.length:
                break
            place = self.tag(place)
            if place < 0:
                return NO
        self.end_open(self.of.at_the_end)
        if self.depth:
            return NO
        return (
            YES
            | (BREAKS if self.has_breaks else 0)
            | (PARAGRAPHS if self.has_paragraphs else 0)
            | (PARTS if self.has_parts else 0)
        )

    cdef Py_ssize_t tag(self, Py_ssize_t start) except -2:
        """Read the tag or the comment at ``start``."""
        cdef Py_ssize_t place = start + 1, end
        cdef uint64_t name
        cdef uint8_t byte, before = c" "
        cdef bint is_end, is_slash = False, is_closed = False
        if place == self.length:
            return self.lone(start)
        is_end = self.data[place] == c"/"
        place += is_end
        byte = self.data[place] if place < self.length else 0
        if not BYTES[byte] & LETTER:
            if is_end:
                return -1
            return self.declaration(start) if byte == c"!" or byte == c"?" else self.lone(start)
        name = FNV
        while place < self.length:
            byte = self.data[place]
            if not BYTES[byte] & IN_NAME:
                break
            if c"A" <= byte <= c"Z":
                byte += 32
            name = (name ^ byte) * FNV_PRIME
            place += 1
        if place == self.length or not (BYTES[byte] & SPACE or byte == c">" or (byte == c"/" and not is_end)):
            return -1
        if is_end:
            while place < self.length and BYTES[self.data[place]] & SPACE:
                place += 1
            if place == self.length or self.data[place] != c">":
                return -1
            return place + 1 if self.end_tag(name) else -1
        while True:
            if place == self.length:
                return -1
            byte = self.data[place]
            if byte == c">":
                break
            place += 1
            if byte == c"<" or byte == c'"' or byte == c"'":
                return -1
            is_slash = byte == c"/"
            is_closed = is_slash and (BYTES[before] & SPACE or before == c'"' or before == c"'")
            before = byte
            if byte == c"=":
                while place < self.length and BYTES[self.data[place]] & SPACE:
                    place += 1
                if place < self.length and (self.data[place] == c'"' or self.data[place] == c"'"):
                    byte = self.data[place]
                    place += 1
                    while place < self.length and self.data[place] != byte:
                        place += 1
                    if place == self.length:
                        return -1
                    place += 1
                    before = c'"'
        if is_slash and not is_closed:  # of an unquoted value, in HTML5
            is_closed = True
            if not self.of.kinds[self.of.number(name)].flags & self.of.VOID:
                return -1
        return self.start_tag(name, place + 1, is_closed)

    cdef Py_ssize_t lone(self, Py_ssize_t start) except -2:
        """A ``<`` that is text."""
        if self.part != IN_BODY or self.of.kinds[self.numbers[self.depth]].bit & self.of.parts:
            return -1
        return start + 1

    cdef Py_ssize_t declaration(self, Py_ssize_t start) except -2:
        """A comment, or what both take for one."""
        cdef Py_ssize_t end
        if self.text.startswith(b"<!--", start):
            if self.text.startswith(b">", start + 4) or self.text.startswith(b"->", start + 4):
                return -1
            end = self.text.find(b"-->", start + 4)
            if end < 0 or self.text.find(b"--!>", start + 4, end) >= 0:
                return -1
            return end + 3
        if self.data[start + 1] == c"!":
            start += 1
            if start + 1 == self.length or self.data[start + 1] == c"-" or self.data[start + 1] == c"[":
                return -1
        elif self.part != START:  # lexbor keeps it
            return -1
        end = self.text.find(b">", start + 1)
        return end + 1 if end >= 0 else -1

    cdef Py_ssize_t start_tag(self, uint64_t name, Py_ssize_t end, bint is_closed) except -2:
        cdef Nesting of = self.of
        cdef int number = of.number(name)
        cdef Kind* kind = &of.kinds[number]
        cdef uint64_t flags = kind.flags, parent, above
        if flags & (of.HTML | of.HEAD | of.BODY):
            return end if not is_closed and self.start_part(flags) else -1
        if flags & of.REFUSED or self.part == AFTER_BODY:
            return -1
        if self.part != IN_BODY:
            if flags & of.HEAD_TYPE:
                if self.part == AFTER_HEAD or (flags & of.NOSCRIPT and (self.depth or self.part != IN_HEAD)):
                    return -1
                self.part = max(self.part, IN_IMPLIED_HEAD)
            elif self.depth or self.part == IN_HEAD or (self.part == IN_IMPLIED_HEAD and not flags & of.ENDS_HEAD):
                return -1
            else:
                self.part = IN_BODY
        self.end_open(kind.start_ends)
        parent, above = of.kinds[self.numbers[self.depth]].bit, self.above[self.depth]
        if kind.refused_in & parent or kind.refused_below & above:
            return -1
        if parent & of.parts:
            if not (kind.needs & parent or flags & of.IN_TABLES):
                return -1
            if name == of.tr or name == of.col:
                self.has_parts |= self.names[self.depth] == of.table
        elif kind.needs:
            return -1
        if flags & of.VOID or (is_closed and (flags & of.VOID_IF_CLOSED or above & of.foreign)):
            return end
        if is_closed or flags & of.VOID_IF_CLOSED or self.depth >= of.max_depth or self.depth >= DEPTH - 1:
            return -1
        if flags & of.BREAK and end < self.length and (self.data[end] == c"\n" or self.data[end] == c"\r"):
            self.has_breaks = True
        if flags & (of.RAW | of.PLAIN_RAW):
            return self.end_of_raw(name, end, flags & of.PLAIN_RAW or above & of.foreign)
        self.depth += 1
        self.names[self.depth], self.numbers[self.depth] = name, number
        self.above[self.depth] = above & ~kind.hides | kind.bit
        return end

    cdef bint start_part(self, uint64_t flags) except -1:
        if flags & self.of.HTML:
            if self.part != START:
                return False
            self.part = IN_HTML
        elif flags & self.of.HEAD:
            if self.part > IN_HTML:
                return False
            self.part = IN_HEAD
        else:
            if self.part > AFTER_HEAD or self.depth:
                return False
            self.part = IN_BODY
        return True

    cdef Py_ssize_t end_of_raw(self, uint64_t name, Py_ssize_t start, bint is_plain) except -2:
        cdef Py_ssize_t place = start, end
        while True:
            place = self.text.find(b"</", place)
            if place < 0:
                return -1
            end = place + 2
            while end < self.length and BYTES[self.data[end]] & LETTER:
                end += 1
            if hashed(self.data, place + 2, end) == name and end < self.length and (
                BYTES[self.data[end]] & SPACE or self.data[end] == c"/" or self.data[end] == c">"
            ):
                break
            place += 2
        if is_plain:
            if self.text.find(b"<", start, place) >= 0 or self.text.find(b"&", start, place) >= 0:
                return -1
        elif name == self.of.script:
            start = self.text.find(b"<!--", start, place)
            if start >= 0 and b"<script" in self.text[start:place].lower():
                return -1
        end = self.text.find(b">", end)
        return end + 1 if end >= 0 else -1

    cdef bint end_tag(self, uint64_t name) except -1:
        """Whether it ends the innermost element, or makes an empty paragraph in HTML5 alone."""
        cdef Nesting of = self.of
        cdef Kind* kind = &of.kinds[of.number(name)]
        self.end_open(kind.end_ends)
        if kind.flags & of.HEAD:
            if (self.part != IN_IMPLIED_HEAD and self.part != IN_HEAD) or self.depth:
                return False
            self.part = AFTER_HEAD
        elif kind.flags & (of.HTML | of.BODY):
            if self.part < IN_BODY or self.depth:
                return False
            self.part = AFTER_BODY
        elif self.depth and self.names[self.depth] == name:
            self.depth -= 1
        elif name == of.p and self.part == IN_BODY and not (
            self.above[self.depth] & (kind.bit | of.foreign) or of.kinds[self.numbers[self.depth]].bit & of.parts
        ):
            self.has_paragraphs = True
        else:
            return False
        return True

    cdef int end_open(self, uint64_t names) except -1:
        while self.depth and self.of.kinds[self.numbers[self.depth]].bit & names:
            self.depth -= 1
        return 0
