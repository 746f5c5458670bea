"""What a worker asks of the process that it runs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.server import Server


class Crawl(Protocol):
    """Implemented by the backend."""

    def finished(self) -> list[Entry]:
        """Entries of pages that are done since the last call; their links are in the frontier or the outbox."""

    def acknowledge(self, entry: Entry) -> None:
        """Delete an entry from the frontier's store."""

    def urls_in_progress(self) -> Iterable[str]:
        """URLs of requests handed out and not done."""

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Queue URLs that other workers found, in steps of at most 0.1 s."""

    def release(self, keys: Sequence[str]) -> bool:
        """Let the servers ``keys`` get no further request; returns whether none has a connection any more."""

    def abandon(self, keys: Sequence[str]) -> None:
        """Close the connections to the servers ``keys`` at once."""

    def came(self, servers: Sequence[Server], *, closed_at: Mapping[str, float]) -> None:
        """Note ``servers`` of a taken partition; ``closed_at``: when the connections of their old owner are gone."""

    def served(self) -> Sequence[Server]:
        """The servers in session."""

    def info(self) -> dict[str, Any]:
        """Counts for people, and ``busy``: whether something is kept in memory only."""

    def is_closing(self) -> bool:
        """Whether the crawl of this process ends."""

    def wake(self) -> None:
        """Requests may have become possible, or impossible."""

    def fail(self, reason: str) -> None:
        """End the crawl of this process: it cannot go on."""
