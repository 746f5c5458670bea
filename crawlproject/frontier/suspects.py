"""What makes a server's URLs suspicious, and from when on: the limits, and what is counted against them.

See ``frontier.guard`` for what a pattern is and what it does wrong.  Memory: at most ``MAX_PATTERNS`` patterns a
server, and only those that lead sideways or to copies.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, ClassVar

from crawlproject.frontier.visit_ids import VisitIds

#: Patterns watched of a server; the least suspicious one makes room.
MAX_PATTERNS = 64

#: ``Pattern.ground`` where no page of it has led sideways yet.
UNGROUNDED = -1


@dataclass(frozen=True)
class GuardLimits:
    """When a pattern's URLs are demoted (they come last) and refused, and when a server is; 0 switches a rule off."""

    #: Shortest run whose sideways links are refused; from half of it on they are demoted.
    max_run: int = 4
    #: Pages of nothing but dates that bring nothing fresh one after another, until the rest is refused.
    max_dates: int = 5
    #: URLs that a pattern may have found of itself before they are refused, beside 100 for each found elsewhere.
    max_own_urls: int = 10_000
    #: Share of copies among a pattern's pages from which it is demoted.
    pattern_copies: float = 0.5
    #: Share of copies among a server's pages from which all its URLs come last.
    server_copies: float = 0.5
    #: URLs refused of a server from which all its URLs come last, where that is 20 times its pages.
    server_refused: int = 1000
    #: How many times as long its deepest pages take as its least deep ones, from which all its URLs come last.
    server_slower: float = 10

    #: How many times as long a run may be whose pages bring derived URLs.
    DERIVED_RUN: ClassVar[int] = 10
    #: Found of itself before a pattern is demoted, and as many more for each of its pages.
    OWN_URLS: ClassVar[int] = 200
    OWN_URLS_PER_PAGE: ClassVar[int] = 10
    OWN_URLS_PER_VOTE: ClassVar[int] = 100
    REFUSED_PER_PAGE: ClassVar[int] = 20
    #: Pages before a share of copies says anything.
    LEAST_PAGES: ClassVar[int] = 10
    LEAST_SERVER_PAGES: ClassVar[int] = 50


@dataclass(slots=True)
class Pattern:
    """What is known of one pattern of a server."""

    #: Depth of the last page that brought something fresh, derived or not, or was found from outside.
    ground: int = UNGROUNDED
    #: The same, derived URLs not counted.
    firm: int = UNGROUNDED
    #: URLs found of itself, and those of it found from outside.
    own: int = 0
    votes: int = 0
    #: Pages whose links were judged; those since the last that brought something fresh.
    listed: int = 0
    barren: int = 0
    #: Pages whose content was judged; copies among these.
    pages: int = 0
    copies: int = 0

    def row(self, name: str) -> list[Any]:
        """As it is stored: its name and its counts."""
        return [name, *astuple(self)]

    def run(self, depth: int, limits: GuardLimits) -> float:
        """Of a page at ``depth``."""
        if self.ground == UNGROUNDED:
            return 0
        return max(depth - self.ground, (depth - self.firm) / limits.DERIVED_RUN)

    def ground_at(self, depth: int, *, firm: bool) -> None:
        """The run begins anew at ``depth``."""
        self.ground = max(self.ground, depth)
        if firm or self.firm == UNGROUNDED:
            self.firm = max(self.firm, depth)

    def has_copies(self, share: float) -> bool:
        """Whether so large a part of its pages were copies."""
        return share > 0 and self.pages >= GuardLimits.LEAST_PAGES and self.copies >= share * self.pages

    def is_refused(self, depth: int, limits: GuardLimits) -> bool:
        """Whether sideways links of its page at ``depth`` are."""
        own = self.own - limits.OWN_URLS_PER_VOTE * self.votes
        is_long = 0 < limits.max_run <= self.run(depth, limits)
        return is_long or 0 < limits.max_own_urls <= own

    def is_demoted(self, depth: int, limits: GuardLimits) -> bool:
        """Whether they are."""
        own = self.own - limits.OWN_URLS_PER_PAGE * self.listed
        is_long = 0 < limits.max_run <= 2 * self.run(depth, limits)
        is_large = limits.max_own_urls > 0 and own > limits.OWN_URLS
        return is_long or is_large or self.has_copies(limits.pattern_copies)


class ServerGuard:
    """A server's suspicious patterns, its ids of visits, and how many URLs of it were refused."""

    #: What is stored, see ``frontier.snapshot``.
    KEPT = ("refused", "listed", "rows", "spent", "visit_ids")

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        self.refused = 0
        self.listed = 0  # pages whose links were judged since the first suspicion
        self.spent: list[str] = []  # patterns whose URLs are all refused
        self.visit_ids = VisitIds()

    @property
    def rows(self) -> list[list[Any]]:
        """The patterns, as plain values."""
        return [pattern.row(name) for name, pattern in self.patterns.items()]

    @rows.setter
    def rows(self, rows: list[list[Any]]) -> None:
        self.patterns = {str(name): Pattern(*map(int, counts)) for name, *counts in rows}

    def watch(self, name: str) -> Pattern:
        """The pattern ``name``, watched from now on. O(1), O(MAX_PATTERNS) where another one makes room."""
        pattern = self.patterns.get(name)
        if pattern is None:
            if len(self.patterns) >= MAX_PATTERNS:
                del self.patterns[min(self.patterns, key=self._suspicion)]
            pattern = self.patterns[name] = Pattern()
        return pattern

    def spend(self, name: str) -> bool:
        """Refuse all URLs of the pattern ``name`` from now on; whether they were not before. O(1)."""
        is_new = name not in self.spent
        if is_new:
            self.spent = [*self.spent, name][-MAX_PATTERNS:]
        return is_new

    def _suspicion(self, name: str) -> int:
        return self.patterns[name].own + 10 * self.patterns[name].copies
