"""Protocols: what a worker requires of the process, and of keys with start URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.control import Spent


class Crawl(Protocol):
    """Implemented by the backend."""

    def finished(self) -> list[Entry]:
        """Entries of pages that are done since the last call; their links are in the frontier or the outbox."""

    def acknowledge(self, entry: Entry) -> None:
        """Delete an entry from the frontier's store."""

    def urls_in_progress(self) -> Iterable[str]:
        """URLs of requests handed out and not done."""

    def urls_waiting(self) -> Iterable[str]:
        """URLs of pages that the engine has finished, and that wait for requests kept in memory."""

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Queue URLs that other workers found, in steps of at most 0.1 s."""

    def release(self, keys: Sequence[str]) -> bool:
        """Let the servers ``keys`` get no further request; returns whether all their connections are closed."""

    def abandon(self, keys: Sequence[str]) -> None:
        """Close the connections to the servers ``keys`` at once; they get no further session."""

    def disconnect(self) -> None:
        """Close all connections at once; requests in progress return to the frontier."""

    def came(self, keys: Sequence[str], *, closed_at: Mapping[str, float], contacted: float) -> None:
        """Note the servers ``keys`` of a taken partition.

        ``contacted``: until when old owners may have started requests that their rows do not show.  ``closed_at``:
        when the connections of their open sessions are gone.  On the frontier's clock.
        """

    def served(self) -> Sequence[str]:
        """Keys of the servers in session."""

    def info(self) -> dict[str, Any]:
        """Counts for people; ``busy``: whether something is kept in memory only.

        ``only_failing``: whether all URLs that are left are of servers that fail and have never answered.
        """

    def report(self, counts: Mapping[str, float]) -> None:
        """Note counts of this worker by name, about once a second."""

    def share_limits(self, own: Spent, total: Spent, workers: int) -> None:
        """This worker has spent ``own`` in this run, ``workers`` together ``total`` in all runs."""

    def acted(self, mark: str) -> None:
        """Redis has the mark of the operator's last action (``orders``), reported by each beat. O(1)."""

    def stats(self) -> Mapping[str, float]:
        """Numeric stats of this process that can be summed over all workers. O(stats)."""

    def are_all_blocked(self) -> bool:
        """Whether the operator has blocked the servers of all URLs that are left, and no request is in progress. O(1).

        URLs of partitions that are being loaded are not among them yet.
        """

    def is_closing(self) -> bool:
        """Whether the crawl of this process ends."""

    def is_hungry(self) -> bool:
        """Whether so few URLs are queued that each one more matters. O(1)."""

    def wake(self) -> None:
        """Requests may have become possible, or impossible."""

    def fail(self, reason: str) -> None:
        """End the crawl of this process, which cannot continue."""


class StartUrlKey(Protocol):
    """A key with start URLs that others put into Redis; implemented in ``backends.start_urls``."""

    #: The worker that owns this partition moves them.
    partition: int

    @property
    def are_pending(self) -> bool:
        """Whether some are queued and still in their key: then the partition stays."""

    async def remove_stored(self) -> None:
        """Remove those that are queued: Redis has all there is. Raises what a call to Redis raises."""

    async def move(self) -> bool:
        """Move start URLs into the crawl; returns whether any wait. Raises what a call to Redis raises."""
