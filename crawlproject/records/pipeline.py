"""The item pipeline that keeps records in a database (``FRONTIER_RECORDS_DB``), by a journal and a thread."""

from __future__ import annotations

import asyncio
import logging
import time
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem, NotConfigured

from crawlproject.engine import end_crawl, stats_of
from crawlproject.options.records import RecordOptions
from crawlproject.options.start_errors import starting
from crawlproject.records.database import AwayError, Database
from crawlproject.records.journal import Journal
from crawlproject.records.record import Record, Row, digest_of, sql_name, with_text_keys
from crawlproject.requests.meta import KEEP

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

#: Closing reason if the journal takes no records.
RECORDS_FAILED = "records_failed"

#: Characters of a key; of a longer one the beginning and a digest: PostgreSQL's index takes 2,700 bytes.
MAX_KEY = 400

#: Records of a transaction, at most. 500 rows take 20 ms: few commits, and little to repeat when one row fails.
BATCH = 500

#: Seconds to wait for further rows of a batch.
LINGER = 0.5

#: Seconds between two attempts to reach an unavailable database: at first, and at most.
MIN_RETRY, MAX_RETRY = 0.5, 30.0

#: Rows named in the log because the database refuses them; the rest is counted.
MAX_REFUSED = 20


class DatabasePipeline:
    """Records, and any other items, become rows: one table for each kind of record or class of items."""

    def __init__(self, crawler: Crawler, options: RecordOptions) -> None:
        assert options.database is not None
        assert options.journal is not None
        self._crawler, self._stats = crawler, stats_of(crawler)
        self._keys = options.keys
        self._journal = Journal(options.journal)
        self._aside = Journal(options.journal.with_name(f"{options.journal.name}.aside"))
        self._writer = Writer(
            Database(options.database), self._journal, self._aside, self._count, patience=options.patience
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._logged: set[str] = set()
        self._is_failing = False

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy. Raises NotConfigured without ``FRONTIER_RECORDS_DB``; OSError if the journal cannot be
        opened.
        """
        options = RecordOptions.of(crawler)
        if options.database is None:
            raise NotConfigured
        try:
            pipeline = cls(crawler, options)
        except OSError as error:
            raise OSError(f"{options.journal}: records cannot be kept there: {error.strerror or error}") from error
        crawler.signals.connect(pipeline._start, signals.spider_opened)
        crawler.signals.connect(pipeline._close, signals.spider_closed)
        return pipeline

    async def process_item(self, item: Any) -> Any:
        """Append the record to the journal. Raises DropItem, and ends the crawl, if it cannot be written."""
        try:
            self._journal.append([self._row(item)])
        except (ValueError, RecursionError):
            self._stats.inc_value("records/lost")
            text = "%s: a record is nested in itself, or too deeply for a database (logged once)"
            self._log_once("depth", text, type(item).__name__)
        except OSError as error:
            self._fail(item, error)
            await asyncio.sleep(0)  # the crawl begins to close, before this page may end it as finished
            raise DropItem(f"{self._journal.path} takes no records") from error
        else:
            self._writer.wake()
        return item

    def _row(self, item: Any) -> Row:
        if isinstance(item, Record):
            values = {name: value for name, value in item.items() if name != "record"}
            table, site, names = str(item["record"]), item.site, item.keys_of
            fallback = f"{item.get('url')}#{item.place}"
        else:
            values = with_text_keys(ItemAdapter(item).asdict())
            table = sql_name(type(item).__name__) if not isinstance(item, dict) else "item"
            site = urlsplit(str(values.get("url") or "")).netloc
            names = self._keys.get(type(item).__name__) or (("url",) if values.get("url") else ())
            fallback = digest_of(values)
        given = [values.get(name) for name in names]
        if names and all(value is not None and value != "" for value in given):
            key = str(given[0]) if len(given) == 1 else repr(given)
        else:
            key = fallback
            if names or not isinstance(item, Record):
                self._stats.inc_value("records/without_key")
                self._log_once(
                    table, "%s: a record has no key (%s): it is kept by %s (logged once)", table, ", ".join(names), key
                )
        if len(key) > MAX_KEY:
            key = f"{key[: MAX_KEY - 40]}#{digest_of({'': key})}"
        return Row(table, site, key.replace("\0", "").encode("utf-8", "replace").decode(), time.time(), values)

    def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._writer.start()

    async def _close(self) -> None:
        is_empty = await asyncio.to_thread(self._writer.close)
        if not is_empty:
            pending = self._journal.count()
            self._stats.set_value("records/pending", pending)
            logger.error(
                "%d records are not in the database: the next crawl writes them from %s", pending, self._journal.path
            )
        self._journal.close()
        self._aside.close()

    def _fail(self, item: Any, error: OSError) -> None:
        self._stats.inc_value("records/lost")
        meta = item.meta if isinstance(item, Record) else None
        if meta is not None:
            meta[KEEP] = True
        if not self._is_failing:
            self._is_failing = True
            logger.error("%s takes no records, the crawl ends: %s", self._journal.path, error.strerror or error)
            end_crawl(self._crawler, RECORDS_FAILED)

    def _count(self, stat: str, number: int) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stats.inc_value, stat, number)

    def _log_once(self, about: str, text: str, *values: object) -> None:
        if about not in self._logged and len(self._logged) < 100:
            self._logged.add(about)
            logger.warning(text, *values)


class Writer:
    """Writes the journal's rows to the database, in a thread, in which ``count(stat, number)`` is called, too.

    Rows that the database refuses go to the journal ``aside``; the next crawl tries them again.
    """

    def __init__(
        self, database: Database, journal: Journal, aside: Journal, count: Callable[[str, int], None], patience: float
    ) -> None:
        self._database, self._journal = database, journal
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
        rows, place, bad = self._journal.read(BATCH)
        self._write(rows)
        if bad:
            self._count("records/db/unreadable", bad)
            logger.warning("%s: unreadable lines: %d", self._journal.path, bad)
        self._journal.done(place)
        self._is_full = len(rows) >= BATCH
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
        for row, reason in refused[: MAX_REFUSED - self._logged]:
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
