"""What to run, how large, and how much of it at once."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Size:
    """A web and the connections of its crawl."""

    servers: int
    pages: int
    sessions: int


@dataclass(frozen=True)
class Plan:
    """The options of the command line."""

    simulated: Size = field(default_factory=lambda: Size(500, 30_000, 64))
    #: Of real crawls; None: none are made.
    real: Size | None = None
    #: The first seed, and how many synthetic webs.
    seed: int = 1
    webs: int = 1
    #: Connections at a time of figure 4.
    connections: tuple[int, ...] = (8, 16, 32, 64, 96, 128)
    #: How long a real crawl of figures 4 and 5 runs.
    seconds: int = 15
    #: Processes for simulated crawls; real ones are made one by one.
    jobs: int = 1


def in_parallel(function: Callable[[Task], Done], tasks: Sequence[Task], jobs: int) -> list[Done]:
    """``function`` of each task, in the tasks' order, in ``jobs`` processes."""
    if jobs == 1:
        return [function(task) for task in tasks]
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(function, tasks))
