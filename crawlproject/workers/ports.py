"""Protocols: what a worker's modules require of the process, of the local copy, and of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.blobs import Tables
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
    """The local copy of the owned partitions; implemented in ``local``."""

    def follow_clock(self, redis_time: float, age: float) -> None:
        """Store times on Redis's clock, which showed ``redis_time`` at most ``age`` seconds ago."""

    def clock_set(self, seconds: float) -> None:
        """Redis's clock was set forward, or back if negative: store the rests of servers by it."""

    def on_frontier_clock(self, redis_time: float) -> float:
        """A time of Redis's clock on the frontier's."""

    def partition_of_url(self, url: str) -> int:
        """The partition of a URL's server."""

    def partitions_of(self, urls: Iterable[str]) -> set[int]:
        """The partitions of the servers of ``urls``; URLs without one have none."""

    def number(self, key: str) -> int | None:
        """The number of a server by its key."""

    def numbers(self, keys: Iterable[str]) -> dict[int, list[int]]:
        """Partition -> numbers of those servers that belong to it, in order."""

    def keys_of(self, partition: int) -> list[str]:
        """Keys of the servers of ``partition``."""

    def rows(self, partition: int) -> int:
        """URLs of ``partition`` stored, as of the last ``commit``."""

    def server_count(self, partition: int) -> int:
        """Servers of ``partition``."""

    def arrivals(self) -> dict[str, int]:
        """Highest and lowest arrival number so far, for the next owner of a partition."""

    def state(self) -> bytes:
        """The state learned from all servers."""

    def learn(self, state: bytes) -> None:
        """Begin with what other workers learned. Raises ValueError for anything but the result of ``state``."""

    def commit(self) -> dict[int, Tables]:
        """Write all changes to the scratch store; returns them by partition. O(changes)."""

    def entries(self, tables: Tables) -> Iterator[Entry]:
        """The URLs that ``tables``, changes of a partition, add to it."""

    def scan(self, partition: int) -> Iterator[tuple[str, bytes, bytes]]:
        """Table, key and value of all rows of ``partition``, as they are committed when this is called."""

    def write(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None:
        """Write rows of a partition that is being loaded. O(rows)."""

    def restore(self, partition: int, extra: Mapping[str, Any]) -> Iterator[list[str]]:
        """Put the servers written by ``write`` into the frontier; yields the keys of those of each step.

        ``rows`` and ``server_count`` are right from the call on.
        """

    def close_partition(self, partition: int) -> None:
        """Number no further server of ``partition``; ``unload`` follows."""

    def unload(self, partition: int) -> Iterator[None]:
        """Drop a partition whose servers are held and have no session, in steps of some milliseconds."""


class Journal(Protocol):
    """The changes that Redis does not have yet; implemented in ``writer``."""

    #: Partitions of which the local copy still has rows: they cannot be taken again yet.
    dropped: dict[int, Part]

    def unsent_partitions(self) -> set[int]:
        """Partitions with changes, or with pages that are done and not acknowledged. O(such pages)."""

    async def send(self) -> None:
        """Make a cut and send it. Raises what a call to Redis raises."""

    def lose(self, part: Part) -> None:
        """Another worker owns ``part``: drop it, and send it what Redis does not have yet."""

    def drop(self, part: Part) -> None:
        """Forget ``part``, which has no connection open; ``unload`` then removes its rows. O(1)."""

    def give_away(self, part: Part) -> None:
        """``drop`` it after its release. O(its changes of the last seconds)."""

    async def unload(self) -> None:
        """Remove dropped partitions from the frontier and the local store, in steps."""


class StartUrlKey(Protocol):
    """A key with start URLs that others put into Redis; implemented in ``backends.start_urls``."""

    #: The worker that owns this partition moves them.
    partition: int

    @property
    def are_pending(self) -> bool:
        """Whether some are queued and still in their key: then the partition stays."""

    async def remove_stored(self) -> None:
        """Remove those that are queued: Redis has all there is. Raises what a call to Redis raises."""

    def ahead(self) -> Sequence[tuple[Any, ...]]:
        """Commands whose answers ``move`` needs."""

    async def move(self, answers: Sequence[Any] | None = None, *, at_once: bool = True) -> bool:
        """Move start URLs into the crawl; returns whether any wait. Raises what a call to Redis raises.

        ``answers``: to ``ahead``, if the commands were sent; ``at_once``: the rest may cost a round trip.
        """
