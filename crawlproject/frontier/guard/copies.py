"""What the copies on a server's pages say about it: that it goes round in a circle, or mirrors another server.

Both are part of a server's record, so they are stored and restored together with its URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Copies of one content since a server last showed one not met in its run: from then on they may be a circle.
MIN_TIMES = 20
#: Contents watched of a server.
MAX_CONTENTS = 64

#: Equal pages of two servers before they can be mirrors: a few (error pages, parked domains) say nothing.
MIN_SHARED = 20
#: Of the pages fetched of the smaller one, how many must be equal: a mirror that lags behind has some of its own.
MIN_SHARE = 0.8
#: Other servers counted of a server.
MAX_OTHERS = 64


class CopyRun:
    """Contents that a server has shown again since the last of its pages with a new one.

    A copied tree brings one content after another, however large it is; a server that answers any address with one
    page, or a few, brings these again and again.  So each copy that the run has not had yet starts the count again.
    Memory: ``MAX_CONTENTS`` contents; the one met longest ago makes room.
    """

    #: What is stored, see ``frontier.snapshot``.
    KEPT = ("rows",)

    def __init__(self) -> None:
        self._times: dict[int, int] = {}  # by content, the one met longest ago first

    @property
    def rows(self) -> list[list[int]]:
        """Content and times, as plain values."""
        return [[content, times] for content, times in self._times.items()]

    @rows.setter
    def rows(self, rows: list[list[int]]) -> None:
        self._times = {int(content): int(times) for content, times in rows}

    def add(self, content: int) -> int:
        """``content`` was shown once more; how often in a row of nothing but contents that the run has had.

        O(1), O(MAX_CONTENTS) for one that it has not had.
        """
        times = self._times.pop(content, None)
        if times is None:
            self._times = dict.fromkeys(list(self._times)[1 - MAX_CONTENTS :], 0)
        self._times[content] = times = (times or 0) + 1
        return times


class SharedPages:
    """How many pages of a server are the same in their place (path and query) on other servers that had them first.

    Only these count, as in Bharat and Broder (1999): servers that answer anything with one error page are not mirrors
    of each other.  Memory: ``MAX_OTHERS`` servers; the one with the fewest shared pages makes room.
    """

    #: What is stored, see ``frontier.snapshot``.
    KEPT = ("is_mirror", "rows")

    def __init__(self) -> None:
        self.is_mirror = False  # it was found to be one, and demoted
        self._pages: dict[str, int] = {}

    @property
    def rows(self) -> list[list[Any]]:
        """Server and pages, as plain values."""
        return [[server, pages] for server, pages in self._pages.items()]

    @rows.setter
    def rows(self, rows: list[list[Any]]) -> None:
        self._pages = {str(server): int(pages) for server, pages in rows}

    def add(self, first: str) -> None:
        """One more page is the same as in its place on the server ``first``. O(1), O(MAX_OTHERS) for a new server."""
        if first not in self._pages and len(self._pages) >= MAX_OTHERS:
            del self._pages[min(self._pages, key=self._pages.__getitem__)]
        self._pages[first] = self._pages.get(first, 0) + 1

    def count(self, first: str) -> int:
        """Pages that are the same on the server ``first``."""
        return self._pages.get(first, 0)


def is_circle(url: str, links: Iterable[str | None]) -> bool:
    """Whether the page at ``url`` stands where one of its own ``links`` leads to, seen from a directory above.

    Then its copies lead to ever longer paths: ``/a/`` links to ``/a/a/``.  O(length of the links).
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


class HasSharedPages(Protocol):
    """A server, as far as it is compared with others."""

    shared: SharedPages | None

    @property
    def key(self) -> str:
        """Its name."""
        ...

    @property
    def pages(self) -> int:
        """Pages whose content was looked at."""
        ...


T = TypeVar("T", bound=HasSharedPages)


def learn_shared(server: T, first: T) -> T | None:
    """A page of ``server`` is the same as the one in its place on ``first``, which had it first. O(1).

    Returns the one that this shows to be a mirror of the other, once: the one of more copies, ``server`` if they have
    equally many.
    """
    here, there = server.shared or SharedPages(), first.shared or SharedPages()
    server.shared = here
    here.add(first.key)
    copies, originals = here.count(first.key), there.count(server.key)
    shared = copies + originals
    if here.is_mirror or there.is_mirror or shared < MIN_SHARED:
        return None
    if shared < MIN_SHARE * min(server.pages, first.pages):
        return None
    mirror, pages = (server, here) if copies >= originals else (first, there)
    pages.is_mirror = True
    return mirror
