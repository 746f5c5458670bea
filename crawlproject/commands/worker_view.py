"""The output of ``scrapy workers``: one line of progress, and the sums at the end."""

from __future__ import annotations

import json
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.quantities import counted
from crawlproject.monitor.series.samples import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis import Redis, RedisCluster

    from crawlproject.workers.keys import Keys

#: Seconds between two lines: on a terminal, where the line is written over the last one; in a file.
TERMINAL_INTERVAL, FILE_INTERVAL = 2.0, 60.0

Info = dict[str, dict[str, Any]]


class WorkerView:
    """Lines on standard error; ``keys``: of the crawl, ``expected``: the number of workers.

    Pages are those that Redis counts, also of workers that have died since.
    """

    def __init__(self, keys: Keys, expected: int) -> None:
        self._keys = keys
        self._expected = expected
        self._is_terminal = sys.stderr.isatty()
        self._interval = TERMINAL_INTERVAL if self._is_terminal else FILE_INTERVAL
        self._next = time.monotonic() + min(self._interval, 10.0)
        self._progress = Progress()
        self._has_line = False

    def show(self, line: str) -> None:
        """A line that stays, with its time."""
        self._write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [workers] {line}\n")
        self._has_line = False

    def begin(self, source: Redis | RedisCluster) -> None:
        """Pages from now on are those of this run. Raises what the client of Redis raises."""
        self._progress.begin(self._pages(source))

    def pages(self, source: Redis | RedisCluster) -> tuple[int, int] | None:
        """Pages of this run, and of the whole crawl; None if Redis does not answer."""
        from redis.exceptions import RedisError

        try:
            self._progress.pages = self._pages(source)
        except (RedisError, OSError):
            return None
        return self._progress.own_pages, self._progress.pages

    def watch(self, source: Redis | RedisCluster, pids: list[int]) -> None:
        """Show the progress by ``source`` when it is time to; ``pids``: workers alive."""
        now = time.monotonic()
        if now < self._next:
            return
        line = self._line(source, len(pids), now)
        if self._is_terminal:
            self._write(line[: max(20, shutil.get_terminal_size().columns - 1)])
            self._has_line = True
        else:
            self.show(line)
        self._next = time.monotonic() + self._interval

    def _line(self, source: Redis | RedisCluster, alive: int, now: float) -> str:
        from redis.exceptions import RedisError

        workers = f"{alive} of {counted(self._expected, 'worker')}"
        try:
            self._progress.add(read_info(source.hgetall(self._keys.info)), self._pages(source), now)
        except (RedisError, OSError) as error:
            return f"{workers}; Redis does not answer: {error}"
        return f"{workers}; {self._progress}"

    def _pages(self, source: Redis | RedisCluster) -> int:
        found: Any = source.hget(self._keys.meta, "pages")
        return int(found) if found is not None and found.isdigit() else 0

    def _write(self, text: str) -> None:
        clear = "\r\x1b[K" if self._has_line else ""
        with suppress(OSError):  # the terminal is gone; the workers are not
            sys.stderr.write(clear + text)
            sys.stderr.flush()


def read_info(fields: Mapping[Any, Any]) -> Info:
    """Id -> figures, of the fields of the hash; what is not a JSON object is left out."""
    info = {}
    for name, value in fields.items():
        try:
            figures = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(figures, dict):
            info[name.decode(errors="replace") if isinstance(name, bytes) else str(name)] = figures
    return info


class Progress:
    """Pages of all workers, and per second between two looks; sums of what those have that are alive."""

    def __init__(self) -> None:
        #: Of the whole crawl, and before this run.
        self.pages = self._before = 0
        self._info: Info = {}
        self._at: float | None = None
        self._speed: float | None = None

    def begin(self, pages: int) -> None:
        """Pages beyond these are of this run. O(1)."""
        self.pages = self._before = pages

    @property
    def own_pages(self) -> int:
        """Pages of this run, or all pages if the crawl was started again from nothing."""
        return self.pages - self._before if self.pages >= self._before else self.pages

    def add(self, info: Info, pages: int, now: float) -> None:
        """Add the workers' descriptions, and the pages of all, at ``now``, in seconds. O(workers)."""
        if self._at is not None and now > self._at:
            self._speed = max(0, pages - self.pages) / (now - self._at)
        self.pages, self._info, self._at = pages, info, now

    def __str__(self) -> str:
        if not self._info:
            idle = "all are starting, or ending"  # the last ones have left the crawl, but not yet exited
            return f"{pages_words(self.own_pages, self.pages)}; {idle}" if self.pages else idle

        def total(name: str) -> int:
            return round(sum(_number(figures.get(name)) for figures in self._info.values()))

        speed = "" if self._speed is None else f", {self._speed:.1f}/s"
        line = (
            f"{pages_words(self.own_pages, self.pages)}{speed}; {counted(total('urls'), 'URL')} queued on "
            f"{counted(total('servers'), 'server')}; {counted(total('sessions'), 'session')}"
        )
        shares = sorted(round(_number(figures.get("partitions"))) for figures in self._info.values())
        if shares and shares[-1] - shares[0] > 1:
            line += f"; partitions {' '.join(map(str, shares))}"
        return line


def _number(value: Any) -> float:
    return float(value) if is_number(value) and value >= 0 else 0.0


def pages_words(own: int, whole: int) -> str:
    """``30 pages``, or ``30 pages in this run, 70 in the whole crawl``."""
    pages = counted(own, "page")
    return pages if own == whole else f"{pages} in this run, {whole} in the whole crawl"


def summary(sums: Mapping[str, Any], pages: tuple[int, int] | None, workers: int, seconds: float) -> str:
    """The last line: what ``workers`` have done in ``seconds``; ``pages``: see ``WorkerView.pages``."""
    own, whole = pages or (sums.get("frontier/pages", 0),) * 2
    parts = [
        f"{counted(workers, 'worker')} ended ({sums.get('finish_reason', 'no stats')}) after {seconds:.0f} s",
        f"{pages_words(own, whole)} ({own / max(seconds, 1.0):.1f}/s)",
        *([f"{counted(left, 'URL')} still queued"] if (left := sums.get("workers/total/frontier/urls")) else []),
        counted(sums.get("item_scraped_count", 0), "item"),
        counted(sums.get("downloader/request_count", 0), "request"),
        f"{sums.get('downloader/response_bytes', 0) / 1e6:.1f} MB",
    ]
    errors = sums.get("log_count/ERROR", 0) + sums.get("log_count/CRITICAL", 0)
    if errors:
        parts.append(f"{counted(errors, 'error')} in the logs")
    return "; ".join(parts)
