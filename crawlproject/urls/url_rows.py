"""URLs that a crawl knows by name, as people see them: rows, what is asked of them, and a table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.urls.fates import Reason, Stage
    from crawlproject.urls.wildcards import UrlPatterns

#: States of a URL.
QUEUED, FETCHED_STATE, LOST = STATES = ("queued", "fetched", "lost")

#: Rows that are looked at in one step: about 1 ms.
STEP = 100


class End(NamedTuple):
    """The end of a URL, as it is kept."""

    #: Seconds since the epoch.
    at: int
    stage: Stage
    reason: Reason
    #: 0: there was no answer.
    status: int = 0
    depth: int = 0


class UrlQuery(NamedTuple):
    """What a URL must be; None, or empty: anything."""

    pattern: UrlPatterns | None = None
    #: Whether a server, by its key, is wanted; None: all are.
    servers: frozenset[str] | None = None
    state: str = ""
    reason: str = ""
    status: int | None = None
    depth: int | None = None
    #: What each URL that matches the pattern contains, in its host or in its path; empty: not known.
    literal: str = ""

    def wants(self, row: UrlRow) -> bool:
        """Whether ``row`` matches in everything but its server. O(length)."""
        return (
            (not self.state or row.state == self.state)
            and (not self.reason or row.reason == self.reason)
            and (self.status is None or row.status == self.status)
            and (self.depth is None or row.depth == self.depth)
            and (self.pattern is None or self.pattern.match(row.url))
        )


class UrlRow(NamedTuple):
    url: str
    state: str
    #: ``urls.fates``; empty while it is queued.
    stage: str = ""
    reason: str = ""
    #: 0: there was no answer, or it is not kept.
    status: int = 0
    depth: int | None = None
    quality: float | None = None
    priority: int | None = None
    #: When it ended, seconds since the epoch.
    at: float | None = None


class UrlTable(Protocol):
    """The URLs that a crawl knows by name."""

    def rows(self, query: UrlQuery, after: str = "", most: int = STEP) -> Iterator[tuple[str, float, list[UrlRow]]]:
        """In steps of about 1 ms: (where to go on, share that was searched, rows that match).

        ``after``: where another search ended.  A step ends with the row number ``most`` of all.  Raises ValueError for
        a wrong ``after``.
        """

    def history(self, url: str) -> list[UrlRow]:
        """What is kept of the canonical ``url``, the latest first."""


def row_of(url: str, end: End) -> UrlRow:
    state = FETCHED_STATE if end.reason.is_page else LOST
    return UrlRow(url, state, end.stage, end.reason, end.status, end.depth, at=end.at)
