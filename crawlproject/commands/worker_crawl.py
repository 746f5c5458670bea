"""Runs ``scrapy workers``: Redis, the command lines of the worker processes, and the output."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.python import global_object_name

from crawlproject.commands.private_redis import PrivateRedis, PrivateRedisError, take_lock
from crawlproject.commands.worker_processes import Signals, Worker, Workers
from crawlproject.commands.worker_view import WorkerView, summary
from crawlproject.monitor.quantities import counted
from crawlproject.options.project_rules import ADDON, has_addon
from crawlproject.options.redis import WORKERS_LOCK, WorkerSettings
from crawlproject.workers.keys import Keys

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy import Spider
    from scrapy.settings import BaseSettings


#: Seconds that a look at Redis may take.
_TIMEOUT = 1.0


class WorkerCrawl:
    """One crawl by ``spider``; ``opts`` and ``settings`` of the command. Raises UsageError."""

    def __init__(self, spider: type[Spider], opts: Namespace, settings: BaseSettings) -> None:
        spider.update_settings(settings)
        self._spider = spider.name
        self._opts = opts
        self._settings = settings
        try:
            self._parsed = WorkerSettings.from_settings(settings)
            self._keys = Keys(self._parsed.redis.key_of(spider.name))
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error
        _check_settings(settings, self._parsed)

    def run(self, count: int) -> bool:
        """Run the crawl by ``count`` workers; whether all ended well.

        Raises StopRequestedError if the user stops it before they have started, PrivateRedisError, StoreError or
        ValueError with a message for the user, or what the client of Redis raises.
        """
        job = self._parsed.job
        directory = job or Path(tempfile.mkdtemp(prefix="scrapy-workers-"))
        is_well = False
        try:
            with ExitStack() as stack:
                is_well = self._crawl(count, directory, stack)
        finally:
            if job is None and (is_well or not any(directory.iterdir())):  # else the logs say why
                shutil.rmtree(directory, ignore_errors=True)
        return is_well

    def _console_link(self) -> str | None:
        """The address of the first worker's console; None if there is none. All workers get one token."""
        if not self._parsed.console_port:
            return None
        host, own = (str(self._settings.get(f"FRONTIER_CONSOLE_{name}") or "") for name in ("HOST", "TOKEN"))
        address = f"http://{host or '127.0.0.1'}:{self._parsed.console_port}/"
        if own:  # one set by hand is not repeated
            return address
        token = os.environ.setdefault("CRAWLPROJECT_TOKEN", secrets.token_urlsafe(32))
        return f"{address}#token={token}"

    def _crawl(self, count: int, directory: Path, stack: ExitStack) -> bool:
        """Start Redis and the workers, wait for their end; ``stack`` stops those that still run."""
        from crawlproject.monitor.report.joint import joint_stats
        from crawlproject.workers.connection import RedisConnector

        job = self._parsed.job
        if job:
            stack.enter_context(_locked(job))
        signals = stack.enter_context(Signals())
        view = WorkerView(self._keys, count)
        private = None
        if not self._parsed.has_redis:
            private = stack.enter_context(PrivateRedis(job and job / "redis", signals, view.show))
        connection = {"url": private.url} if private else self._parsed.redis.connection
        connector = RedisConnector(connection, _TIMEOUT)
        connector.check()
        client = stack.enter_context(connector.sync_client())
        options = WorkerOptions(
            self._spider,
            _with_seed_file(self._opts.spargs, directory),
            self._opts.set,
            self._settings,
            self._parsed,
            directory,
            redis_url=private.url if private else None,
        )
        workers = [options.worker(number) for number in range(1, count + 1)]
        place = "a private redis-server" if private else connector.name
        view.show(f"{counted(count, 'worker')} of spider {self._spider} over {place}; logs: {workers[0].log}, ...")
        if (link := self._console_link()) is not None:
            view.show(f"console, when the first worker has started: {link}")

        def watch(pids: list[int]) -> bool:
            try:
                if private is not None:
                    private.check()
            except PrivateRedisError as error:
                view.show(str(error))
                return False
            view.watch(client, pids)
            return True

        start = time.monotonic()
        is_well = Workers(workers, signals, view.show, watch).run()
        sums = joint_stats([stats for worker in workers if (stats := worker.stats()) is not None])
        view.show(summary(sums, count, time.monotonic() - start))
        if deaths := sum(worker.deaths for worker in workers):
            view.show(f"{counted(deaths, 'death')} of workers: their pages, items and bytes are missing in the sums")
        if (reports := self._parsed.report or job) is not None:
            _report(reports, view)
        if not is_well and job is None:
            view.show(f"logs are kept in {workers[0].log.parent}")
        return is_well


def _report(directory: Path, view: WorkerView) -> None:
    """Make the report of all workers, if they have kept figures."""
    from crawlproject.monitor.report.joint import worker_directories
    from crawlproject.monitor.report.page import write_report

    if worker_directories(directory):  # else none has started
        try:
            made = write_report(directory)
        except (OSError, ValueError) as error:
            view.show(f"no report: {error}")
        else:
            view.show("\n".join([*made.problems, f"report: {made.path}"]))


def _check_settings(settings: BaseSettings, parsed: WorkerSettings) -> None:
    """Raise UsageError if workers with these settings would not share one crawl."""
    if not has_addon(settings):
        raise UsageError(f"ADDONS: workers share nothing without {ADDON}", print_help=False)
    if parsed.job and (parsed.job / "frontier").exists():
        raise UsageError(f"JOBDIR={str(parsed.job)!r}: holds a crawl of one process (scrapy crawl)", print_help=False)


def _with_seed_file(arguments: Mapping[str, str], directory: Path) -> Mapping[str, str]:
    """Spider arguments; ``seeds=-`` becomes a file of what standard input has, because only one process can read it."""
    if arguments.get("seeds") != "-":
        return arguments
    path = directory / "seeds.txt"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return {**arguments, "seeds": str(path)}


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """A lock on a JOBDIR as long as this process lives. Raises ValueError."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / WORKERS_LOCK).open("a+b") as file:
        if not take_lock(file):
            raise ValueError(f"JOBDIR={str(directory)!r}: in use by another scrapy workers")
        yield


def numbered(uri: str, number: int) -> str:
    """A file of worker ``number``, also as a URI.

    >>> numbered("out/pages.jsonl.gz", 2), numbered("s3://bucket/%(name)s", 2)
    ('out/pages-2.jsonl.gz', 's3://bucket/%(name)s-2')
    """
    folder, slash, name = uri.rpartition("/")
    stem, dot, suffix = name.partition(".") if not name.startswith(".") else (name, "", "")
    return f"{folder}{slash}{stem}-{number}{dot}{suffix}"


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

    def _file(self, number: int, given: Path | None, suffix: str) -> Path:
        return Path(numbered(str(given), number)) if given else self.directory / f"worker-{number}{suffix}"

    def worker(self, number: int) -> Worker:
        return Worker(
            number,
            lambda again: self.command(number, again=again),
            self._file(number, self.parsed.log_file, ".log"),
            self._file(number, self.parsed.stats_file, ".json"),
            self.directory / f"worker-{number}.tmp",
        )

    def command(self, number: int, *, again: bool) -> list[str]:
        """Command line of worker ``number``; ``again``: it died, and what it wrote is kept.

        Raises ValueError for feeds that several processes cannot write.
        """
        command = [sys.executable, "-m", "scrapy", "crawl", self.spider]
        for name, value in self.arguments.items():
            command += ["-a", f"{name}={value}"]
        for assignment in (*self.set, "FRONTIER_BACKEND=redis", *self._own(number, again=again)):
            command += ["-s", assignment]
        return command

    def _own(self, number: int, *, again: bool) -> list[str]:
        """Settings of this worker alone; they come last, because the last one of a name counts."""
        settings, parsed = self.settings, self.parsed
        own = {
            "LOG_FILE": "",  # standard error is the log's file: it gets what Python prints as well
            "FRONTIER_MONITOR_STATS_FILE": str(self._file(number, parsed.stats_file, ".json").resolve()),
        }
        for name in ("LOG_LEVEL", "LOG_ENABLED"):  # -L and --nolog
            if settings.getpriority(name) == SETTINGS_PRIORITIES["cmdline"]:
                own[name] = str(settings[name])
        if self.redis_url is not None:
            own["REDIS_URL"] = self.redis_url
        if parsed.job is not None:
            own["JOBDIR"] = str(self.directory / f"worker-{number}")
        for name, path in parsed.written.items():
            if parsed.job is None or path.is_absolute():  # else it lies in the worker's own JOBDIR
                own[name] = numbered(str(path), number)
        if parsed.report is not None:
            own["FRONTIER_REPORT_DIR"] = str(parsed.report / f"worker-{number}")
        if parsed.metrics_port:
            own["FRONTIER_METRICS_PORT"] = str(parsed.metrics_port + number - 1)
        if parsed.console_port:
            own["FRONTIER_CONSOLE_PORT"] = str(parsed.console_port + number - 1)
        if feeds := self._feeds(number, again=again):
            own["FEEDS"] = json.dumps(feeds, default=global_object_name)
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
