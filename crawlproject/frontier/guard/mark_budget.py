"""Bounds the memory for the marks of all watched patterns of all servers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from crawlproject.frontier.guard.patterns import Pattern

#: Maximum marks of all patterns of all servers, four bytes each: 32 MiB.
MAX_ALL_MARKS = 1 << 23

#: Overhead of a pattern with marks, in marks: 260 bytes.
PER_PATTERN = 64


class MarkBudget:
    """If there are too many marks in total, forgets those of a pattern whose last page showed something new.

    The next page of that pattern counts as new, as its first page did: a trap is followed for some more pages, and no
    page is lost.  Patterns whose last page showed nothing new are chosen only if there are no others.
    The choice is pseudo-random, by a hash of a counter, not least recently compared: servers are visited in turn, so
    the pattern compared least recently is needed next.
    """

    def __init__(self, max_marks: int = MAX_ALL_MARKS) -> None:
        self.max_marks = max_marks
        #: Marks held, with ``PER_PATTERN`` for each pattern.
        self.held = 0
        #: Number of times that a pattern's marks were forgotten.
        self.forgotten = 0
        self._fresh: list[Pattern] = []  # patterns whose last page showed something new
        self._repeating: list[Pattern] = []
        self._places: dict[int, tuple[list[Pattern], int, int]] = {}  # id of a pattern -> list, index, size

    def keep(self, pattern: Pattern) -> None:
        """Count the marks of a pattern after a comparison, and forget some if there are too many. O(1) amortised."""
        self._remove(pattern)
        size = pattern.size + PER_PATTERN
        if pattern.size:
            patterns = self._repeating if pattern.repeats_itself else self._fresh
            self._places[id(pattern)] = (patterns, len(patterns), size)
            patterns.append(pattern)
            self.held += size
        while self.held > self.max_marks:
            patterns = self._fresh or self._repeating
            self._forget(patterns[crc32(b"%d" % self.forgotten) % len(patterns)])

    def _forget(self, pattern: Pattern) -> None:
        self._remove(pattern)
        pattern.forget()
        self.forgotten += 1

    def _remove(self, pattern: Pattern) -> None:
        if id(pattern) not in self._places:
            return
        patterns, index, size = self._places.pop(id(pattern))
        self.held -= size
        last = patterns.pop()
        if last is not pattern:
            patterns[index] = last
            self._places[id(last)] = (patterns, index, self._places[id(last)][2])
