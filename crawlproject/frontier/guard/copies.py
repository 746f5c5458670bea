"""Detects servers that repeat their own pages in a circle, and servers that mirror another one, from copies of pages.

Both records are stored with their server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: Copies of one content since a server last showed one that is new in its run: from then on they may be a circle.
MIN_TIMES = 20
#: Contents watched per server.
MAX_CONTENTS = 64

#: Equal pages of two servers before they can be mirrors: a few (error pages, parked domains) prove nothing.
MIN_SHARED = 20
#: Share of the smaller server's pages that must be equal: a mirror that lags behind has some pages of its own.
MIN_SHARE = 0.8
#: Other servers counted per server.
MAX_OTHERS = 64


class CopyRun:
    """Contents that a server has repeated since its last page with a new one: a run of copies.

    A copied tree, however large, repeats each content once; a server that answers any address with a few pages repeats
    them many times.  So a copy that is new in the run resets the counts.
    Memory: ``MAX_CONTENTS`` contents; the least recent one is dropped.
    """

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[int, int] = {}  # by content, the least recent one first

    def to_state(self) -> dict[str, Any]:
        """Content and times, as plain values."""
        return {"times": [[content, times] for content, times in self._times.items()]}

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        run = cls()
        run._times = {int(content): int(times) for content, times in state.rows("times", 2)}
        return run

    def add(self, content: int) -> int:
        """Count a copy of ``content``; returns its count since the last copy that was new in the run.

        O(1); O(MAX_CONTENTS) for a copy that is new in the run.
        """
        times = self._times.pop(content, None)
        if times is None:
            self._times = dict.fromkeys(list(self._times)[1 - MAX_CONTENTS :], 0)
        self._times[content] = times = (times or 0) + 1
        return times


class SharedPages:
    """For each other server: number of pages equal to its earlier-fetched page at the same path and query.

    Only such pages count, as in Bharat and Broder (1999): servers that answer any URL with one error page are not
    mirrors.
    Memory: ``MAX_OTHERS`` servers; the one with the fewest shared pages is dropped.
    """

    __slots__ = ("_pages", "is_mirror")

    def __init__(self) -> None:
        self.is_mirror = False  # found to be a mirror and demoted
        self._pages: dict[str, int] = {}

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        return {"is_mirror": self.is_mirror, "pages": self._pages}

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        shared = cls()
        shared.is_mirror = state.flag("is_mirror", default=False)
        shared._pages = state.counts("pages")
        return shared

    def add(self, first: str) -> None:
        """Count a page that is equal on the server ``first``. O(1), O(MAX_OTHERS) for a new server."""
        if first not in self._pages and len(self._pages) >= MAX_OTHERS:
            del self._pages[min(self._pages, key=self._pages.__getitem__)]
        self._pages[first] = self._pages.get(first, 0) + 1

    def count(self, first: str) -> int:
        """Pages that are equal on the server ``first``."""
        return self._pages.get(first, 0)


def is_circle(url: str, links: Iterable[str | None]) -> bool:
    """Whether one of the page's ``links`` repeats the end of its path below its directory: ``/a/`` links to ``/a/a/``.

    If so, its copies lead to ever longer paths.  O(length of the links).
    """
    path = url.partition("#")[0].partition("?")[0]
    directory = path[: path.rfind("/") + 1]
    for link in links:
        below = (
            link[len(directory) :].partition("#")[0].partition("?")[0] if link and link.startswith(directory) else ""
        )
        if "/" in below and path.endswith("/" + below):
            return True
    return False
