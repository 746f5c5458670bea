"""Command lines of the workers: each file and port that they cannot share gets the number of its worker."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlproject.commands.worker_processes import Worker

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import BaseSettings

    from crawlproject.options.workers import WorkerSettings

#: Suffixes that follow the one of the format.
_COMPRESSED = frozenset((".gz", ".bz2", ".xz", ".zst", ".lz4"))


def numbered(uri: str, number: int) -> str:
    """A file of worker ``number``, also as a URI.

    >>> numbered("out/pages.jsonl.gz", 2), numbered("s3://bucket/%(name)s", 2)
    ('out/pages-2.jsonl.gz', 's3://bucket/%(name)s-2')
    """
    folder, slash, name = uri.rpartition("/")
    stem, suffix = _split(name)
    if suffix in _COMPRESSED:
        stem, format_suffix = _split(stem)
        suffix = format_suffix + suffix
    return f"{folder}{slash}{stem}-{number}{suffix}"


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if stem else (name, "")


@dataclass(frozen=True)
class WorkerOptions:
    """Options that the workers of one command share; ``settings`` are the project's, the spider's and those of -s."""

    spider: str
    arguments: Mapping[str, str]
    #: As given by -s, ``NAME=VALUE``.
    set: Sequence[str]
    settings: BaseSettings
    parsed: WorkerSettings
    #: Where logs and stats are, and with ``JOBDIR`` a directory for each worker.
    directory: Path
    #: ``REDIS_URL`` of a private server; None: the settings name one.
    redis_url: str | None = None

    def log(self, number: int) -> Path:
        """File of the log of worker ``number``."""
        path = self.parsed.log_file
        return Path(numbered(str(path), number)) if path else self.directory / f"worker-{number}.log"

    def stats_file(self, number: int) -> Path:
        """``MONITOR_STATS_FILE`` of worker ``number``."""
        path = self.parsed.stats_file
        return Path(numbered(str(path), number)) if path else self.directory / f"worker-{number}.json"

    def worker(self, number: int) -> Worker:
        """Worker ``number``, not yet started."""
        return Worker(
            number,
            lambda again: self.command(number, again=again),
            self.log(number),
            self.stats_file(number),
            self.directory / f"worker-{number}.tmp",
        )

    def command(self, number: int, *, again: bool) -> list[str]:
        """Command line of worker ``number``; ``again``: it died, and what it wrote is kept.

        Raises ValueError for feeds that several processes cannot write.
        """
        command = [sys.executable, "-m", "scrapy", "crawl", self.spider]
        for name, value in self.arguments.items():
            command += ["-a", f"{name}={value}"]
        for assignment in ("FRONTIER_BACKEND=redis", *self.set, *self._own(number, again=again)):
            command += ["-s", assignment]
        return command

    def _own(self, number: int, *, again: bool) -> list[str]:
        """Settings of this worker alone; they come last, because the last one of a name counts."""
        settings, parsed = self.settings, self.parsed
        own = {
            "LOG_FILE": "",  # standard error is the log's file: it gets what Python prints as well
            "MONITOR_STATS_FILE": str(self.stats_file(number).resolve()),
        }
        for name in ("LOG_LEVEL", "LOG_ENABLED"):  # -L and --nolog
            if settings.getpriority(name) == _COMMAND_LINE:
                own[name] = str(settings[name])
        if self.redis_url is not None:
            own["REDIS_URL"] = self.redis_url
        if parsed.job is not None:
            own["JOBDIR"] = str(self.directory / f"worker-{number}")
        for name, path in parsed.written.items():
            if not parsed.own_path(path):
                own[name] = numbered(str(path), number)
        if parsed.report is not None:
            own["REPORT_DIR"] = str(parsed.report / f"worker-{number}")
        if parsed.metrics_port:
            own["METRICS_PORT"] = str(parsed.metrics_port + number - 1)
        if parsed.console_port:
            own["CONSOLE_PORT"] = str(parsed.console_port + number - 1)
        if feeds := self._feeds(number, again=again):
            own["FEEDS"] = json.dumps(feeds, default=_name)
        return [f"{name}={value}" for name, value in own.items()]

    def _feeds(self, number: int, *, again: bool) -> dict[str, dict[str, Any]]:
        """``FEEDS``, those of -o and -O among them, into files of this worker's own."""
        feeds = {}
        for uri, options in self.settings.getdict("FEEDS").items():
            if str(uri).startswith("stdout:"):
                raise ValueError("-o -: several processes cannot write items to standard output; name a file")
            kept = {"overwrite": False} if again and dict(options).get("overwrite") else {}
            feeds[numbered(str(uri), number)] = {**options, **kept}
        return feeds


_COMMAND_LINE = 40  # scrapy.settings.SETTINGS_PRIORITIES["cmdline"]


def _name(value: Any) -> str:
    """The path of a class or function; anything else as a string."""
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else str(value)
