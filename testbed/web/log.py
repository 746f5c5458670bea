"""The log of the emulated web: one record per request and per opened or closed connection.

All times are `time.monotonic()` of the server's process, in seconds. A request's arrival is recorded when the server
has read its request line, its end just before the last of its response is passed to the kernel. Both are inside the
interval measured by the client, so that a polite client never appears to violate politeness: gaps in the log are at
least as long as the client's waits, durations at most as long as the client's fetches. (The drawback: a lagging server
misses some violations.)

A file is tab-separated: a comment line with the spec and port in JSON, a line of column names, a line per record.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .spec import WebSpec


class Record(NamedTuple):
    """One line of the log; the fields are its columns."""

    kind: str
    """'open', 'request' or 'close'."""
    server: str
    """Address of the server."""
    connection: int
    """Number of the connection, unique over all servers."""
    number: int
    """Of a request: its number on the connection. Of a close: the connection's number of requests."""
    arrival: float
    """Of a request: when its request line was complete. Of an open or close: when it happened."""
    end: float
    """Of a request: when the last byte of its response was written. Otherwise the same as arrival."""
    status: int
    """HTTP status; 0 if no response was sent, and for open and close."""
    size: int
    """Bytes written, headers included."""
    target: str
    """Of a request: its target as sent. Of an open: the client's address and port, `127.0.0.1:40000`."""
    page: str
    """Path of its page, without session id; empty for robots.txt, traps and unknown paths."""
    note: str
    """Comma-separated. Of a request: robots, trap, unknown, disallowed (fetched in spite of robots.txt), throttled
    (429), retry-after (sent before Retry-After allows), aborted (the connection ended first), method, malformed.
    Of a close: who closed: client, limit (announced), silent (limit, not announced), asked, idle, stop."""


class AccessLog:
    """Collects records in memory (the newest `keep`; None: all), and in a file if it has a path."""

    def __init__(self, path: str | Path | None = None, keep: int | None = None) -> None:
        self.records: deque[Record] = deque(maxlen=keep)
        self._path = None if path is None else Path(path)
        self._file: TextIO | None = None

    def open(self, spec: WebSpec, port: int) -> None:
        """Create the file, replacing an older one; no effect if the log has no path."""
        if self._path is not None:
            self._file = self._path.open("w", encoding="latin-1", newline="\n")
            described = json.dumps({"spec": json.loads(spec.to_json()), "port": port})
            self._file.write(f"# {described}\n" + "\t".join(Record._fields) + "\n")
            self._file.flush()

    def add(self, record: Record) -> None:
        """Append a record. O(1)."""
        self.records.append(record)
        if self._file is not None:
            self._file.write(format_record(record))

    def flush(self) -> None:
        """Pass the records written so far to the kernel."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file; the records in memory stay."""
        if self._file is not None:
            self._file.close()
            self._file = None


def format_record(record: Record) -> str:
    """A record as a line of the file; times to the microsecond."""
    kind, server, connection, number, arrival, end, status, size, target, page, note = record
    times = f"{arrival:.6f}\t{end:.6f}"
    return f"{kind}\t{server}\t{connection}\t{number}\t{times}\t{status}\t{size}\t{target}\t{page}\t{note}\n"


def parse_record(line: str) -> Record:
    """The record in a line of the file. Raises `ValueError` for anything else."""
    columns = line.rstrip("\n").split("\t")
    if len(columns) != len(Record._fields):
        raise ValueError(f"not a record of an access log: {line[:80]!r}")
    kind, server, connection, number, arrival, end, status, size, target, page, note = columns
    connected = kind, server, int(connection), int(number)
    return Record(*connected, float(arrival), float(end), int(status), int(size), target, page, note)


def read_log(path: str | Path) -> list[Record]:
    """All complete records of a log file, in the order written; ignores a line cut off by a killed server."""
    with Path(path).open(encoding="latin-1", newline="\n") as file:
        if not file.readline().startswith("# {"):
            raise ValueError(f"{path}: not a log of an emulated web")
        file.readline()
        return [parse_record(line) for line in file if line.endswith("\n")]


class LogTail:
    """Reads what has been added to a log file since the last time."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._position = 0

    def read(self) -> list[Record]:
        """The new complete records; empty while there is no file. O(new records)."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._position)
            lines = file.read().decode("latin-1")
        complete = lines[: lines.rfind("\n") + 1]
        self._position += len(complete)
        return [parse_record(line) for line in complete.splitlines() if line.startswith(KINDS)]


KINDS = ("open\t", "request\t", "close\t")


def requests_of(records: Iterable[Record]) -> list[Record]:
    """The requests among the records, by arrival. O(n log n)."""
    return sorted((each for each in records if each.kind == "request"), key=lambda each: each.arrival)
