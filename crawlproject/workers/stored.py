"""A crawl as Redis holds it, for people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.storage.directory import StoreLabel
    from crawlproject.storage.urls import DiskUrlRows
    from crawlproject.workers.control import Record
    from crawlproject.workers.partitions import Partitions


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker that is not buried."""

    id: str
    #: Seconds until its lease ends; negative: since it has ended.
    lease: float
    #: What it says of itself: host, pid, started, pages, ...
    info: Mapping[str, Any]


@dataclass(slots=True)
class StoredCrawl:
    """A crawl as Redis holds it; each partition as of a moment of its own."""

    frontier: Frontier
    rows: DiskUrlRows
    label: StoreLabel
    partitions: Partitions
    #: Redis's clock when the reading began, seconds.
    now: float
    #: Fields of the crawl.
    meta: Mapping[str, str]
    workers: list[WorkerState]
    #: Partition -> its fields, and the messages in its inbox.
    records: dict[int, tuple[Record, int]] = field(default_factory=dict)
    urls_seen: int = 0

    @property
    def pages(self) -> int:
        """Pages that all workers have fetched; of those killed, up to their last sign of life."""
        return _number(self.meta.get("pages")) + sum(_number(worker.info.get("pages")) for worker in self.workers)

    def owner_of(self, server: str) -> tuple[int, str]:
        """The partition of the server with this key, and its owner's id; "": nobody."""
        partition = self.partitions.of(server)
        return partition, self.records[partition][0].owner


def _number(value: object) -> int:
    try:
        return int(str(value or 0))
    except ValueError:
        return 0
