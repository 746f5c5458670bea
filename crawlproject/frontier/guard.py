"""Traps that show only in what a server does from page to page: addresses that lead to nothing but more of their kind.

A *pattern* is what a server's made-up addresses have in common (``urls.pattern``).  A page leads *sideways* where it
shows a new address of its own pattern; all else is *fresh*, though an address whose numbers are the page's own or next
to them is but *derived* (its print version).  The *run* of a page is by how many links it lies behind the last page of
its pattern that brought something fresh, or was found from outside the pattern; where only derived addresses came, a
tenth of that.  A list's pages bring items and an item is found from lists, so their runs stay short;
a calendar's months bring only months, and theirs grows with every page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.depth_times import DEEP, DepthTimes
from crawlproject.frontier.suspects import UNGROUNDED, GuardLimits, ServerGuard
from crawlproject.frontier.visit_ids import may_have_id
from crawlproject.urls.pattern import is_derived, is_of_dates, numbers_of, pattern_of
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.frontier.server import Server

#: What is left of the quality of a URL that is to come last.
DEMOTION = 1e-9


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

    def learn_time(self, server: Server, depth: int, response_time: float) -> None:
        """A page at ``depth`` took so many seconds to come. O(1)."""
        if server.depth_times is None and depth >= DEEP:
            server.depth_times = DepthTimes()
        if server.depth_times is not None:
            server.depth_times.observe(depth, response_time)

    def page(self, url: str, depth: int) -> GuardedPage | None:
        """The page at the canonical ``url``, whose links are to be judged; None where they are not. O(length)."""
        key = server_key(url)
        server = self.server_of(key)
        return None if server is None or self.is_released(key) else GuardedPage(self, server, url, depth)

    def standing_out(self, server: Server) -> str:
        """Why all URLs of ``server`` are to come last: copies, refused, slower; empty where they are not. O(1)."""
        limits, known = self.limits, server.guard
        if self.is_released(server.key):
            return ""
        if server.pages >= limits.LEAST_SERVER_PAGES and 0 < limits.server_copies * server.pages <= server.copies:
            return "copies"
        if server.depth_times is not None and 0 < limits.server_slower <= server.depth_times.growth:
            return "slower"
        if known is None or not 0 < limits.server_refused <= known.refused:
            return ""
        return "refused" if known.refused >= limits.REFUSED_PER_PAGE * known.listed else ""

    def learn_content(self, server: Server, url: str, *, copy: bool) -> None:
        """A page was read. O(length)."""
        if (server.guard is None and not copy) or self.is_released(server.key):
            return
        name = pattern_of(url)
        if name is None:
            return
        known = server.guard = server.guard or ServerGuard()
        pattern = known.watch(name) if copy else known.patterns.get(name)
        if pattern is not None:
            pattern.pages += 1
            pattern.copies += copy


class GuardedPage:
    """A page whose links are judged: ``refuses`` before they are tested against the seen-set, ``learn`` after."""

    __slots__ = ("_depth", "_guard", "_is_demoted", "_is_refused", "_name", "_numbers", "_pattern", "server", "spent")

    def __init__(self, guard: Guard, server: Server, url: str, depth: int) -> None:
        self.server = server
        self.spent: str | None = None
        self._guard = guard
        self._depth = depth
        self._name = pattern_of(url)
        self._numbers = set[int]() if self._name is None else numbers_of(url)
        known = server.guard
        self._pattern = None if known is None or self._name is None else known.patterns.get(self._name)
        self._is_refused = self._pattern is not None and self._pattern.is_refused(depth, guard.limits)
        self._is_demoted = self._pattern is not None and self._pattern.is_demoted(depth, guard.limits)

    @property
    def refuses_some(self) -> bool:
        """Whether there may be links that it refuses. O(1)."""
        known = self.server.guard
        return known is not None and (self._is_refused or bool(known.spent))

    def refuses(self, url: str) -> bool:
        """Whether the link to the canonical ``url`` is not followed, nor remembered as met.

        O(1), O(length) where its server is under suspicion.
        """
        known = self.server.guard
        if known is None or not self.is_own(url):
            return False
        name = pattern_of(url)
        if name in known.spent or (self._is_refused and self._is_sideways(url, name)):
            known.refused += 1
            return True
        return False

    def observe(self, url: str, links: Iterable[str | None]) -> list[str]:
        """Look for ids of visits in those of the ``links`` that lead to its own server; see ``VisitIds``. O(length)."""
        if not may_have_id(url):
            return []
        self.server.guard = self.server.guard or ServerGuard()
        own = [link for link in links if link is not None and self.is_own(link)]
        return self.server.guard.visit_ids.observe(url, own)

    def learn(self, new: Iterable[str]) -> set[str]:
        """Take in the page's links that were met for the first time; those to be demoted. O(length) each.

        ``spent`` is then the pattern that by this has turned out to be endless, if one has.
        """
        sideways: set[str] = set()
        is_derived_news = is_fresh = False
        for url in new:
            if not self.is_own(url):
                self._vote(self._guard.server_of(server_key(url)), url)
            elif self._name is not None and self._is_sideways(url, name := pattern_of(url)):
                sideways.add(url)
                is_derived_news = is_derived_news or name != self._name
            else:
                is_fresh = True
                self._vote(self.server, url)
        self._count(len(sideways), is_news=is_fresh or is_derived_news, is_fresh=is_fresh)
        return sideways if self._is_demoted else set()

    def is_own(self, url: str) -> bool:
        """Whether ``url`` is of the page's server."""
        key = self.server.key
        return url.startswith(key) and url[len(key) : len(key) + 1] == "/"

    def _is_sideways(self, url: str, name: str | None) -> bool:
        return self._name is not None and name is not None and (name == self._name or is_derived(url, self._numbers))

    def _count(self, sideways: int, *, is_news: bool, is_fresh: bool) -> None:
        server = self.server
        if sideways and self._pattern is None and self._name is not None:
            server.guard = server.guard or ServerGuard()
            self._pattern = server.guard.watch(self._name)
        known, pattern = server.guard, self._pattern
        if known is None:
            return
        known.listed += 1
        if pattern is None or self._name is None:
            return
        pattern.listed += 1
        pattern.own += sideways
        pattern.barren = 0 if is_news else pattern.barren + 1
        if pattern.ground == UNGROUNDED or is_news:
            pattern.ground_at(self._depth, firm=is_fresh)
        is_endless = 0 < self._guard.limits.max_dates <= pattern.barren and pattern.own > pattern.votes
        if is_endless and is_of_dates(self._name) and known.spend(self._name):
            self.spent = self._name

    def _vote(self, server: Server | None, url: str) -> None:
        """A URL of ``server`` was found from outside its pattern."""
        if server is not None and server.guard is not None and (name := pattern_of(url)) is not None:
            pattern = server.guard.patterns.get(name)
            if pattern is not None:
                pattern.votes += 1
                pattern.ground_at(self._depth + 1, firm=True)
