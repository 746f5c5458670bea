"""The partitions that this worker owns, and what the modules of a worker share."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.control import Commit, Control, Spent
    from crawlproject.workers.exchange import Outbox
    from crawlproject.workers.local import LocalCopy


#: Seconds for which what Redis has confirmed is kept: it may lose the last of it when it is started again.
KEPT = 30.0
#: Bytes of a journal that need no snapshot, however small the last one is: a snapshot costs four round trips.
SMALL_JOURNAL = 256 << 10


class PartState(StrEnum):
    """loading -> own -> leaving; a partition can be lost in each state."""

    LOADING = "loading"
    OWN = "own"
    LEAVING = "leaving"


@dataclass(slots=True, eq=False)
class Part:
    """Its place in Redis, and what is not there yet."""

    number: int
    epoch: int
    #: Number of the last commit made; it may not be confirmed yet.
    seq: int
    #: Name of the snapshot.
    gen: str
    state: PartState = PartState.LOADING
    #: Whether all its rows are in the local copy: commits may follow.
    is_read: bool = False
    #: The task that loads it.
    loading: asyncio.Task[None] | None = None
    #: When it began to leave (``boot_time``).
    leaving_at: float = 0.0
    #: Id of the last message read from the inbox.
    last: bytes = b""
    #: Ids of messages that were applied since the last cut.
    applied: list[bytes] = field(default_factory=list)
    #: Whether Redis still has to keep what former owners left, and the servers that these had in session.
    is_heir: bool = False
    inherited: tuple[int, ...] = ()
    #: Numbers of the servers in session at the last cut.
    open: list[int] = field(default_factory=list)
    #: URLs stored, as the last cut says.
    stored: int = -1
    #: Bytes of the journal and of the snapshot.
    journal: int = 0
    snapshot: int = 0
    #: URLs stored that this run will not fetch: their server is full, or they cannot be read.
    unwanted: int = 0
    #: Snapshots begun; part of their names: those of two attempts must not mix.
    attempts: int = 0
    #: Number of the last commit that Redis has confirmed, by itself or in a snapshot; 0 if there is none.
    known: int = 0
    #: Number of the last commit that is no longer kept; 0 if there is none.
    forgotten: int = 0
    #: Confirmed commits, with their times.
    kept: deque[tuple[float, Commit]] = field(default_factory=deque)

    def confirmed(self, commit: Commit, now: float) -> None:
        """Redis has ``commit``; no effect if that is known already."""
        if self.kept and self.kept[-1][1].seq >= commit.seq:
            return
        if commit.settles:
            self.is_heir, self.inherited = False, ()
        self.journal += len(commit.blob)
        self.known = max(self.known, commit.seq)
        self.kept.append((now, commit))

    def missing(self, seq: int) -> list[tuple[float, Commit]] | None:
        """The commits after ``seq`` that were confirmed, with their times; None if not all of them are kept."""
        commits = [each for each in self.kept if each[1].seq > seq]
        if [commit.seq for _, commit in commits] == list(range(seq + 1, self.known + 1)):
            return commits
        return None

    def forget(self, before: float) -> None:
        """Keep no commit that was confirmed earlier. O(such commits)."""
        while self.kept and self.kept[0][0] < before:
            self.forgotten = self.kept.popleft()[1].seq

    @property
    def needs_snapshot(self) -> bool:
        """Whether the journal has become long."""
        return self.journal > max(SMALL_JOURNAL, self.snapshot / 2)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Times in seconds."""

    #: Id of the crawl.
    crawl: str
    partitions: int
    #: Seconds between two ticks.
    interval: float
    lease: float
    #: How long a connection of a worker that disappeared may last.
    download_timeout: float
    #: Wait for more start URLs instead of ending.
    keep_running: bool


@dataclass(frozen=True, slots=True)
class Holdings:
    """Redis, the local copy, and the partitions that this worker owns, by number."""

    control: Control
    local: LocalCopy
    outbox: Outbox
    crawl: Crawl
    options: WorkerOptions
    parts: dict[int, Part] = field(default_factory=dict)


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
