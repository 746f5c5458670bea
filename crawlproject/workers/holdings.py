"""State and options that the modules of a worker share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlproject.workers.control import Control
    from crawlproject.workers.outbox import Outbox
    from crawlproject.workers.part import Part
    from crawlproject.workers.ports import Copy, Crawl


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
    local: Copy
    outbox: Outbox
    crawl: Crawl
    options: WorkerOptions
    parts: dict[int, Part] = field(default_factory=dict)
