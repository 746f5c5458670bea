"""The few settings that ``scrapy workers`` reads before it starts its processes; those in which workers must agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.options.redis import RedisOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls import DEFAULT_DROP_PARAMS

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

#: In the ``JOBDIR`` of ``scrapy workers``: locked while it runs, and a sign of such a crawl afterwards.
WORKERS_LOCK = "workers.lock"

#: Any of these, or of these keys of ``REDIS_PARAMS``, names a Redis server.
_SERVER = ("REDIS_URL", "REDIS_HOST", "REDIS_PORT")
_SERVER_PARAMS = frozenset(
    ("url", "host", "port", "unix_socket_path", "startup_nodes", "sentinels", "username", "password")
)


def _written(reader: Reader) -> dict[str, Path]:
    paths = {
        name: reader.path(name) for name in ("FRONTIER_LINKS_FILE", "FRONTIER_CRAWL_LOG", "FRONTIER_REPOSITORY_DIR")
    }
    return {name: path for name, path in paths.items() if path}


def _has_redis(reader: Reader) -> bool:
    return any(reader.value(name) for name in _SERVER) or not _SERVER_PARAMS.isdisjoint(
        reader.dictionary("REDIS_PARAMS")
    )


@dataclass(frozen=True)
class WorkerSettings(Options):
    """Files and ports that processes must not share, and whether the settings name a Redis server."""

    #: ``FRONTIER_BACKEND`` of the command line; None if it is not there.
    backend: Any = setting(
        lambda reader: reader.value("FRONTIER_BACKEND") if reader.is_given("FRONTIER_BACKEND") else None
    )
    job: Path | None = setting(Reader.path, "JOBDIR")
    log_file: Path | None = setting(Reader.path, "LOG_FILE")
    stats_file: Path | None = setting(Reader.path, "FRONTIER_MONITOR_STATS_FILE")
    #: Setting -> path that one process writes to; relative ones lie in the worker's own ``JOBDIR``.
    written: dict[str, Path] = setting(_written)
    #: ``FRONTIER_REPORT_DIR``: each worker has a directory in it.
    report: Path | None = setting(Reader.path, "FRONTIER_REPORT_DIR")
    #: 0: none.
    metrics_port: int = setting(Reader.count, "FRONTIER_METRICS_PORT", 0)
    console_port: int = setting(Reader.count, "FRONTIER_CONSOLE_PORT", 0)
    has_redis: bool = setting(_has_redis)
    redis: RedisOptions = setting(RedisOptions.read)

    def own_path(self, path: Path) -> bool:
        """Whether ``path`` lies in each worker's own ``JOBDIR``."""
        return self.job is not None and not path.is_absolute()


def common_settings(crawler: Crawler) -> dict[str, str]:
    """The settings that decide who owns a URL and which URLs are equal: the same in all workers. Name -> value."""
    options = RedisOptions.of(crawler)
    dropped = Reader(crawler.settings).strings("FRONTIER_DROP_PARAMETERS", unset=DEFAULT_DROP_PARAMS)
    values = {
        "FRONTIER_PARTITIONS": options.partitions,
        "FRONTIER_LEASE": options.lease,
        "FRONTIER_POLITENESS_GROUP": FrontierOptions.of(crawler).group,
        "FRONTIER_DROP_PARAMETERS": sorted(set(dropped)),
    }
    return {name: repr(value) for name, value in values.items()}
