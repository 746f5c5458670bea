"""A partition that this worker owns."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from crawlproject.workers.control import Commit


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
