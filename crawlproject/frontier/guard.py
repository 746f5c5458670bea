"""Traps that show only in what a server does from page to page: addresses that lead to nothing but more of their kind.

A *pattern* is what a server's made-up addresses have in common (``urls.pattern``).  A page leads *sideways* where it
shows a new address of its own pattern, or one whose numbers are its own or next to them; all else is *fresh*.  The
*run* of a page is by how many links it lies behind the last page of its pattern that brought something fresh, or was
found from outside the pattern.  A list's pages bring items and an item is found from lists, so their runs stay short;
a calendar's months bring only months, and theirs grows with every page.

Memory: at most ``MAX_PATTERNS`` patterns a server, and only those that lead sideways or to copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crawlproject.frontier.visit_ids import VisitIds, may_have_id
from crawlproject.urls.pattern import is_derived, numbers_of, pattern_of
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.frontier.server import Server

#: Patterns watched of a server; the least suspicious one makes room.
MAX_PATTERNS = 64

#: What is left of the quality of a URL that is to come last.
DEMOTION = 1e-9

#: ``Pattern.ground`` where no page of it has led sideways yet.
UNGROUNDED = -1


@dataclass(frozen=True)
class GuardLimits:
    """When a pattern's URLs are demoted (they come last) and refused, and when a server is; 0 switches a rule off."""

    #: Shortest run whose sideways links are refused; from half of it on they are demoted.
    max_run: int = 4
    #: URLs that a pattern may have found of itself before they are refused, beside 100 for each found elsewhere.
    max_own_urls: int = 10_000
    #: Share of copies among a pattern's pages from which it is refused; from half of it on it is demoted.
    pattern_copies: float = 0.9
    #: Share of copies among a server's pages from which all its URLs come last.
    server_copies: float = 0.5
    #: URLs refused of a server from which all its URLs come last, where that is 20 times its pages.
    server_refused: int = 1000

    #: Found of itself before a pattern is demoted, and as many more for each of its pages.
    OWN_URLS: ClassVar[int] = 200
    OWN_URLS_PER_PAGE: ClassVar[int] = 10
    OWN_URLS_PER_VOTE: ClassVar[int] = 100
    REFUSED_PER_PAGE: ClassVar[int] = 20
    #: Pages before a share of copies says anything.
    LEAST_PAGES: ClassVar[int] = 10
    LEAST_SERVER_PAGES: ClassVar[int] = 50


class Pattern:
    """What is known of one pattern of a server."""

    __slots__ = ("copies", "ground", "listed", "own", "pages", "votes")

    def __init__(self, *counts: int) -> None:
        self.ground, self.own, self.votes, self.listed, self.pages, self.copies = counts or (UNGROUNDED, 0, 0, 0, 0, 0)

    def row(self, name: str) -> list[Any]:
        """As it is stored: name, ground (depth of the last page that brought something fresh or was found from
        outside), URLs found of itself, URLs found from outside, pages whose links were judged, pages whose content
        was, copies among these."""
        return [name, self.ground, self.own, self.votes, self.listed, self.pages, self.copies]

    def run(self, depth: int) -> int:
        """Of a page at ``depth``."""
        return 0 if self.ground == UNGROUNDED else depth - self.ground

    def has_copies(self, share: float) -> bool:
        """Whether so large a part of its pages were copies."""
        return share > 0 and self.pages >= GuardLimits.LEAST_PAGES and self.copies >= share * self.pages

    def is_refused(self, depth: int, limits: GuardLimits) -> bool:
        """Whether sideways links of its page at ``depth`` are."""
        own = self.own - limits.OWN_URLS_PER_VOTE * self.votes
        is_long = 0 < limits.max_run <= self.run(depth)
        return is_long or 0 < limits.max_own_urls <= own or self.has_copies(limits.pattern_copies)

    def is_demoted(self, depth: int, limits: GuardLimits) -> bool:
        """Whether they are."""
        own = self.own - limits.OWN_URLS_PER_PAGE * self.listed
        is_long = 0 < limits.max_run <= 2 * self.run(depth)
        is_large = limits.max_own_urls > 0 and own > limits.OWN_URLS
        return is_long or is_large or self.has_copies(limits.pattern_copies / 2)


class ServerGuard:
    """A server's suspicious patterns, its ids of visits, and how many URLs of it were refused."""

    #: What is stored, see ``frontier.snapshot``.
    KEPT = ("refused", "listed", "rows", "spent", "visit_ids")

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        self.refused = 0
        self.listed = 0  # pages whose links were judged since the first suspicion
        self.spent: list[str] = []  # patterns that bring copies only
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

    def _suspicion(self, name: str) -> int:
        return self.patterns[name].own + 10 * self.patterns[name].copies


class Guard:
    """Judges links by the pages they stand on.

    ``server_of``: the server of a key, None where it was never met.  ``is_released``: whether a server is not judged.
    """

    def __init__(
        self,
        limits: GuardLimits,
        server_of: Callable[[str], Server | None],
        is_released: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.limits = limits
        self.server_of = server_of
        self.is_released = is_released

    def page(self, url: str, depth: int) -> GuardedPage | None:
        """The page at the canonical ``url``, whose links are to be judged; None where they are not. O(length)."""
        key = server_key(url)
        server = self.server_of(key)
        return None if server is None or self.is_released(key) else GuardedPage(self, server, url, depth)

    def standing_out(self, server: Server) -> str:
        """Why all URLs of ``server`` are to come last: copies, refused; empty where they are not. O(1)."""
        limits, known = self.limits, server.guard
        if self.is_released(server.key):
            return ""
        if server.pages >= limits.LEAST_SERVER_PAGES and 0 < limits.server_copies * server.pages <= server.copies:
            return "copies"
        if known is None or not 0 < limits.server_refused <= known.refused:
            return ""
        return "refused" if known.refused >= limits.REFUSED_PER_PAGE * known.listed else ""

    def learn_content(self, server: Server, url: str, *, copy: bool) -> str | None:
        """A page was read.  The pattern that by this has turned out to bring copies only, if one has. O(length)."""
        limits, name = self.limits, pattern_of(url)
        if name is None or (server.guard is None and not copy) or self.is_released(server.key):
            return None
        known = server.guard = server.guard or ServerGuard()
        pattern = known.watch(name) if copy else known.patterns.get(name)
        if pattern is None:
            return None
        pattern.pages += 1
        pattern.copies += copy
        if name in known.spent or not pattern.has_copies(limits.pattern_copies):
            return None
        known.spent = [*known.spent, name][-MAX_PATTERNS:]
        return name


class GuardedPage:
    """A page whose links are judged: ``refuses`` before they are tested against the seen-set, ``learn`` after."""

    __slots__ = ("_depth", "_guard", "_is_demoted", "_is_refused", "_name", "_numbers", "_pattern", "server")

    def __init__(self, guard: Guard, server: Server, url: str, depth: int) -> None:
        self.server = server
        self._guard = guard
        self._depth = depth
        self._name = pattern_of(url)
        self._numbers = set[int]() if self._name is None else numbers_of(url)
        known = server.guard
        self._pattern = None if known is None or self._name is None else known.patterns.get(self._name)
        self._is_refused = self._pattern is not None and self._pattern.is_refused(depth, guard.limits)
        self._is_demoted = self._pattern is not None and self._pattern.is_demoted(depth, guard.limits)

    def refuses(self, url: str) -> bool:
        """Whether the link to the canonical ``url`` is not followed, nor remembered as met.

        O(1), O(length) where its server is under suspicion.
        """
        known = self.server.guard
        if known is None or not (self._is_refused or known.spent) or not self.is_own(url):
            return False
        name = pattern_of(url)
        if name in known.spent or (self._is_refused and self._is_sideways(url, name)):
            known.refused += 1
            return True
        return False

    def observe(self, url: str, links: Iterable[str]) -> list[str]:
        """Look for ids of visits in the ``links`` to its own server; see ``VisitIds.observe``. O(length)."""
        if not may_have_id(url):
            return []
        self.server.guard = self.server.guard or ServerGuard()
        return self.server.guard.visit_ids.observe(url, links)

    def learn(self, new: Iterable[str]) -> set[str]:
        """Take in the page's links that were met for the first time; those to be demoted. O(length) each."""
        sideways: set[str] = set()
        is_fresh = False
        for url in new:
            name = pattern_of(url)
            if not self.is_own(url):
                self._vote(self._guard.server_of(server_key(url)), name)
            elif self._is_sideways(url, name):
                sideways.add(url)
            else:
                is_fresh = True
                self._vote(self.server, name)
        self._count(len(sideways), is_fresh=is_fresh)
        return sideways if self._is_demoted else set()

    def is_own(self, url: str) -> bool:
        """Whether ``url`` is of the page's server."""
        key = self.server.key
        return url.startswith(key) and url[len(key) : len(key) + 1] == "/"

    def _is_sideways(self, url: str, name: str | None) -> bool:
        return self._name is not None and name is not None and (name == self._name or is_derived(url, self._numbers))

    def _count(self, sideways: int, *, is_fresh: bool) -> None:
        server = self.server
        if sideways and self._pattern is None and self._name is not None:
            server.guard = server.guard or ServerGuard()
            self._pattern = server.guard.watch(self._name)
        pattern = self._pattern
        if pattern is not None:
            pattern.listed += 1
            pattern.own += sideways
            if pattern.ground == UNGROUNDED or is_fresh:
                pattern.ground = max(pattern.ground, self._depth)
        if server.guard is not None:
            server.guard.listed += 1

    def _vote(self, server: Server | None, name: str | None) -> None:
        """A URL was found from outside its pattern."""
        if name is not None and server is not None and server.guard is not None:
            pattern = server.guard.patterns.get(name)
            if pattern is not None:
                pattern.votes += 1
                pattern.ground = max(pattern.ground, self._depth + 1)
