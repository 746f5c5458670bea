"""Servers that have the same pages."""

from __future__ import annotations

from collections import Counter

#: Equal pages of two servers before they can be mirrors: a few (error pages, parked domains) say nothing.
LEAST_PAGES = 20
#: Of the pages fetched of the smaller one, how many must be equal: a mirror that lags behind has some of its own.
LEAST_SHARE = 0.8


class Mirrors:
    """Counts the pages that servers share, and says when two of them are mirrors.

    Only pages that stand in the same place on both (path and query) count, as in Bharat and Broder (1999): servers that
    answer anything with one error page are not mirrors of each other.  A page is compared with the first that had its
    content, so all mirrors of a server are found as mirrors of the one fetched first.

    Memory: two numbers per server and one per pair of servers that share a page.
    """

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._copies: Counter[str] = Counter()
        self._shared: Counter[tuple[str, str]] = Counter()  # (server, server that had them first) -> pages
        self._demoted: set[str] = set()

    def met(self, server: str, *, copy: bool) -> None:
        """A page of ``server`` has been fetched; whether it is a copy of any page met before. O(1)."""
        self._pages[server] += 1
        self._copies[server] += copy

    def met_in_place(self, server: str, first: str) -> str | None:
        """A page of ``server`` is the same as the one in its place on ``first``, which came before it. O(1).

        The server to be demoted, once, if this makes them mirrors: the one of more copies, ``server`` if they have
        equally many.
        """
        self._shared[server, first] += 1
        here, there = self._shared[server, first], self._shared[first, server]
        if server in self._demoted or first in self._demoted or here + there < LEAST_PAGES:
            return None
        if here + there < LEAST_SHARE * min(self._pages[server], self._pages[first]):
            return None
        demoted = server if here >= there else first
        self._demoted.add(demoted)
        return demoted

    def has_mostly_copies(self, server: str) -> bool:
        """Whether most pages of ``server`` are copies, of at least ``LEAST_PAGES``. O(1)."""
        return self._pages[server] >= LEAST_PAGES and 2 * self._copies[server] > self._pages[server]
