"""The protocol between scheduler and backend; ``tests/contract/test_backends.py`` tests every backend against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response

    from crawlproject.frontier.entry import Entry


class Backend(Protocol):
    """Stores frontier and seen-set, and converts requests for the store.

    Life of an entry: ``pack`` (or ``pack_callback`` and ``hold``), queued by the frontier, ``unpack``, ``handed_out``;
    then ``given_back`` and queued again, or finished by the engine.  An entry that will not be fetched is ``dropped``.
    A method raises only the errors in its docstring.
    """

    def pack(self, request: Request) -> Any:
        """The payload for the entry of ``request``: everything but its URL and priority. O(size)."""

    def pack_callback(self, callback: Callable[..., Any] | None) -> Any:
        """The payload of links with this callback."""

    def hold(self, entries: list[Entry], response: Response | None) -> list[Entry]:
        """Prepare ``entries`` of links or sitemaps from the page ``response`` for the queue."""

    def not_queued(self, entry: Entry, request: Request) -> Entry:
        """Prepare the ``entry`` of a ``request`` that the frontier rejected and that will fail."""

    def unpack(self, entry: Entry) -> Request:
        """The request of a scheduled entry. Raises ValueError if the payload is invalid."""

    def is_link(self, entry: Entry) -> bool:
        """Whether the entry is from ``Links``, so that no errback of the spider expects its failure."""

    def is_refetched(self, entry: Entry) -> bool:
        """Whether an earlier run fetched the page, and a recrawl queued it again. O(1)."""

    def dropped(self, entry: Entry) -> None:
        """Record that the ``entry`` of a link left the queue and will not be fetched."""

    def name_of(self, payload: Any) -> str:
        """Where an entry with this payload is kept: the label in ``scheduler/enqueued/…``."""

    def handed_out(self, request: Request, entry: Entry) -> None:
        """Record that the engine received ``request``; its entry is acknowledged when the engine has finished it."""

    def given_back(self, request: Request) -> None:
        """Record that ``request`` was returned unsent and its entry queued again."""

    def close(self) -> None:
        """Release all resources at the end of the crawl."""
