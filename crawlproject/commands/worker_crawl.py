"""Runs ``scrapy workers``: Redis, the worker processes, and the output."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from crawlproject.commands.private_redis import PrivateRedis, PrivateRedisError, take_lock
from crawlproject.commands.worker_options import WorkerOptions
from crawlproject.commands.worker_processes import Signals, Workers
from crawlproject.commands.worker_view import WorkerView, counted, summary
from crawlproject.options.scrapy_values import ADDON, has_addon
from crawlproject.options.workers import WORKERS_LOCK, WorkerSettings
from crawlproject.workers.keys import Keys

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping

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
            if job is None and is_well:
                shutil.rmtree(directory, ignore_errors=True)
            elif job is None:
                with suppress(OSError):  # not empty: the logs say why
                    directory.rmdir()
        return is_well

    def _crawl(self, count: int, directory: Path, stack: ExitStack) -> bool:
        """Start Redis and the workers, wait for their end; ``stack`` stops those that still run."""
        from crawlproject.monitor.report.joint import joint_stats
        from crawlproject.workers.connection import RedisAddress, RedisConnector

        job = self._parsed.job
        if job:
            stack.enter_context(_locked(job))
        signals = stack.enter_context(Signals())
        view = WorkerView(self._keys, count)
        private = None
        if not self._parsed.has_redis:
            private = stack.enter_context(PrivateRedis(job and job / "redis", signals, view.show))
        connection = {"url": private.url} if private else self._parsed.redis.connection
        connector = RedisConnector(RedisAddress(params=connection, timeout=_TIMEOUT))
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

        def watch(pids: list[int]) -> bool:
            try:
                if private is not None:
                    private.check()
            except PrivateRedisError as error:
                view.show(str(error))
                return False
            view.watch(client, pids)
            return True

        view.begin(client)
        start = time.monotonic()
        is_well = Workers(workers, signals, view.show, watch).run()
        sums = joint_stats([stats for worker in workers if (stats := worker.stats()) is not None])
        view.show(summary(sums, view.pages(client), count, time.monotonic() - start))
        deaths = sum(worker.deaths for worker in workers)
        if deaths:
            view.show(f"{counted(deaths, 'death')} of workers: their items, requests and bytes are missing in the sums")
        if (reports := self._parsed.report or job) is not None:
            _report(reports, view)
        if not is_well and job is None:
            view.show(f"logs are kept in {workers[0].log.parent}")
        return is_well


def _report(directory: Path, view: WorkerView) -> None:
    """Make the report of all workers, if they have kept figures."""
    from crawlproject.monitor.report.joint import worker_directories
    from crawlproject.monitor.report.writing import write_joint_report

    if not worker_directories(directory):
        return  # none has started
    try:
        made = write_joint_report(directory)
    except (OSError, ValueError) as error:
        view.show(f"no report: {error}")
        return
    for problem in made.problems:
        view.show(problem)
    view.show(f"report: {made.path}")


def _check_settings(settings: BaseSettings, parsed: WorkerSettings) -> None:
    """Raise UsageError if workers with these settings would not share one crawl."""
    if not has_addon(settings):
        raise UsageError(f"ADDONS: workers share nothing without {ADDON}", print_help=False)
    if parsed.backend not in (None, "redis"):
        raise UsageError(
            f"FRONTIER_BACKEND={parsed.backend!r}: workers share a crawl only with 'redis'", print_help=False
        )
    if parsed.job and (parsed.job / "frontier").exists():
        raise UsageError(
            f"JOBDIR={str(parsed.job)!r}: holds a crawl of one process (scrapy crawl); name another directory",
            print_help=False,
        )


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
