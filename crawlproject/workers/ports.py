"""Protocols: what a worker's modules require of the process, of the local copy, and of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.control import Spent
    from crawlproject.workers.part import Part


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


class Copy(Protocol):
    """The local copy of the owned partitions: ``local.LocalCopy``, which says what each method does."""

    def follow_clock(self, redis_time: float, age: float) -> None: ...
    def clock_set(self, seconds: float) -> None: ...
    def on_frontier_clock(self, redis_time: float) -> float: ...
    def partition_of_url(self, url: str) -> int: ...
    def partitions_of(self, urls: Iterable[str]) -> set[int]: ...
    def number(self, key: str) -> int | None: ...
    def numbers(self, keys: Iterable[str]) -> dict[int, list[int]]: ...
    def keys_of(self, partition: int) -> list[str]: ...
    def rows(self, partition: int) -> int: ...
    def server_count(self, partition: int) -> int: ...
    def arrivals(self) -> dict[str, int]: ...
    def state(self) -> bytes: ...
    def learn(self, state: bytes) -> None: ...
    def commit(self) -> dict[int, Tables]: ...
    def entries(self, tables: Tables) -> Iterator[Entry]: ...
    def scan(self, partition: int) -> Iterator[tuple[str, bytes, bytes]]: ...
    def write(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None: ...
    def restore(self, partition: int, extra: Mapping[str, Any]) -> Iterator[list[str]]: ...
    def close_partition(self, partition: int) -> None: ...
    def unload(self, partition: int) -> Iterator[None]: ...


class Journal(Protocol):
    """The changes that Redis does not have yet: ``writer.Writer``, which says what each method does."""

    #: Partitions of which the local copy still has rows: they cannot be taken again yet.
    dropped: dict[int, Part]

    def unsent_partitions(self) -> set[int]: ...
    async def send(self) -> None: ...
    def lose(self, part: Part) -> None: ...
    def give_away(self, part: Part) -> None: ...
    async def unload(self) -> None: ...


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
