"""The plain links of ``Canonicalizer.batch`` in ``crawlproject/urls/canonical.py``, without regular expressions."""

from libc.stdint cimport uint8_t

cdef enum:
    MAX_HOST = 255
    MAX_PORT = 5  # digits
    # Kinds of characters:
    IN_HOST = 1
    DIGIT = 2
    IN_NAME = 4
    IN_PATH = 8
    IN_QUERY = 16

cdef uint8_t[128] KINDS
cdef uint8_t[256] IS_ESCAPED  # bytes whose escapes are canonical: all but those of unreserved characters
cdef str UPPER_HEX = "0123456789ABCDEF"


def _prepare():
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    digits = "0123456789"
    host = letters + digits + ".-"
    query = host + "/_~!$&()*+,;=@"
    name = query + "'"
    kinds = ((host, IN_HOST), (digits, DIGIT), (name, IN_NAME), (name + ":", IN_PATH), (query + ":?", IN_QUERY))
    for chars, kind in kinds:
        for char in chars:
            KINDS[ord(char)] |= kind
    for byte in range(256):
        IS_ESCAPED[byte] = chr(byte) not in host + "_~"


_prepare()


cdef inline uint8_t kind_of(Py_UCS4 char) noexcept:
    return KINDS[char] if char < 128 else 0


cdef class PlainLinks:
    """Joins the plain links of a page to the prefixes in ``base``, a ``_Base``.

    ``origin_of``, ``may_strip`` and ``max_length`` (characters) as in ``canonical.py``.
    """

    cdef object origin_of, may_strip
    cdef str origin, directory, page, itself
    cdef Py_ssize_t max_length

    def __cinit__(self, base not None, origin_of, may_strip, Py_ssize_t max_length):
        self.origin, self.directory, self.page, self.itself = base.origin, base.directory, base.page, base.itself
        self.origin_of, self.may_strip, self.max_length = origin_of, may_strip, max_length

    def __call__(self, str href not None):
        """The canonical form of ``href`` if it is plain; None: ask Python. O(length)."""
        cdef Py_ssize_t end = href.find("#"), path, query, rest
        cdef str link = href if end < 0 else href[:end]
        end = len(link)
        if not end:
            return self.itself
        if end > self.max_length:
            return None
        path = end_of_prefix(link, end)
        if path < 0 or (path == 0 and end > 1 and link[0] == link[1] == u"/"):
            return None
        rest = path if path or link[0] != u"." else end_of_dots(link, end)
        query = -1 if rest < 0 else end_of_path(link, rest, end)
        if query < 0 or not is_plain_query(link, query, end):
            return None
        if rest > path:
            return self.joined(self.climbed(rest // 3), link, rest, query, end)
        return self.joined(self.start(link, path, query), link, path, query, end)

    cdef str start(self, str link, Py_ssize_t path, Py_ssize_t query):
        """The part before the path of ``link``."""
        if path:
            return self.origin_of(link[:path])
        if query:
            return self.origin if link[0] == u"/" else self.directory
        return self.page

    cdef str climbed(self, Py_ssize_t times):
        """The directory so many levels above that of the page; no higher than the root."""
        cdef Py_ssize_t end, least
        if self.directory is None or self.origin is None:
            return None
        end, least = len(self.directory), len(self.origin) + 1
        while times > 0 and end > least:
            end = self.directory.rfind("/", 0, end - 1) + 1
            times -= 1
        return self.directory[:max(end, least)]

    cdef str joined(self, str start, str link, Py_ssize_t path, Py_ssize_t query, Py_ssize_t end):
        """The canonical URL of ``link``, whose path and query follow ``start``; None: ask Python."""
        cdef str rest
        if start is None:
            return None
        if end - query == 1:  # an empty query
            end = query
        rest = link[path:end]
        if path == query and path and link[path - 1] != u"/":  # only a prefix
            rest = "/" + rest
        if (query < end or ";" in rest) and self.may_strip(rest):
            return None
        return start + rest


cdef Py_ssize_t end_of_prefix(str link, Py_ssize_t end) except -2:
    """Where the scheme, host and port end, before a path, a query or nothing; 0: there are none; -1: not plain."""
    cdef Py_ssize_t place, start
    if link.startswith("http://"):
        start = 7
    elif link.startswith("https://"):
        start = 8
    else:
        return 0
    place = start
    while place < end and kind_of(link[place]) & IN_HOST:
        place += 1
    if not 0 < place - start <= MAX_HOST:
        return -1
    if place < end and link[place] == u":":
        place += 1
        start = place
        while place < end and kind_of(link[place]) & DIGIT:
            place += 1
        if not 0 < place - start <= MAX_PORT:
            return -1
    return place if place == end or link[place] == u"/" or link[place] == u"?" else -1


cdef Py_ssize_t end_of_dots(str link, Py_ssize_t end) except -2:
    """Where the leading "./" and "../" end; -1: another dot follows."""
    cdef Py_ssize_t place = 2 if end > 1 and link[1] == u"/" else 0
    while place + 2 < end and link[place] == link[place + 1] == u"." and link[place + 2] == u"/":
        place += 3
    return -1 if place < end and link[place] == u"." else place


cdef Py_ssize_t end_of_path(str link, Py_ssize_t start, Py_ssize_t end) except -2:
    """Where the path from ``start`` ends: at a query or at the end; -1: not plain.

    ":" is plain after a first "/" of the link or of a path after a host.
    """
    cdef Py_ssize_t place = start
    cdef Py_UCS4 char, before = 0
    cdef uint8_t plain = IN_PATH if start < end and link[start] == u"/" and link[0] != u"." else IN_NAME
    while place < end:
        char = link[place]
        if char == u"?":
            break
        if not kind_of(char) & plain:
            if char != u"%" or not is_canonical_escape(link, place, end):
                return -1
            place += 2
        elif char == u"." and before == u"/":
            return -1
        before = char
        place += 1
    return place


cdef bint is_plain_query(str link, Py_ssize_t start, Py_ssize_t end) except -1:
    """Whether the query from the "?" at ``start`` to ``end`` needs no escape."""
    cdef Py_ssize_t place = start + 1
    while place < end:
        if not kind_of(link[place]) & IN_QUERY:
            if link[place] != u"%" or not is_canonical_escape(link, place, end):
                return False
            place += 2
        place += 1
    return True


cdef bint is_canonical_escape(str link, Py_ssize_t place, Py_ssize_t end) except -1:
    """Whether an escape in canonical spelling starts at ``place``."""
    cdef Py_ssize_t high, low
    if place + 3 > end:
        return False
    high, low = UPPER_HEX.find(link[place + 1]), UPPER_HEX.find(link[place + 2])
    return high >= 0 and low >= 0 and IS_ESCAPED[16 * high + low]
