"""The log of URLs (``FRONTIER_CRAWL_LOG``): one line of JSON for each that ended, written in batches by a thread."""

from __future__ import annotations

import json
import logging
import threading
import time
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from crawlproject.storage.replacing import LineFile
from crawlproject.urls.fates import Ending, Outcome, Reason

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

#: Seconds between two batches; lines that wait for a slow disk, at most; seconds that the crawl's end waits for it.
EVERY, MAX_WAITING, PATIENCE = 0.5, 100_000, 10.0

#: Characters of a URL in a line: a spider may request longer ones.
MAX_URL = 10_000

_NOTHING = Ending(Reason.REPLACED)


class CrawlLog:
    """Appends to ``path``. ``add`` is O(1) and never waits.

    A crash loses the lines of the last ``EVERY`` seconds; a resumed crawl may repeat some.  If they cannot be written
    (disk full), lines are counted as ``lost``, and the crawl continues.  Raises ValueError if the file cannot be
    opened.
    """

    def __init__(self, path: Path) -> None:
        #: Lines written, and lost.
        self.written = self.lost = 0
        self._waiting: SimpleQueue[tuple[float, Outcome] | None] = SimpleQueue()
        self._ends = threading.Event()
        self._is_failing = False
        try:
            self._file = LineFile(path)
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
            if lines := [_line(at, outcome) for at, outcome in filter(None, batch)]:
                self._write(lines)
        self._file.close()

    def _write(self, lines: list[str]) -> None:
        try:
            self._file.write("".join(lines).encode("utf-8", "replace"))
            self.written += len(lines)
            self._is_failing = False
        except OSError as error:
            self.lost += len(lines)
            if not self._is_failing:
                logger.error("FRONTIER_CRAWL_LOG: lines are lost: %s", error)
            self._is_failing = True


def _line(at: float, outcome: Outcome) -> str:
    """The first five names are always there; of the others, those that have a value."""
    ending = outcome.ending or _NOTHING
    ended = datetime.fromtimestamp(ending.at or at, UTC)
    found = {
        "time": ended.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
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
