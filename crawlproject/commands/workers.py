"""``scrapy workers -n N SPIDER``: one crawl by several processes on this machine, over Redis."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.private_redis import PrivateRedis, PrivateRedisError, StopRequestedError
from crawlproject.commands.spider_names import unknown_spider
from crawlproject.commands.worker_options import WorkerOptions
from crawlproject.commands.worker_processes import Signals, Workers
from crawlproject.commands.worker_view import WorkerView, counted, summary, summed

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.settings import BaseSettings

    from crawlproject.options.workers import WorkerSettings

_ADDON = "crawlproject.addon.FrontierAddon"

#: Seconds that a look at Redis may take.
_TIMEOUT = 1.0


class Command(BaseRunSpiderCommand):
    """Starts the processes and waits for them; each is a ``scrapy crawl``."""

    requires_project = True
    requires_crawler_process = False

    def syntax(self) -> str:
        """Arguments of ``scrapy workers``."""
        return "[options] <spider>"

    def short_desc(self) -> str:
        """One line for the list of commands."""
        return "Run one crawl in several processes on this machine, over Redis"

    def long_desc(self) -> str:
        """For ``--help``."""
        return (
            "Run one crawl in N processes (workers) on this machine, over the Redis server of REDIS_URL or REDIS_HOST. "
            "If the settings name none, a private redis-server is started for the crawl: with JOBDIR it keeps its data "
            "in JOBDIR/redis, and the same command resumes the crawl; without JOBDIR nothing is kept. "
            "Options are passed to each worker. Limits such as FRONTIER_MAX_SESSIONS and max_pages are per worker. "
            "What several processes cannot write to has the worker's number in its name: -o pages.jsonl gives "
            "pages-1.jsonl, pages-2.jsonl, ..., --logfile crawl.log gives crawl-1.log, ...; so do FEEDS, LINKS_FILE "
            "and REPOSITORY_DIR, and METRICS_PORT counts up. "
            "Without --logfile the logs are worker-1.log, ... in JOBDIR; without JOBDIR in a temporary directory, "
            "which is deleted if all ends well. "
            "Ctrl-C stops all workers, a second one forces it. A worker that is killed is started again."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds this command's option to those of ``scrapy crawl``."""
        super().add_options(parser)
        parser.add_argument(
            "-n",
            "--workers",
            type=_count,
            metavar="N",
            help=f"number of workers (default: one for each CPU core that may be used, here {_cores()})",
        )

    def run(self, args: list[str], opts: Namespace) -> None:
        """Run the crawl to its end; exit code 1 unless all workers ended well. Raises UsageError."""
        from crawlproject.options.extras import command_needs_extra

        with command_needs_extra("workers", "redis"):
            import scrapy_redis  # noqa: F401
            from redis.exceptions import RedisError

            from crawlproject.options.workers import WorkerSettings
        if len(args) != 1:
            raise UsageError("expected exactly one spider")
        assert self.settings is not None
        spider = _load_spider(args[0], self.settings)
        spider.update_settings(self.settings)
        try:
            parsed = WorkerSettings.from_settings(self.settings)
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error
        _check_settings(self.settings, parsed)
        try:
            is_well = self._run(spider.name, opts, parsed)
        except StopRequestedError:
            is_well = False
        except (PrivateRedisError, RedisError, OSError, ValueError) as error:
            sys.stderr.write(f"scrapy workers: {error}\n")
            is_well = False
        self.exitcode = 0 if is_well else 1

    def _run(self, spider: str, opts: Namespace, parsed: WorkerSettings) -> bool:
        """Whether the crawl ended well. The directory without JOBDIR is kept if it did not: its logs say why."""
        assert self.settings is not None
        job = parsed.job
        directory = job or Path(tempfile.mkdtemp(prefix="scrapy-workers-"))
        is_well = False
        try:
            with ExitStack() as stack:
                common = WorkerOptions(spider, opts.spargs, opts.set, self.settings, parsed, directory)
                is_well = _crawl(common, opts.workers or _cores(), stack)
        finally:
            if job is None and is_well:
                shutil.rmtree(directory, ignore_errors=True)
            elif job is None:
                with suppress(OSError):  # not empty
                    directory.rmdir()
        return is_well


def _crawl(options: WorkerOptions, count: int, stack: ExitStack) -> bool:
    """Start Redis and ``count`` workers, wait for their end; ``stack`` stops what is left. Whether all ended well."""
    settings, job = options.settings, options.parsed.job
    locks = (stack.enter_context(_locked(job)),) if job else ()
    signals = stack.enter_context(Signals())
    view = WorkerView(_info_key(settings, options.spider), count)
    private = None
    if not options.parsed.has_redis:
        private = stack.enter_context(PrivateRedis(job and job / "redis", signals, view.tell, locks))
        settings.set("REDIS_URL", private.url, "cmdline")
        options = replace(options, redis_url=private.url)
    client = stack.enter_context(closing(_client(settings)))
    client.ping()
    options = replace(options, arguments=_with_seed_file(options.arguments, options.directory))
    workers = [options.worker(number) for number in range(1, count + 1)]
    place = "a private redis-server" if private else "the Redis of the settings"
    view.tell(f"{counted(count, 'worker')} of spider {options.spider} over {place}; logs: {workers[0].log}, ...")

    def watch(pids: list[int]) -> bool:
        try:
            if private is not None:
                private.check()
        except PrivateRedisError as error:
            view.tell(str(error))
            return False
        view.watch(client, pids)
        return True

    start = time.monotonic()
    is_well = Workers(workers, signals, view.tell, watch).run()
    sums = summed(stats for worker in workers if (stats := worker.stats()) is not None)
    view.tell(summary(sums, count, time.monotonic() - start))
    deaths = sum(worker.deaths for worker in workers)
    if deaths:
        view.tell(f"{counted(deaths, 'death')} of workers: what these had counted is missing in the sums")
    if not is_well and job is None:
        view.tell(f"logs are kept in {workers[0].log.parent}")
    return is_well


def _count(value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise ArgumentTypeError(f"must be a whole number >= 1, not {value!r}")
    return int(value)


def _cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _load_spider(name: str, settings: BaseSettings) -> type[Spider]:
    from scrapy.spiderloader import get_spider_loader

    loader = get_spider_loader(settings)
    try:
        return loader.load(name)
    except KeyError:
        raise unknown_spider(name, loader.list()) from None


def _check_settings(settings: BaseSettings, parsed: WorkerSettings) -> None:
    """Raise UsageError if workers with these settings would not share one crawl."""
    from scrapy.utils.misc import load_object

    bases = {base for addon in settings.getdict("ADDONS") for base in load_object(addon).__mro__}
    if _ADDON not in {f"{base.__module__}.{base.__qualname__}" for base in bases}:
        raise UsageError(f"ADDONS: workers share nothing without {_ADDON}", print_help=False)
    if parsed.backend not in (None, "redis"):
        raise UsageError(
            f"FRONTIER_BACKEND={parsed.backend!r}: workers share a crawl only with 'redis'", print_help=False
        )
    if parsed.job and (parsed.job / "frontier").exists():
        raise UsageError(
            f"JOBDIR={str(parsed.job)!r}: holds a crawl of one process (scrapy crawl); name another directory",
            print_help=False,
        )


def _info_key(settings: BaseSettings, spider: str) -> str:
    """The hash that workers write their figures to."""
    return f"{{{settings['FRONTIER_REDIS_KEY'] or spider}}}:info"


def _client(settings: BaseSettings) -> Any:
    """A client that answers or fails within seconds. Raises ValueError for a wrong ``REDIS_URL``."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry
    from scrapy.settings import BaseSettings
    from scrapy_redis.connection import get_redis_from_settings

    quick = {
        "socket_timeout": _TIMEOUT,
        "socket_connect_timeout": _TIMEOUT,
        "retry_on_timeout": False,
        "retry": Retry(NoBackoff(), 0),
    }
    ours = BaseSettings({name: settings[name] for name in settings if str(name).startswith("REDIS_")})
    ours.set("REDIS_PARAMS", settings.getdict("REDIS_PARAMS") | quick)
    return get_redis_from_settings(ours)


def _with_seed_file(arguments: Mapping[str, str], directory: Path) -> Mapping[str, str]:
    """Spider arguments; ``seeds=-`` becomes a file of what standard input has, because only one process can read it."""
    if arguments.get("seeds") != "-":
        return arguments
    path = directory / "seeds.txt"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return {**arguments, "seeds": str(path)}


@contextmanager
def _locked(directory: Path) -> Iterator[int]:
    """A lock on a JOBDIR as long as this process, or its Redis server, lives: a file descriptor. Raises ValueError."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "workers.lock").open("a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"JOBDIR={str(directory)!r}: in use by another scrapy workers") from None
        yield file.fileno()
