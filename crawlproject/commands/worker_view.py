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


class WorkerView:
    """Lines on standard error; ``keys``: of the crawl, ``expected``: the number of workers."""

    def __init__(self, keys: Keys, expected: int) -> None:
        self._keys = keys
        self._expected = expected
        self._is_terminal = sys.stderr.isatty()
        self._interval = TERMINAL_INTERVAL if self._is_terminal else FILE_INTERVAL
        self._next = time.monotonic() + min(self._interval, 10.0)
        self._has_line = False

    def show(self, line: str) -> None:
        """A line that stays, with its time."""
        self._write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [workers] {line}\n")
        self._has_line = False

    def watch(self, source: Redis | RedisCluster, pids: list[int]) -> None:
        """Show the progress by ``source`` when it is time to; ``pids``: workers alive."""
        if time.monotonic() < self._next:
            return
        line = self._line(source, len(pids))
        if self._is_terminal:
            self._write(line[: max(20, shutil.get_terminal_size().columns - 1)])
            self._has_line = True
        else:
            self.show(line)
        self._next = time.monotonic() + self._interval

    def _line(self, source: Redis | RedisCluster, alive: int) -> str:
        from redis.exceptions import RedisError

        workers = f"{alive} of {counted(self._expected, 'worker')}"
        try:
            info: Any = read_info(source.hgetall(self._keys.info))
            pages: Any = source.hget(self._keys.meta, "pages") or b"0"  # also of workers that have died since
        except (RedisError, OSError) as error:
            return f"{workers}; Redis does not answer: {error}"

        def total(name: str) -> int:
            return round(sum(float(value) for each in info.values() if is_number(value := each.get(name))))

        return (
            f"{workers}; {counted(int(pages), 'page')}; {counted(total('urls'), 'URL')} queued on "
            f"{counted(total('servers'), 'server')}; {counted(total('sessions'), 'session')}"
        )

    def _write(self, text: str) -> None:
        clear = "\r\x1b[K" if self._has_line else ""
        with suppress(OSError):  # the terminal is gone; the workers are not
            sys.stderr.write(clear + text)
            sys.stderr.flush()


def read_info(fields: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Id -> figures, of the fields of the hash; what is not a JSON object is left out."""
    info = {}
    for name, value in fields.items():
        with suppress(ValueError, RecursionError):
            if isinstance(figures := json.loads(value), dict):
                info[name.decode(errors="replace") if isinstance(name, bytes) else str(name)] = figures
    return info


def summary(sums: Mapping[str, Any], workers: int, seconds: float) -> str:
    """The last line: what ``workers`` have done in ``seconds``, by the sums of their stats."""
    pages = sums.get("frontier/pages", 0)
    parts = [
        f"{counted(workers, 'worker')} ended ({sums.get('finish_reason', 'no stats')}) after {seconds:.0f} s",
        f"{counted(pages, 'page')} ({pages / max(seconds, 1.0):.1f}/s)",
        counted(sums.get("item_scraped_count", 0), "item"),
        counted(sums.get("downloader/request_count", 0), "request"),
        f"{sums.get('downloader/response_bytes', 0) / 1e6:.1f} MB",
    ]
    if left := sums.get("workers/total/frontier/urls"):
        parts.append(f"{counted(left, 'URL')} still queued")
    if errors := sums.get("log_count/ERROR", 0) + sums.get("log_count/CRITICAL", 0):
        parts.append(f"{counted(errors, 'error')} in the logs")
    return "; ".join(parts)
