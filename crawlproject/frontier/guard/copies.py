"""Detects servers that repeat their own pages in a circle, and servers that mirror another one, from copies of pages.

Both records are stored with their server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: Copies of one content since a server last showed one not met in its run: from then on they may be a circle.
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
    these again and again.  So a copy that is new in the run starts the count again.
    Memory: ``MAX_CONTENTS`` contents; the least recent one is dropped.
    """

    def __init__(self) -> None:
        self._times: dict[int, int] = {}  # by content, the least recent one first

    def to_state(self) -> dict[str, Any]:
        """Content and times, as plain values."""
        return {"times": [[content, times] for content, times in self._times.items()]}

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """What ``to_state`` gave; raises ValueError for anything else."""
        run = cls()
        run._times = {int(content): int(times) for content, times in state.rows("times", 2)}
        return run

    def add(self, content: int) -> int:
        """Count a copy of ``content``; returns how often it came since the last copy that was new in the run.

        O(1), O(MAX_CONTENTS) for one that is new in the run.
        """
        times = self._times.pop(content, None)
        if times is None:
            self._times = dict.fromkeys(list(self._times)[1 - MAX_CONTENTS :], 0)
        self._times[content] = times = (times or 0) + 1
        return times


class SharedPages:
    """For each other server: how many pages are equal to its page at the same path and query, which was fetched first.

    Only these count, as in Bharat and Broder (1999): servers that answer anything with one error page are not mirrors.
    Memory: ``MAX_OTHERS`` servers; the one with the fewest shared pages is dropped.
    """

    def __init__(self) -> None:
        self.is_mirror = False  # it was found to be a mirror, and demoted
        self._pages: dict[str, int] = {}

    def to_state(self) -> dict[str, Any]:
        """As plain values."""
        return {"is_mirror": self.is_mirror, "pages": self._pages}

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """What ``to_state`` gave; raises ValueError for anything else."""
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

    Then its copies lead to ever longer paths.  O(length of the links).
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
