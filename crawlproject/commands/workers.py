"""``scrapy workers -n N SPIDER``: one crawl by several processes on this machine, over Redis."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from scrapy.commands import BaseRunSpiderCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(Described, BaseRunSpiderCommand):
    """Starts the processes and waits for them; each is a ``scrapy crawl``."""

    requires_crawler_process = False
    usage = "[options] <spider>"
    summary = "Run one crawl in several processes on this machine, over Redis"
    explanation = (
        "Run one crawl in N processes (workers) on this machine, over the Redis server of REDIS_URL or REDIS_HOST. "
        "If the settings name none, a private redis-server is started for the crawl: with JOBDIR it keeps its data "
        "in JOBDIR/redis, and the same command resumes the crawl; without JOBDIR nothing is kept. "
        "Options are passed to each worker. Limits such as FRONTIER_MAX_SESSIONS and max_bytes are per worker. "
        "What several processes cannot write to has the worker's number in its name: -o pages.jsonl gives "
        "pages-1.jsonl, pages-2.jsonl, ..., --logfile crawl.log gives crawl-1.log, ...; so do FEEDS, "
        "FRONTIER_LINKS_FILE and FRONTIER_REPOSITORY_DIR, and FRONTIER_METRICS_PORT and FRONTIER_CONSOLE_PORT count "
        "up. Without --logfile the logs are worker-1.log, ... in JOBDIR; without JOBDIR in a temporary directory, "
        "which is deleted if all ends well. "
        "Ctrl-C stops all workers, a second one forces it. A worker that is killed is started again."
    )

    def add_options(self, parser: ArgumentParser) -> None:
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
        self.exitcode = 0 if self._is_well(args, opts) else 1

    def _is_well(self, args: list[str], opts: Namespace) -> bool:
        if not hasattr(signal, "sigtimedwait"):
            raise UsageError("needs Linux; scrapy crawl works here", print_help=False)
        with command_needs_extra("workers", "redis"):
            from redis import RedisError

            from crawlproject.commands.private_redis import PrivateRedisError, StopRequestedError
            from crawlproject.commands.worker_crawl import WorkerCrawl
            from crawlproject.storage.errors import StoreError, plain_message
        if len(args) != 1:
            raise UsageError("expected exactly one spider")
        from scrapy.spiderloader import get_spider_loader

        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        if args[0] not in loader.list():
            known = ", ".join(sorted(loader.list())) or "none"
            raise UsageError(f"no spider {args[0]!r} in SPIDER_MODULES; known spiders: {known}", print_help=False)
        crawl = WorkerCrawl(loader.load(args[0]), opts, self.settings)
        try:
            return crawl.run(opts.workers or _cores())
        except StopRequestedError:
            return False
        except (PrivateRedisError, RedisError, StoreError, OSError, ValueError) as error:
            sys.stderr.write(f"scrapy workers: {plain_message(error)}\n")
            return False


def _count(value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise ArgumentTypeError(f"must be a whole number >= 1, not {value!r}")
    return int(value)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
