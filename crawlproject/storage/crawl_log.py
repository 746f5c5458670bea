"""The log of URLs (``FRONTIER_CRAWL_LOG``): one line for each that ended, written in batches by a thread.

Lines of JSON, or the columns of Heritrix's crawl.log if the file's name ends in ``.log``:
time, status (negative: no answer), bytes, URL, path from the seed, via, media type, thread, fetch, digest, source,
reason.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from crawlproject.storage.replacing import last_line
from crawlproject.urls.fates import Ending, Outcome, Reason

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

#: Seconds between two batches; lines that wait for a slow disk, at most; seconds that the crawl's end waits for it.
EVERY, MAX_WAITING, PATIENCE = 0.5, 100_000, 10.0

#: Characters of a URL in a line: a spider may request longer ones.
MAX_URL = 10_000

#: Heritrix's statuses of URLs without an answer (its user manual, "Status codes"); others are -5.
_STATUSES = {
    Reason.DNS: -1,
    **dict.fromkeys((Reason.REFUSED, Reason.PROXY, Reason.NO_ANSWER), -2),
    **dict.fromkeys((Reason.BROKEN, Reason.TRUNCATED), -3),
    Reason.TIMEOUT: -4,
    Reason.MALFORMED: -7,
    Reason.SERVER_GIVEN_UP: -8,
    **dict.fromkeys((Reason.GUARD, Reason.MERGED), -4000),
    Reason.OFFSITE: -5000,
    **dict.fromkeys((Reason.DENIED, Reason.ADDRESS, Reason.EXTENSION), -5001),
    **dict.fromkeys((Reason.IGNORED, Reason.REPLACED), -5002),
    Reason.PAGE_LIMIT: -5003,
    Reason.ROBOTS: -9998,
}
_UNKNOWN = -5

_NOTHING = Ending(Reason.REPLACED)
#: White space and controls would end a column, or a line.
_ESCAPES = {code: f"%{code:02X}" for code in (*range(33), 127)}


class CrawlLog:
    """Appends to ``path``; once that has ``max_bytes``, it gets the next free number (``crawl.log.1``) and a new one
    begins.

    ``add`` is O(1) and never waits.  A crash loses the lines of the last ``EVERY`` seconds; a resumed crawl may repeat
    some.  If they cannot be written (disk full), lines are counted as ``lost``, and the crawl continues.  Raises
    ValueError if the file cannot be opened.
    """

    def __init__(self, path: Path, max_bytes: int = 0) -> None:
        #: Lines written, and lost.
        self.written = self.lost = 0
        self._path = path
        self._max_bytes = max_bytes
        self._line = _columns if path.suffix == ".log" else _json
        self._waiting: SimpleQueue[tuple[float, Outcome] | None] = SimpleQueue()
        self._ends = threading.Event()
        self._is_failing = False
        try:
            self._file, self._size = _opened(path)
        except OSError as error:
            raise ValueError(f"FRONTIER_CRAWL_LOG={str(path)!r}: {error}") from error
        self._thread = threading.Thread(target=self._run, name="crawl log", daemon=True)
        self._thread.start()

    def add(self, outcome: Outcome) -> None:
        """Write the line of ``outcome`` soon."""
        if self._waiting.qsize() < MAX_WAITING:
            self._waiting.put((time.time(), outcome))
        else:
            self.lost += 1

    def close(self) -> None:
        """Write what waits; waits for a slow disk for ``PATIENCE`` seconds at most."""
        self._waiting.put(None)
        self._ends.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self.lost += self._waiting.qsize()

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = [self._waiting.get()]
            self._ends.wait(EVERY)
            try:
                while len(batch) < MAX_WAITING:
                    batch.append(self._waiting.get_nowait())
            except Empty:
                pass
            is_open = batch[-1] is not None
            lines = [self._line(at, outcome) for at, outcome in filter(None, batch)]
            if lines:
                self._write("".join(lines).encode("utf-8", "replace"), len(lines))
        os.close(self._file)

    def _write(self, data: bytes, lines: int) -> None:
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._file, data[done:], self._size + done)
            self._size += done
            self.written += lines
            self._is_failing = False
            if self._size >= self._max_bytes > 0:
                self._rotate()
        except OSError as error:  # the next batch is written over a part of this one
            self.lost += lines if done < len(data) else 0
            if not self._is_failing:
                logger.error("FRONTIER_CRAWL_LOG: lines are lost: %s", error)
            self._is_failing = True

    def _rotate(self) -> None:
        number = 1
        while (old := self._path.with_name(f"{self._path.name}.{number}")).exists():
            number += 1
        self._path.rename(old)
        full, (self._file, self._size) = self._file, _opened(self._path)
        os.close(full)


def _opened(path: Path) -> tuple[int, int]:
    """The open file, and its length without a part of a line that a crash has left."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            length = last_line(file)
            is_cut = length < file.seek(0, os.SEEK_END)
        if is_cut:
            os.ftruncate(descriptor, length)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, length


def _json(at: float, outcome: Outcome) -> str:
    """The first five names are always there; of the others, those that have a value."""
    ending = outcome.ending or _NOTHING
    found = {
        "time": _iso(ending.at or at),
        "status": ending.status or None,
        "bytes": ending.size if ending.status else None,
        "url": outcome.url[:MAX_URL],
        "reason": outcome.reason,
    }
    rest = {
        "stage": outcome.stage,
        "via": outcome.via[:MAX_URL],
        "depth": outcome.depth,
        "type": ending.media,
        "note": ending.note[:MAX_URL],
        "times": outcome.times,
    }
    return json.dumps(found | {name: value for name, value in rest.items() if value}) + "\n"


def _columns(at: float, outcome: Outcome) -> str:
    ending = outcome.ending or _NOTHING
    status = ending.status or _STATUSES.get(outcome.reason, _UNKNOWN)
    size = str(ending.size) if ending.status else "-"
    fetch = "-"
    if ending.at:
        took = sum((outcome.times or {}).values())
        begun = datetime.fromtimestamp(ending.at - took, UTC)
        fetch = f"{begun:%Y%m%d%H%M%S}{begun.microsecond // 1000:03d}+{round(took * 1000)}"
    path = "L" * min(outcome.depth, 50) or "-"
    texts = (outcome.url, path, outcome.via or "-", ending.media or "unknown")
    url, path, via, media = (text[:MAX_URL].translate(_ESCAPES) for text in texts)
    note = f"{outcome.stage}:{outcome.reason}"
    return f"{_iso(ending.at or at)} {status:>5} {size:>10} {url} {path} {via} {media} #000 {fetch} - - {note}\n"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
