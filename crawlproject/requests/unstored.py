"""Requests that cannot be written to the store: the pages that they come from stay stored until they are done.

A request under way has a number, which its ``meta`` holds, and so do the requests made of it: copies (a redirect, a
retry) have it, and the requests that its callback yields are given it.  So it is known for each what page it comes
from.  A page is *done* when the engine is through with it and all requests that come from it and are not stored are
done.  Then a restart need not fetch it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from crawlproject.requests.meta import ORIGIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

    from crawlproject.frontier.entry import Entry


@dataclass(slots=True, eq=False)
class PageUnderWay:
    """A request that the engine has been given."""

    request: Request
    entry: Entry
    number: int
    #: Whether the engine is through with it.
    is_over: bool = False
    #: How many requests that come from it are neither stored nor done.
    waiting: int = 0

    @property
    def found_on(self) -> PageUnderWay | None:
        """The page that waits for this one, which is not stored itself."""
        payload = self.entry.payload
        return payload.found_on if isinstance(payload, Unstored) else None


@dataclass(slots=True, eq=False)
class Unstored:
    """The payload of an entry that is kept in memory."""

    #: The request, or a link's callback.
    value: Any
    #: The page that it comes from; None where that is not known: a start request, one made outside of callbacks.
    found_on: PageUnderWay | None
    #: Its key in the seen-set, which is not stored until it is done; None where it has none.
    key: int | None


@dataclass(slots=True)
class PagesUnderWay:
    """All of them, by number. ``done``: called with each page that is done, those that it was found on after it."""

    done: Callable[[PageUnderWay], None]
    _pages: dict[int, PageUnderWay] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def start(self, request: Request, entry: Entry) -> PageUnderWay:
        """``request`` is handed out. O(1)."""
        page = PageUnderWay(request, entry, next(self._numbers))
        request.meta[ORIGIN] = page.number
        self._pages[page.number] = page
        return page

    def forget(self, page: PageUnderWay) -> None:
        """It was not sent, or stays queued for the next run: the pages that wait for it go on waiting. O(1)."""
        del self._pages[page.number]

    def hold(self, value: Any, meta: dict[str, Any] | None, key: int | None) -> Unstored:
        """``value`` will be queued and is not stored; ``meta``: of its request, or of the page that it is found on."""
        found_on = self._pages.get((meta or {}).get(ORIGIN, 0))
        if found_on is not None:
            found_on.waiting += 1
        return Unstored(value, found_on, key)

    def over(self, page: PageUnderWay) -> None:
        """The engine is through with ``page``. O(pages that are done by it)."""
        page.is_over = True
        self._finish(page)

    def dropped(self, payload: Unstored) -> None:
        """What ``hold`` gave will not be handed out. O(pages that are done by it)."""
        if payload.found_on is not None:
            payload.found_on.waiting -= 1
            self._finish(payload.found_on)

    def _finish(self, page: PageUnderWay) -> None:
        following: PageUnderWay | None = page
        while following is not None and following.is_over and not following.waiting:
            del self._pages[following.number]
            self.done(following)
            following = following.found_on
            if following is not None:
                following.waiting -= 1

    def held(self) -> int:
        """How many stored pages the engine is through with, and wait. O(pages)."""
        return sum(page.is_over and not isinstance(page.entry.payload, Unstored) for page in self._pages.values())
