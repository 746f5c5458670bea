"""What the frontier asks of a store that outlives the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.frontier.queues.protocols import ServerUrls
    from crawlproject.frontier.server import Server


class FrontierStore(Protocol):
    """Where a frontier outlives the process. Implemented in ``storage``."""

    def open_queue(self, key: str) -> ServerUrls:
        """An empty queue for the server ``key``, which has not been met before."""
        ...

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """The quality of these URLs, by server and path, is about to be raised where they are queued."""
        ...

    def changed(self, server: Server) -> None:
        """More of ``server`` than its URLs has changed. O(1)."""
        ...
