"""Writes the journal's rows to the database, in a separate thread."""

from __future__ import annotations

import logging
import time
from threading import Event, Thread
from typing import TYPE_CHECKING

from crawlproject.records.database import AwayError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.records.database import Database
    from crawlproject.records.journal import Journal
    from crawlproject.records.record import Row

logger = logging.getLogger(__name__)

#: Seconds to wait for further rows of a batch.
LINGER = 0.5

#: Seconds between two attempts to reach an unavailable database: at first, and at most.
MIN_RETRY, MAX_RETRY = 0.5, 30.0

#: Rows named in the log because the database refuses them; the rest is counted.
MAX_LOGGED = 20


class Writer:
    """``count(stat, number)`` is called in the thread.

    Rows that the database refuses go to the journal ``aside``; the next crawl tries them again.
    """

    def __init__(  # noqa: PLR0913
        self,
        database: Database,
        journal: Journal,
        batch: int,
        count: Callable[[str, int], None],
        *,
        patience: float,
        aside: Journal,
    ) -> None:
        self._database, self._journal, self._batch = database, journal, batch
        self._aside, self._count, self._patience = aside, count, patience
        self._work, self._stop = Event(), Event()
        self._deadline = 0.0
        self._is_away = self._is_full = False
        self._logged = 0
        self._thread = Thread(target=self._run, name="records", daemon=True)

    def start(self) -> None:
        """Start the thread; rows that an earlier crawl left are written first."""
        self._thread.start()

    def wake(self) -> None:
        """There are new rows in the journal."""
        self._work.set()

    def close(self) -> bool:
        """Write the remaining rows; waits up to ``patience`` seconds for the database. True if all are written."""
        self._deadline = time.monotonic() + self._patience
        self._stop.set()
        self._work.set()
        self._thread.join(self._patience + 60)
        return self._journal.is_empty

    def _run(self) -> None:
        wait = MIN_RETRY
        while True:
            try:
                is_done = self._step()
                wait = MIN_RETRY
            except Exception as error:  # noqa: BLE001 - the thread must not end silently
                is_done = False
                self._log_away(str(error) if isinstance(error, AwayError) else repr(error))
                if self._stop.is_set():
                    if time.monotonic() >= self._deadline:
                        break
                    time.sleep(MIN_RETRY)
                else:
                    self._stop.wait(wait)
                    wait = min(2 * wait, MAX_RETRY)
            if is_done and self._stop.is_set():
                break
        self._database.close()

    def _step(self) -> bool:
        """One batch; whether there was nothing to do. Raises AwayError."""
        if self._journal.is_empty:
            if self._stop.is_set():
                return True
            self._work.wait()
        self._work.clear()
        if not self._is_full:
            self._stop.wait(LINGER)
        rows, place, bad = self._journal.read(self._batch)
        self._write(rows)
        if bad:
            self._count("records/db/unreadable", bad)
            logger.warning("%s: unreadable lines: %d", self._journal.path, bad)
        self._journal.done(place)
        self._is_full = len(rows) >= self._batch
        if self._is_away:
            self._is_away = False
            logger.info("The database of records answers again")
        return False

    def _write(self, rows: list[Row]) -> None:
        """Raises AwayError if the rows can be kept nowhere; then all of them come again."""
        refused = self._database.write(rows)
        try:
            self._aside.append([row for row, _ in refused])
        except OSError as error:
            raise AwayError(f"{self._aside.path}: {error}") from error
        for stat, number in (("records/db/written", len(rows) - len(refused)), ("records/db/failed", len(refused))):
            if number:
                self._count(stat, number)
        for row, reason in refused[: MAX_LOGGED - self._logged]:
            self._logged += 1
            text = "Record %s %.100r of %s is refused (%s): it is kept in %s"
            logger.error(text, row.table, row.key, row.site, reason, self._aside.path)

    def _log_away(self, reason: str) -> None:
        if not self._is_away:
            self._is_away = True
            self._count("records/db/away", 1)
            logger.error(
                "The database of records is unavailable (%s); records are kept in %s", reason, self._journal.path
            )
