"""The few settings that ``scrapy workers`` reads before it starts its processes, which read all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from crawlproject.options.redis import RedisOptions
from crawlproject.options.values import Options

if TYPE_CHECKING:
    from pathlib import Path

    from crawlproject.options.values import Reader

#: Any of these, or of these keys of ``REDIS_PARAMS``, names a Redis server.
_SERVER = ("REDIS_URL", "REDIS_HOST", "REDIS_PORT")
_SERVER_PARAMS = frozenset(
    ("url", "host", "port", "unix_socket_path", "startup_nodes", "sentinels", "username", "password")
)


@dataclass(frozen=True)
class WorkerSettings(Options):
    """Files and ports that processes must not share, and whether the settings name a Redis server."""

    #: ``FRONTIER_BACKEND`` of the command line; None if it is not there.
    backend: Any
    job: Path | None
    log_file: Path | None
    stats_file: Path | None
    #: Setting -> path that one process writes to; relative ones lie in the worker's own ``JOBDIR``.
    written: dict[str, Path]
    #: ``REPORT_DIR``: each worker has a directory in it.
    report: Path | None
    #: 0: none.
    metrics_port: int
    console_port: int
    has_redis: bool
    redis: RedisOptions

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        written = {name: reader.path(name) for name in ("LINKS_FILE", "REPOSITORY_DIR")}
        params = reader.dictionary("REDIS_PARAMS")
        return cls(
            backend=reader.value("FRONTIER_BACKEND") if reader.is_given("FRONTIER_BACKEND") else None,
            job=reader.path("JOBDIR"),
            log_file=reader.path("LOG_FILE"),
            stats_file=reader.path("MONITOR_STATS_FILE"),
            written={name: path for name, path in written.items() if path},
            report=reader.path("REPORT_DIR"),
            metrics_port=reader.count("METRICS_PORT", 0),
            console_port=reader.count("CONSOLE_PORT", 0),
            has_redis=any(reader.value(name) for name in _SERVER) or not _SERVER_PARAMS.isdisjoint(params),
            redis=RedisOptions.read(reader),
        )

    def own_path(self, path: Path) -> bool:
        """Whether ``path`` lies in each worker's own ``JOBDIR``."""
        return self.job is not None and not path.is_absolute()
