"""Requests that cannot be stored: the pages that yielded them stay in the store until these requests are done.

Each request in progress has a number in its ``meta``.  Its copies (a redirect, a retry) inherit the number, and
requests from its callback receive it, so the page that yielded a request is known.  A page is *done* when the engine
has finished it and all its unstored requests are done.  Then a restart need not fetch it again.
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
    """A request that the engine received."""

    request: Request
    entry: Entry
    number: int
    #: Whether the engine has finished it.
    is_over: bool = False
    #: Number of requests from this page that are neither stored nor done.
    waiting: int = 0

    @property
    def found_on(self) -> PageUnderWay | None:
        """The page that waits for this one; None if this one is stored."""
        payload = self.entry.payload
        return payload.found_on if isinstance(payload, Unstored) else None


@dataclass(slots=True, eq=False)
class Unstored:
    """The payload of an entry kept in memory."""

    #: The request, or the callback of a link.
    value: Any
    #: The page that yielded it; None for a start request or one made outside of callbacks.
    found_on: PageUnderWay | None
    #: Its key in the seen-set, stored only when it is done; None if it has none.
    key: int | None


@dataclass(slots=True)
class PagesUnderWay:
    """The pages in progress, by number. ``done`` is called for each page that is done, parents last."""

    done: Callable[[PageUnderWay], None]
    _pages: dict[int, PageUnderWay] = field(default_factory=dict)
    _numbers: Any = field(default_factory=lambda: count(1))

    def start(self, request: Request, entry: Entry) -> PageUnderWay:
        """Register ``request`` at the hand-out. O(1)."""
        page = PageUnderWay(request, entry, next(self._numbers))
        request.meta[ORIGIN] = page.number
        self._pages[page.number] = page
        return page

    def forget(self, page: PageUnderWay) -> None:
        """Remove a page that was not sent or stays queued for the next run; its parents keep waiting. O(1)."""
        del self._pages[page.number]

    def hold(self, value: Any, meta: dict[str, Any] | None, key: int | None) -> Unstored:
        """The payload of ``value``, which cannot be stored; ``meta``: of its request, or of the page with the link."""
        found_on = self._pages.get((meta or {}).get(ORIGIN, 0))
        if found_on is not None:
            found_on.waiting += 1
        return Unstored(value, found_on, key)

    def over(self, page: PageUnderWay) -> None:
        """Record that the engine finished ``page``. O(pages done as a result)."""
        page.is_over = True
        self._finish(page)

    def dropped(self, payload: Unstored) -> None:
        """Record that a payload from ``hold`` will not be handed out. O(pages done as a result)."""
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

    def waiting(self) -> list[str]:
        """URLs of the stored pages that the engine finished and that wait for unstored requests. O(pages)."""
        over = (page.entry for page in self._pages.values() if page.is_over)
        return [entry.url for entry in over if not isinstance(entry.payload, Unstored)]
