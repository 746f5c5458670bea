"""The file ``series.jsonl``: samples of a crawl's figures over all its runs, one JSON array a line.

A line with an object begins a run: version, time on the wall clock, names of the columns.  Samples carry the seconds
since their run began on a clock that never jumps.  When there are more than ``MAX_SAMPLES``, every second one is
dropped and samples are taken half as often: the file stays below a megabyte, however long the crawl is.  Of more than
``MAX_RUNS`` runs, the oldest are dropped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard

from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "series.jsonl"

VERSION = 1

#: Samples kept of all runs, each about 150 bytes.
MAX_SAMPLES = 4000

#: Runs kept: each has two samples at least.
MAX_RUNS = 500

#: Seconds between two samples, until there are too many.
INTERVAL = 1.0

#: Longest interval that is believed: it is reached after three months.
MAX_INTERVAL = 2.0**12

#: Longest line that is read: a longer one is damage.
MAX_LINE = 10_000

#: Names of the columns of a sample; times in seconds, counts of the run.  "handed_over" is 1 when a worker has left:
#: its servers and their URLs are other workers', or wait in Redis.
COLUMNS = (
    "elapsed",
    "pages",
    "relevant",
    "bytes",
    "requests",
    "failures",
    "sessions",
    "session_limit",
    "ready",
    "resting",
    "leased",
    "given_up",
    "servers",
    "queued",
    "blocked",
    "seen",
    "gathered",
    "waiting",
    "cpu",
    "lag",
    "memory",
    "handed_over",
    "held_back",
)

#: Columns that count within a run: over several runs they are added up.
COUNTS = ("elapsed", "pages", "relevant", "bytes", "requests", "failures")

#: First word of what holds a crawl back, or "the" and the next word -> its number in the last column.
#: Earlier versions wrote "the" alone.
HELD_BACK = (
    *("", "connections", "politeness", "CPU", "DNS", "few", "one", "nothing", "the", "failures"),
    *("the crawl", "the store", "the process", "the operator", "the event", "the network"),
)

#: Columns with sums of qualities, each at most 3.4e38, and the limit of what is read there.
QUALITIES, MAX_SUM = frozenset(("gathered", "waiting")), 1e60

Sample = dict[str, float]


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
                interval = found.get("interval", 0.0)
                series.interval = min(MAX_INTERVAL, max(INTERVAL, float(interval))) if is_number(interval) else INTERVAL
                series.runs.append(Run(float(found["at"])))
            elif isinstance(found, list) and len(found) == len(columns) and all(map(_is_of, columns, found)):
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
    """Whether a value from a file is a number that can be computed with: JSON has no limit."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e18


def _is_of(column: str, value: object) -> bool:
    return is_number(value) or (column in QUALITIES and isinstance(value, float) and abs(value) < MAX_SUM)


def number_of(value: object) -> float:
    """A value from a file; 0 if it is no such number."""
    return value if is_number(value) else 0


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
