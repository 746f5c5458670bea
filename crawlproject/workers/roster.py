"""Reads how the workers of a crawl describe themselves, without joining the crawl."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlproject.workers.control import texts, worker_info
from crawlproject.workers.orders import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.workers.control import Control
    from crawlproject.workers.keys import Keys

#: Figures in a worker's description of itself, and the type of each.
FIGURES = (
    ("host", str),
    ("pid", int),
    ("pages", int),
    ("urls", int),
    ("servers", int),
    ("partitions", int),
    ("sessions", int),
    ("sent", int),
    ("received", int),
    ("lag", float),
    ("actions", int),
    ("console", int),
    ("elapsed", float),
    ("queued", int),
    ("seen", int),
    ("blocked", int),
    ("bytes", int),
    ("items", int),
    ("failed", int),
    ("session_limit", int),
    ("quality_gathered", float),
    ("quality_queued", float),
    ("pages_per_second", float),
    ("held_back", str),
    *((f"servers/{state}", int) for state in ("known", "ready", "resting", "leased", "given_up")),
)

#: Values of a tally that are read, and characters of each.
MAX_VALUES, MAX_VALUE = 100, 100

#: Number of the operator's last actions that are shown.
ACTIONS = 20


@dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker that is not buried."""

    id: str
    #: Seconds until its lease ends; negative: since it has ended.
    lease: float
    #: Its description of itself: host, pid, started, pages, ...
    info: Mapping[str, Any]


def worker_facts(worker: WorkerState) -> dict[str, Any]:
    """A worker's description of itself (``FIGURES``); None for a value of another type."""
    figures = {key: _checked(worker.info.get(key), kind) for key, kind in FIGURES}
    started = _checked(worker.info.get("started"), float)
    since = None if started is None else datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds")
    return {"worker": worker.id, **figures, "since": since, "lease": round(worker.lease, 1)}


def worker_tallies(worker: WorkerState) -> dict[str, dict[str, int]]:
    """What became of a worker's URLs, in parts (``Fates.tallies``, and ``ends``); without what is damaged."""
    given = worker.info.get("tallies")
    return {
        str(name)[:MAX_VALUE]: {
            str(value)[:MAX_VALUE]: count
            for value, count in islice(tally.items(), MAX_VALUES)
            if _checked(count, int) is not None
        }
        for name, tally in islice(given.items() if isinstance(given, dict) else (), 10)
        if isinstance(tally, dict)
    }


def _checked(value: Any, kind: type) -> Any:
    if kind is str:
        return value[:100] if isinstance(value, str) and value.isprintable() else None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e11
    return kind(value) if is_number else None


async def read_workers(control: Control, keys: Keys) -> dict[str, Any]:
    """The state of the crawl, the pages of all workers, and ``worker_facts`` of those not buried; the operator's last
    actions, the latest first, with the number of workers that have applied each.

    O(workers): no partition is read, nothing is written.  Raises what a call to Redis raises, and ValueError for
    damaged data.
    """
    hashes = (("HGETALL", key) for key in (keys.meta, keys.workers, keys.info))
    commands = (("TIME",), ("LRANGE", keys.actions, -ACTIONS, -1), *hashes)
    (seconds, micros), rows, *found = await control.commands(commands)
    meta, leases, infos = map(texts, found)
    states = workers_of(leases, infos, int(seconds) + int(micros) / 1e6)
    workers = [worker_facts(each) for each in states]
    numbers = [worker["actions"] or 0 for worker in workers]
    actions = [action for action in map(Action.read, reversed(rows)) if action is not None]
    return {
        "state": meta.get("state", ""),
        "pages": number_of(meta.get("pages")),
        "own": control.id,
        "workers": workers,
        "tallies": [worker_tallies(each) for each in states],
        "actions": [
            {
                "number": action.number,
                "at": action.at,
                "by": action.by,
                "changes": action.changes,
                "applied": sum(number >= action.number for number in numbers),
            }
            for action in actions
        ],
    }


def workers_of(leases: Mapping[str, str], infos: Mapping[str, str], now: float) -> list[WorkerState]:
    """From the ends of their leases (ms) and their descriptions of themselves, by id."""
    return [
        WorkerState(name, int(until) / 1000 - now, worker_info(infos.get(name, ""))) for name, until in leases.items()
    ]


def number_of(value: object) -> int:
    """A count that another process has written; 0 for anything else."""
    try:
        return int(str(value or 0))
    except ValueError:
        return 0
