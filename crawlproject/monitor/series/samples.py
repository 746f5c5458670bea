"""The files of which a report is made.

``series.jsonl`` has samples of a crawl's figures over all its runs, one JSON array a line.

A line with an object begins a run: version, time on the wall clock, names of the columns.  Samples carry the seconds
since their run began on a clock that never jumps.  When there are more than ``MAX_SAMPLES``, every second one is
dropped and samples are taken half as often: the file stays below a megabyte, however long the crawl is.  Of more than
``MAX_RUNS`` runs, the oldest are dropped.  ``snapshot.json`` is replaced as a whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE_NAME = "series.jsonl"

VERSION = 1

#: Samples kept of all runs, each about 150 bytes.
MAX_SAMPLES = 4000

#: Runs kept: each has two samples at least.
MAX_RUNS = 500

#: Seconds between two samples, until there are too many.
INTERVAL = 1.0

#: Longest line that is read: a longer one is damage.
MAX_LINE = 10_000

#: Names of the columns of a sample: those of ``Figures.flat``, in "held_back" the place of the reason in
#: ``KINDS``, in "quality_queued" -1 for an unknown one; times in seconds, counts of the run.
COLUMNS = (
    *("elapsed", "pages", "relevant", "bytes", "requests", "failed", "sessions", "session_limit"),
    *("servers/ready", "servers/resting", "servers/leased", "servers/given_up", "servers/known"),
    *("queued", "blocked", "seen", "quality_gathered", "quality_queued", "cpu", "lag", "memory", "held_back"),
)

#: Columns that count within a run: over several runs they are added up.
COUNTS = ("elapsed", "pages", "relevant", "bytes", "requests", "failed")

#: What may hold a crawl back (``Figures.held_kind``) -> in words.
KINDS = {
    "": "unknown",
    "connections": "all connections in use",
    "politeness": "politeness: servers rest",
    "CPU": "the process: its CPU is busy",
    "DNS": "DNS look-ups",
    "few": "few servers have URLs",
    "one": "one server left",
    "nothing": "nothing queued",
    "failures": "servers that fail are tried again",
    "addresses": "servers at one IP address have as many sessions as it may have",
    "ending": "the crawl was ending",
    "store": "the store could not be reached",
    "process": "the process could not keep up",
    "operator": "the operator had paused the crawl, or blocked all servers with URLs",
    "loop": "the event loop was blocked, or the machine busy",
    "network": "this machine's network or its name servers did not work",
}

Sample = dict[str, float]

#: The file with servers, stats and settings of the last run, its version, and the largest one that is read.
SNAPSHOT_NAME, SNAPSHOT_VERSION, MAX_SNAPSHOT = "snapshot.json", 3, 8_000_000


@dataclass
class Run:
    """A run of a crawl: it began ``at`` seconds after the epoch."""

    at: float
    samples: list[Sample] = field(default_factory=list)


@dataclass
class Series:
    """All runs; ``interval``: seconds between two samples; ``damaged``: lines that cannot be read."""

    runs: list[Run] = field(default_factory=list)
    interval: float = INTERVAL
    damaged: int = 0

    def __len__(self) -> int:
        return sum(len(run.samples) for run in self.runs)

    def thin(self) -> None:
        """Drop every second sample, but not the last of a run."""
        for run in self.runs:
            del run.samples[1:-1:2]
        self.interval *= 2

    def lines(self) -> Iterator[str]:
        for run in self.runs:
            yield head(run.at, self.interval)
            yield from map(row, run.samples)


def head(at: float, interval: float) -> str:
    """The line that begins a run."""
    return f"{json.dumps({'version': VERSION, 'at': round(at, 1), 'interval': interval, 'columns': COLUMNS})}\n"


def row(sample: Sample) -> str:
    numbers = [sample.get(name, 0) for name in COLUMNS]
    return json.dumps([round(each, 2) if isinstance(each, float) else each for each in numbers]) + "\n"


def read_series(path: Path) -> Series:
    """The series in ``path``; empty if there is no file. Damaged lines are counted and skipped.

    Raises OSError, ValueError for a version that is not known.
    """
    series = Series()
    columns: tuple[str, ...] = COLUMNS
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return series
    with file:
        while line := file.readline(MAX_LINE):
            found = _parsed(line)
            if isinstance(found, dict) and is_number(found.get("at")):
                if found.get("version") != VERSION:
                    raise ValueError(f"{path}: series of version {found.get('version')!r:.20}, not {VERSION}")
                names = found.get("columns")
                columns = tuple(map(str, names)) if isinstance(names, list) else COLUMNS
                interval = found.get("interval")
                series.interval = max(INTERVAL, interval) if is_number(interval) else INTERVAL
                series.runs.append(Run(float(found["at"])))
            elif isinstance(found, list) and len(found) == len(columns) and all(map(is_number, found)):
                if not series.runs:
                    series.runs.append(Run(0.0))
                series.runs[-1].samples.append(dict.fromkeys(COLUMNS, 0.0) | dict(zip(columns, found, strict=True)))
            else:
                series.damaged += 1
    return series


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value from a file is a number that can be computed with: JSON has no limit, sums of qualities 1e46."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e60


class SeriesWriter:
    """Appends samples to the file of a crawl that may have had earlier runs."""

    def __init__(self, path: Path, at: float) -> None:
        """Raises OSError, ValueError as ``read_series``."""
        self._path = path
        self._series = read_series(path)
        self.damaged = self._series.damaged
        del self._series.runs[: 1 - MAX_RUNS]
        while len(self._series) > MAX_SAMPLES // 2:
            self._series.thin()
        self._run = Run(at)
        self._series.runs.append(self._run)
        self._rewrite()  # repairs a line torn by a crash, too

    @property
    def interval(self) -> float:
        """Seconds between two samples."""
        return self._series.interval

    def add(self, sample: Sample) -> None:
        """Append a sample; one of ``MAX_SAMPLES / 2`` rewrites the file. Raises OSError."""
        self._run.samples.append(sample)
        if len(self._series) > MAX_SAMPLES:
            self._series.thin()
            self._rewrite()
            return
        with self._path.open("a", encoding="ascii") as file:
            file.write(row(sample))

    def _rewrite(self) -> None:
        replace_file(self._path, self._series.lines())  # the only copy of what earlier runs measured


def write_snapshot(path: Path, snapshot: Mapping[str, Any]) -> None:
    """Replace the file in one step. Raises OSError."""
    replace_file(path, json.dumps(snapshot, separators=(",", ":"), default=str), is_durable=False)  # for reports only


def read_snapshot(path: Path) -> dict[str, Any]:
    """Raises OSError, ValueError for a damaged file or one of another version."""
    if path.stat().st_size > MAX_SNAPSHOT:
        raise ValueError(f"{path}: damaged: more than {MAX_SNAPSHOT} bytes")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: damaged: {error!s:.100}") from error
    if not isinstance(found, dict) or found.get("version") != SNAPSHOT_VERSION:
        raise ValueError(f"{path}: damaged, or of a version that is not known")
    return found
