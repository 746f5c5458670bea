"""What the scheduler asks of a backend. ``tests/contract/test_backends.py`` holds it for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from crawlproject.frontier.entry import Entry


class Backend(Protocol):
    """Where frontier and seen-set live, and how requests are kept there.

    Life of an entry: ``pack`` (or ``pack_callback`` and ``hold``), queued by the frontier, ``unpack``, ``handed_out``;
    then ``given_back`` and queued again, or the engine is through with it.  One that will not be fetched is
    ``dropped``.  Whatever is not said to raise never does.
    """

    def pack(self, request: Request) -> Any:
        """What the frontier carries of ``request`` besides its URL: the payload of its entry. O(size)."""

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """The payload of links with this callback."""

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        """``entries`` of links, or of sitemaps, of the page ``response``, as they are to be queued."""

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        """``entry`` of ``request``, which the frontier does not take and which fails in its turn."""

    def unpack(self, entry: Entry) -> Request:
        """The request of an entry whose turn has come. Raises ValueError where it cannot be read."""

    def is_link(self, entry: Entry) -> bool:
        """Whether it came in ``Links``, so that nobody waits to hear of its failure."""

    def is_refetched(self, entry: Entry) -> bool:
        """Whether its page was fetched by an earlier run, and is to be fetched again. O(1)."""

    def dropped(self, entry: Entry) -> None:
        """``entry`` of a link will not be fetched, and no longer waits."""

    def name_of(self, payload: Any) -> str:
        """Where something with this payload waits: the label of ``scheduler/enqueued/…``."""

    def handed_out(self, request: Request, entry: Entry) -> None:
        """The engine has been given ``request``: its entry is dealt with when the engine is through with it."""

    def given_back(self, request: Request) -> None:
        """``request``, which the engine has been given, was not sent: its entry is queued again."""

    def close(self) -> None:
        """The crawl ends."""
