"""What the pages of one URL pattern showed, and when that is reason to delay or proof to drop (``frontier.guard``).

Memory: at most ``MAX_PATTERNS`` patterns per server; each keeps the marks of its first page and what the last
``PAGES`` pages had besides: at most 20 kB, and ``MAX_ALL_MARKS`` marks for all servers.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias
from zlib import crc32

from crawlproject.frontier.guard.far import DOWN, UP, End
from crawlproject.frontier.state import Stored, packed, unpacked
from crawlproject.urls.pattern import script_of

#: Hashes of what a page shows: ``content.page_marks``.
Marks: TypeAlias = frozenset[int]

#: Marks kept of a pattern's first page, and places of noise.
MAX_MARKS, MAX_NOISE = 2048, 64
#: Maximum watched patterns per server; the one with the least evidence is forgotten.
MAX_PATTERNS = 64
#: Pages that a page is compared with, besides the first: a calendar shows the name of each month once a year, and is
#: often read in two directions.
PAGES = 26
#: Marks kept of each.
MAX_OTHERS = 128
#: Marks that a page must have more than another one to be new: two neighbours change with each word.
MIN_NEW = 5

#: Pages in a row that count as new unread (a power of two less one), after pages with ``CLEARLY_NEW`` marks: reading a
#: page's text costs twice as much as all else that is done with it.
MAX_UNREAD_PAGES, CLEARLY_NEW = 15, 40

#: Elements with text that none of the pages of an endless folder had.
MIN_NEW_PIECES = 3

#: First character of the patterns of URLs that a rule of ``urls.traps`` doubts.
DOUBT = "!"
#: First character of the patterns of URLs without a number or parameter: all names in a folder.
NAMES = "~"

#: Last character of the patterns of URLs that combine names: ``/tag/a+b``, ``?q=a+b``.
COMBINED = "+"

#: Maximum marks of all patterns of all servers, four bytes each: 32 MiB.
MAX_ALL_MARKS = 1 << 23

#: Overhead of a pattern with marks, in marks: 260 bytes.
PER_PATTERN = 64

_NO_MARKS = array("I")


@dataclass(frozen=True)
class GuardLimits:
    """Limits of the guard; 0 switches a rule off."""

    max_same: int = 48  # consecutive pages without news after which a pattern that was shown to be endless is dropped
    #: Consecutive waiting pages of a server without news after which its other waiting URLs are dropped.
    max_waiting: int = 80
    #: Waiting pages of a server that are known under another address, after which its other ones are dropped.
    max_versions: int = 2
    #: Maximum followed URLs of a pattern that were found on its own pages, plus 100 for each URL found elsewhere; ten
    #: times as many if it has an end. From a tenth of it they wait.
    max_own_urls: int = 10_000
    asks: bool = True  # whether far addresses are requested, and a page again

    #: The same as ``max_same`` for a pattern that never showed any news, once ``judge.VAIN_SHARE`` is used up.
    LEAST_SAME: ClassVar[int] = 2
    GROWN_SAME: ClassVar[int] = 12  # the same for a pattern whose addresses grow from page to page
    #: Consecutive pages without news from which its URLs found on such pages wait, and a far address is requested.
    DOUBTED_FROM: ClassVar[int] = 2
    #: URLs found on its own pages from which a far address is requested in any case: the news may be noise.
    ASKED_FROM: ClassVar[int] = 40
    GROWN_FROM: ClassVar[int] = 3  # pages from which it is requested if addresses grow from page to page
    PRODUCT_FROM: ClassVar[int] = 3  # patterns of several parameters from which their script is judged as a whole
    CLOSED_FROM: ClassVar[int] = 10  # pages of a pattern, all of them closed to robots, from which its URLs wait
    #: Maximum unfetched URLs of a pattern from pages without news, up to which further ones count as news.
    MAX_UNREAD: ClassVar[int] = 100
    OWN_URLS_PER_VOTE: ClassVar[int] = 100
    CLEARED_FROM: ClassVar[int] = 3  # pages with news after which doubted URLs no longer wait
    MIN_PAGES: ClassVar[int] = 10  # minimum pages for a share of pages without news to count


def is_doubted(name: str | None) -> bool:
    """Whether ``name`` is a pattern of doubted URLs."""
    return name is not None and name.startswith(DOUBT)


def is_of_names(name: str) -> bool:
    """Whether ``name`` is the pattern of a folder."""
    return name.startswith(NAMES) and not name.endswith(COMBINED)


def product_of(name: str) -> str | None:
    """The script of a pattern of several parameters, as a pattern of its own; None for all others.

    A pattern of combined names is its own product.
    """
    if name.endswith(COMBINED):
        return name
    return script_of(name) if "&" in name and not is_doubted(name) else None


@dataclass(slots=True)
class Pattern(Stored):
    """Observations of one pattern of a server."""

    STATE: ClassVar = (
        *("name", "own", "votes", "listed", "news", "same", "dry", "end", "grown", "asked", "asked_again"),
    )

    name: str = ""
    own: int = 0  # URLs found on its own pages or on other pages without news
    votes: int = 0  # URLs found elsewhere
    listed: int = 0  # pages whose links were judged
    news: int = 0  # those among them that showed something new
    same: int = 0  # consecutive pages without news
    dry: int = 0  # consecutive pages without new text
    end: End = End.UNKNOWN
    example: str = ""  # URL of one of its pages; not stored
    grown: int = 0  # pages that link to addresses which begin with their own
    asked: int = 0  # directions (``far.UP``, ``far.DOWN``) asked for
    asked_again: bool = False  # whether a page was requested again
    noise: frozenset[int] = frozenset()  # places whose text is made for each request
    clear: int = 0  # compared pages in a row that were clearly new; not stored
    passed: int = 0  # pages since the last compared one; not stored
    has_head: bool = False  # whether ``first`` has only the beginning of the page
    #: Marks of its first page, or of all pages; what each of the last pages has besides.
    first: array[int] = field(default_factory=lambda: _NO_MARKS, repr=False)
    others: deque[array[int]] = field(default_factory=lambda: deque(maxlen=PAGES), repr=False)

    def to_state(self) -> dict[str, Any]:
        """Marks (base64, 4 bytes each) are stored only while pages repeat themselves."""
        kept = [self.first, *self.others] if self.repeats_itself else []
        state = Stored.to_state(self) | {"noise": sorted(self.noise), "marks": [packed(marks) for marks in kept]}
        return state | ({"end": End.UNKNOWN, "asked": 0} if self.end is End.ASKED else {})

    def restore(self, state: Any) -> None:
        Stored.restore(self, state)  # super() does not work in a dataclass with slots
        self.noise = frozenset(state["noise"])
        if marks := [unpacked(text) for text in state["marks"]]:
            self.first = marks[0]
            self.others.extend(marks[1:])

    @property
    def size(self) -> int:
        """Marks kept."""
        return len(self.first) + sum(map(len, self.others))

    @property
    def repeats_itself(self) -> bool:
        """Whether its last page showed nothing new, at least in its text."""
        return self.same > 0 or self.dry > 0

    def forget(self) -> None:
        """Forget its marks: its next page counts as new."""
        self.first, self.has_head = _NO_MARKS, False
        self.others.clear()

    @property
    def is_compared(self) -> bool:
        """Whether its pages are compared: not if it has an end and shows news, nor names before their end is known."""
        if self.end is End.FINITE and self.asked == UP | DOWN and not self.combines:
            return self.repeats_itself
        return not is_of_names(self.name) or self.end in (End.ENDLESS, End.OPEN)

    def passes(self) -> bool:
        """Whether its next page counts as new unread: after 1, 2, 3, … clearly new ones in a row 0, 1, 3, … pages."""
        self.passed += 1
        if self.passed < 1 << min(max(self.clear - 1, 0), MAX_UNREAD_PAGES.bit_length()):
            return True
        self.passed = 0
        return False

    def is_clearly_new(self, head: Marks) -> bool:
        """Whether marks of a long page's beginning show that it is new; then remembers them. O(PAGES * MAX_OTHERS).

        The beginning of the first page suffices until another page is like it.
        """
        if self.first is _NO_MARKS:
            self.first, self.has_head = _sorted(head, MAX_MARKS), True
            return True
        besides = head.difference(self.first)
        if self._lacking(besides) < CLEARLY_NEW:
            return False
        self.others.append(_sorted(besides, MAX_OTHERS))
        self.clear += 1
        return True

    def difference(self, marks: Marks) -> int:
        """How many ``marks`` the most similar one of its pages lacks; remembers them. O(PAGES * MAX_OTHERS)."""
        if self.first is _NO_MARKS or self.has_head:
            self.first, self.has_head = _sorted(marks, MAX_MARKS), False
            return len(marks) + MIN_NEW
        besides = marks.difference(self.first)
        least = self._lacking(besides)
        self.others.append(_sorted(besides, MAX_OTHERS))
        self.clear = self.clear + 1 if least >= CLEARLY_NEW else 0
        return least

    def _lacking(self, besides: Marks) -> int:
        has = besides.__contains__
        return len(besides) - max((sum(map(has, other)) for other in self.others), default=0)

    def unseen(self, marks: Marks) -> int:
        """How many ``marks`` none of its pages had; remembers them. O(MAX_MARKS)."""
        fresh = marks.difference(self.first)
        if len(self.first) + len(fresh) > 2 * MAX_MARKS:
            self.first = _sorted(marks, MAX_MARKS)
        elif fresh:
            self.first = self.first + _sorted(fresh, MAX_MARKS)
        return len(fresh) if self.listed else len(fresh) + MIN_NEW

    def count(self, *, own: int, is_new: bool, has_news: bool) -> None:
        """Count a page with ``own`` links to the pattern.

        ``is_new``: its text was new.  ``has_news``: one of its links may lead to something new.
        """
        self.listed += 1
        self.own += own
        self.news += is_new or has_news
        self.dry = 0 if is_new else self.dry + 1
        self.same = 0 if is_new or has_news else self.same + 1

    def wants_far(self, *, grows: bool) -> bool:
        """Whether it is time to ask whether it has an end, in a direction not asked for yet.

        ``grows``: a page links to addresses that begin with its own.
        """
        if self.end not in (End.UNKNOWN, End.FINITE) or self.asked == UP | DOWN:
            return False
        if self.dry >= (1 if is_doubted(self.name) else GuardLimits.DOUBTED_FROM) and not is_of_names(self.name):
            return True
        if grows and not self.asked and self.listed >= GuardLimits.GROWN_FROM:
            return True
        least = GuardLimits.ASKED_FROM * (2 if self.asked else 1)
        return self.own >= least and 2 * self.own > self.votes

    def wants_again(self) -> bool:
        """Whether it is time to request a page again: the news of a pattern without a known end may be noise."""
        is_open = self.end in (End.ENDLESS, End.OPEN) and not self.asked_again
        return is_open and not self.same and self.own >= GuardLimits.ASKED_FROM and 2 * self.own > self.votes

    def is_promising(self) -> bool:
        """Whether links to it are news: its last pages differed in text, and few of its URLs are unfetched."""
        return self.dry <= GuardLimits.DOUBTED_FROM and self.own - self.listed <= GuardLimits.MAX_UNREAD

    def count_grown(self) -> None:
        """Count a page that links to an address which begins with its own."""
        self.grown += 1
        if self.grown == GuardLimits.GROWN_FROM:
            self.forget()  # from now on it keeps other marks

    @property
    def combines(self) -> bool:
        """Whether its addresses add one part after the other, so that combinations of what was seen are not news."""
        return self.grown >= GuardLimits.GROWN_FROM

    def is_wanted(self) -> bool:
        """Whether pages without news make links to it wait no longer than others."""
        return self.same < GuardLimits.DOUBTED_FROM and self.own - self.listed <= GuardLimits.MAX_UNREAD

    def is_poor(self) -> bool:
        """Whether fewer than half of its pages showed anything new."""
        return self.listed >= GuardLimits.MIN_PAGES and 2 * self.news < self.listed

    def is_cleared(self) -> bool:
        """Whether its pages have shown something new although a rule doubts their URLs."""
        return self.news >= GuardLimits.CLEARED_FROM and self.same < GuardLimits.DOUBTED_FROM

    def is_kept(self) -> bool:
        """Whether its waiting URLs are fetched however many pages show nothing new.

        So they are unless it may have no end, or its addresses combine what others name.
        """
        may_end = self.end not in (End.ENDLESS, End.OPEN)
        return may_end and not self.combines and not self.name.endswith((COMBINED, "?"))

    def is_full(self, limits: GuardLimits) -> bool:
        """Whether its pages have linked to the maximum of its URLs, so that no further ones are followed."""
        factor = 10 if self.end is End.FINITE else 1
        return 0 < factor * limits.max_own_urls <= self.own - GuardLimits.OWN_URLS_PER_VOTE * self.votes

    def is_large(self, limits: GuardLimits) -> bool:
        """Whether its URLs found on its own pages wait because they may be endless."""
        return 0 < limits.max_own_urls <= 10 * (self.own - GuardLimits.OWN_URLS_PER_VOTE * self.votes)


def _sorted(marks: Marks, most: int) -> array[int]:
    return array("I", sorted(marks)[:most])


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
            chosen = patterns[crc32(b"%d" % self.forgotten) % len(patterns)]
            self._remove(chosen)
            chosen.forget()
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
