"""Watched URL patterns: what their pages showed, and when that is enough evidence to drop them.

See ``frontier.guard.judge``.  Only patterns whose pages link to the same pattern are watched, and patterns that these
link to.  Memory: at most ``MAX_PATTERNS`` patterns per server, each with at most ``MAX_MARKS`` marks of four bytes; at
most ``mark_budget.MAX_ALL_MARKS`` marks for all servers.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from crawlproject.frontier.guard.additions import Additions
from crawlproject.frontier.guard.other_names import OtherNames
from crawlproject.frontier.guard.visit_ids import VisitIds
from crawlproject.urls.pattern import is_of_dates, script_of

if TYPE_CHECKING:
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: The content of a page: 32-bit hashes; odd for a number, even for text and pictures.
Marks: TypeAlias = frozenset[int]

#: Maximum watched patterns per server; the one with the least evidence is dropped.
MAX_PATTERNS = 64
#: Maximum marks per pattern; beyond it, the pattern starts again with its newest page.
MAX_MARKS = 4096
#: Minimum new numbers on a page that count as news: counters and generation times are new on every page.
MIN_NUMBERS = 5

#: Marks of a pattern without any; never modified, because most patterns share it.
_NO_MARKS = array("I")

#: First character of the patterns of URLs that a rule of ``urls.traps`` doubts.
DOUBT = "!"


@dataclass(frozen=True)
class GuardLimits:
    """Limits from which a pattern is dropped, or its URLs or a server rank last; 0 switches a rule off."""

    #: Consecutive pages that show the same until a pattern of dates, or of doubted URLs, is dropped.
    max_dates: int = 5
    #: The same for other patterns, plus one for each ``NEWS_PER_PAGE`` pages that showed something new.
    max_same: int = 8
    #: Maximum followed URLs of a pattern that were found on its own pages, plus 100 for each URL found elsewhere; from
    #: a tenth of it they rank last.
    max_own_urls: int = 10_000
    #: Share of copies among a pattern's pages that demotes it.
    pattern_copies: float = 0.5
    #: Share of copies among a server's pages that ranks it last: in real shops and forums half may be permalinks.
    server_copies: float = 0.8
    #: Number of URLs refused on pages without news that ranks a server last, if it is 20 times the number of its pages.
    server_refused: int = 1000

    NEWS_PER_PAGE: ClassVar[int] = 10
    #: Factor on ``max_same`` for a script with all its patterns.
    PATTERNS: ClassVar[int] = 4
    #: Consecutive pages that show the same before their links to their own pattern rank last.
    DEMOTED_FROM: ClassVar[int] = 3
    #: Pages of a pattern, all of them closed to robots, from which its URLs rank last.
    CLOSED_FROM: ClassVar[int] = 10
    #: Maximum unfetched URLs of a pattern from pages without new text, up to which further ones count as news.
    MAX_UNREAD: ClassVar[int] = 100
    #: URLs found on its own pages before a pattern is demoted; increments for each of its pages, and for each URL found
    #: elsewhere.
    OWN_URLS: ClassVar[int] = 200
    OWN_URLS_PER_PAGE: ClassVar[int] = 10
    OWN_URLS_PER_VOTE: ClassVar[int] = 100
    REFUSED_PER_PAGE: ClassVar[int] = 20
    #: Pages with something new after which doubted URLs no longer rank last.
    CLEARED_FROM: ClassVar[int] = 3
    #: Minimum pages for a share of copies to count.
    MIN_PAGES: ClassVar[int] = 10
    MIN_SERVER_PAGES: ClassVar[int] = 50


def is_doubted(name: str | None) -> bool:
    """Whether ``name`` is a pattern of doubted URLs."""
    return name is not None and name.startswith(DOUBT)


def family_of(name: str | None) -> str | None:
    """The script that the pattern ``name`` belongs to, with any parameters; None for most patterns."""
    return None if name is None or is_doubted(name) else script_of(name)


def is_endless_by_nature(name: str) -> bool:
    """Whether a server can generate URLs of ``name`` without end: dates and doubted URLs."""
    return is_doubted(name) or is_of_dates(name)


@dataclass(slots=True)
class Pattern:
    """Observations of one pattern of a server."""

    name: str
    #: URLs found on its own pages or on other pages without new text; URLs found elsewhere.
    own: int = 0
    votes: int = 0
    #: Pages whose links were judged; those among them that showed something new.
    listed: int = 0
    news: int = 0
    #: Consecutive pages, including the first of them, that showed the same (see ``count``); the same for their text
    #: alone.
    same: int = 0
    dry: int = 0
    #: Pages whose content was compared; copies among them.
    pages: int = 0
    copies: int = 0
    #: Marks of its pages.
    marks: array[int] = field(default_factory=lambda: _NO_MARKS, repr=False)

    def to_state(self) -> list[Any]:
        """As plain values: name, the eight counts in the order of the fields, marks (base64, 4 bytes each).

        Marks are stored only while pages repeat themselves.
        """
        counts = [self.own, self.votes, self.listed, self.news, self.same, self.dry, self.pages, self.copies]
        marks = _little_endian(self.marks).tobytes() if self.repeats_itself else b""
        return [self.name, *counts, b64encode(marks).decode()]

    @classmethod
    def from_state(cls, row: object) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        try:
            name, *counts, text = cast("list[Any]", row)
            own, votes, listed, news, same, dry, pages, copies = counts
            marks = array("I", b64decode(text, validate=True))
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a pattern: {str(row)[:60]}: {error}") from error
        if type(name) is not str or any(type(count) is not int or count < 0 for count in counts):
            raise ValueError(f"not a pattern: {str(row)[:60]}: must be a name, eight counts and marks")
        return cls(name, own, votes, listed, news, same, dry, pages, copies, _little_endian(marks))

    @property
    def repeats_itself(self) -> bool:
        """Whether its last page showed nothing new, at least in its text."""
        return self.same > 1 or self.dry > 1

    def forget(self) -> None:
        """Forget its marks: its next page counts as new if it shows any text."""
        self.marks = _NO_MARKS

    def shows_new(self, marks: Marks) -> bool:
        """Whether a page with these ``marks`` shows anything that no earlier page did; remembers the marks.

        O(MAX_MARKS): 0.1 ms.
        """
        fresh = self._fresh(marks)
        numbers = sum(mark & 1 for mark in fresh)
        return not self.listed or len(fresh) > numbers or numbers >= MIN_NUMBERS

    def count_fresh(self, marks: Marks) -> int:
        """Number of ``marks`` that no earlier page had; remembers them. O(MAX_MARKS)."""
        return len(self._fresh(marks))

    def _fresh(self, marks: Marks) -> Marks:
        fresh = marks.difference(self.marks)
        if fresh:
            if len(self.marks) + len(fresh) > MAX_MARKS:
                self.marks = array("I", sorted(marks)[:MAX_MARKS])
            else:
                self.marks = self.marks + array("I", sorted(fresh))
        return fresh

    def count(self, *, own: int, is_new: bool, has_news: bool, was_last: bool) -> None:
        """Count a page with ``own`` links to the pattern.

        ``is_new``: its text was new.  ``has_news``: one of its links may lead to something new.  ``was_last``: its URL
        ranked last.  Of the pages without anything new that did not, only the first few count: the pages that they led
        to may not have been read yet.
        """
        self.listed += 1
        self.own += own
        self.news += is_new or has_news
        self.dry = 1 if is_new else self.dry + 1
        if is_new or has_news:
            self.same = 1
        elif was_last or self.same < GuardLimits.DEMOTED_FROM or is_endless_by_nature(self.name):
            self.same += 1

    def is_promising(self, limits: GuardLimits) -> bool:
        """Whether links to it are news: its last pages differed in text, and few of its URLs are unfetched."""
        is_dry = 0 < self.patience(limits) <= self.dry
        return not is_dry and self.own - self.listed <= limits.MAX_UNREAD

    @property
    def is_doubtful(self) -> bool:
        """Whether its last few pages showed nothing new, so that such pages demote their links to it."""
        return self.same >= GuardLimits.DEMOTED_FROM

    def is_barren(self, limits: GuardLimits) -> bool:
        """Whether its last pages showed nothing new and linked to nothing new."""
        return 0 < self.patience(limits) <= self.same

    def is_cleared(self, limits: GuardLimits) -> bool:
        """Whether its pages have shown something new although a rule doubts their URLs."""
        return self.news >= limits.CLEARED_FROM and self.same < limits.DEMOTED_FROM

    def is_full(self, limits: GuardLimits) -> bool:
        """Whether its pages have linked to the maximum of its URLs, so that no further ones are followed."""
        return 0 < limits.max_own_urls <= self._own_net(limits)

    def is_demoted(self, limits: GuardLimits) -> bool:
        """Whether its URLs found on its own pages rank last."""
        own = self._own_net(limits)
        is_large = own > limits.OWN_URLS + limits.OWN_URLS_PER_PAGE * self.listed or 10 * own >= limits.max_own_urls
        return (limits.max_own_urls > 0 and is_large) or self.has_copies(limits.pattern_copies)

    def has_copies(self, share: float) -> bool:
        """Whether at least this share of its pages were copies."""
        return share > 0 and self.pages >= GuardLimits.MIN_PAGES and self.copies >= share * self.pages

    def patience(self, limits: GuardLimits) -> int:
        """Pages in a row without anything new after which it is dropped; 0: never."""
        if is_endless_by_nature(self.name):
            return limits.max_dates
        least = limits.max_same * (limits.PATTERNS if self.name.endswith("?") else 1)
        return least and least + self.news // limits.NEWS_PER_PAGE

    def _own_net(self, limits: GuardLimits) -> int:
        return self.own - limits.OWN_URLS_PER_VOTE * self.votes


class ServerGuard:
    """A server's watched patterns, its other names of pages, its visit ids, and the number of refused URLs."""

    __slots__ = ("additions", "closed", "listed", "other_names", "patterns", "refused", "spent", "visit_ids")

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        #: Pattern -> its pages that are closed to robots (neither to index nor to follow); 0: not all of them are.
        self.closed: dict[str, int] = {}
        self.refused = 0
        self.listed = 0  # pages whose links were judged since the first pattern was watched
        self.spent: list[str] = []  # dropped patterns
        self.visit_ids = VisitIds()
        self.other_names = OtherNames()
        self.additions = Additions()

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "closed": [[name, count] for name, count in self.closed.items()],
            "refused": self.refused,
            "listed": self.listed,
            "patterns": [pattern.to_state() for pattern in self.patterns.values()],
            "dropped": self.spent,
            "visit_ids": self.visit_ids.to_state(),
            "other_names": self.other_names.to_state(),
            "additions": self.additions.to_state(),
        }

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        guard = cls()
        guard.refused, guard.listed = state.count("refused", 0), state.count("listed", 0)
        guard.patterns = {pattern.name: pattern for pattern in map(Pattern.from_state, state.items("patterns"))}
        guard.spent = state.texts("dropped")
        guard.closed = dict(map(_closed_row, state.items("closed")))
        guard.other_names = OtherNames.from_state(state)
        guard.additions = Additions.from_state(state)
        visit_ids = state.part("visit_ids")
        if visit_ids is not None:
            guard.visit_ids = VisitIds.from_state(visit_ids)
        return guard

    def watch(self, name: str) -> Pattern:
        """The pattern ``name``, watched from now on. O(1), O(MAX_PATTERNS) if another pattern is evicted for it."""
        pattern = self.patterns.get(name)
        if pattern is None:
            if len(self.patterns) >= MAX_PATTERNS:
                del self.patterns[min(self.patterns, key=self._evidence)]
            pattern = self.patterns[name] = Pattern(name)
        return pattern

    def count_closed(self, name: str) -> bool:
        """Count a page of ``name`` that is closed to robots; returns whether its URLs rank last from now on.

        O(1), O(MAX_PATTERNS) if another pattern is forgotten for it.
        """
        if name not in self.closed and len(self.closed) >= MAX_PATTERNS:
            del self.closed[min(self.closed, key=self.closed.__getitem__)]
        if self.closed.get(name) != 0:
            self.closed[name] = self.closed.get(name, 0) + 1
        return self.closed[name] == GuardLimits.CLOSED_FROM

    def count_open(self, name: str | None) -> None:
        """Count a page of the pattern ``name`` that is open to robots. O(1)."""
        if name in self.closed:
            self.closed[name] = 0

    def is_closed(self, name: str | None) -> bool:
        """Whether all pages of the pattern ``name``, and enough of them, were closed to robots. O(1)."""
        return bool(self.closed) and self.closed.get(name or "", 0) >= GuardLimits.CLOSED_FROM

    def spend(self, name: str) -> bool:
        """Drop the pattern ``name``; returns False if it was dropped already. O(1)."""
        is_new = name not in self.spent
        if is_new:
            self.spent = [*self.spent, name][-MAX_PATTERNS:]
        return is_new

    def is_spent(self, name: str | None) -> bool:
        """Whether the pattern ``name``, or its script, is dropped."""
        return bool(self.spent) and (name in self.spent or family_of(name) in self.spent)

    def revive(self, name: str) -> None:
        """Follow the pattern ``name`` again. O(1)."""
        self.spent = [each for each in self.spent if each != name]

    def _evidence(self, name: str) -> int:
        return self.patterns[name].own + 10 * self.patterns[name].copies


def _closed_row(row: object) -> tuple[str, int]:
    match row:
        case [str() as name, int() as count] if count >= 0:
            return name, count
    raise ValueError(f"not a pattern closed to robots: {str(row)[:60]}")


def _little_endian(marks: array[int]) -> array[int]:
    """``marks`` converted to or from the store's byte order; ``marks`` itself on most machines."""
    if sys.byteorder == "big":
        marks = marks[:]
        marks.byteswap()
    return marks
