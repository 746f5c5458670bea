"""The settings of a crawl by several workers over Redis; what ``scrapy workers`` reads before it starts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls import DEFAULT_DROP_PARAMS

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

StartUrlsType = Literal["list", "set", "zset"]

#: In the ``JOBDIR`` of ``scrapy workers``: locked while it runs, and a sign of such a crawl afterwards.
WORKERS_LOCK = "workers.lock"

#: Any of these, or of these keys of ``REDIS_PARAMS``, names a Redis server.
_SERVER = ("REDIS_URL", "REDIS_HOST", "REDIS_PORT")
_SERVER_PARAMS = frozenset(
    ("url", "host", "port", "unix_socket_path", "startup_nodes", "sentinels", "username", "password")
)

#: Most partitions: each has a few keys in Redis, which every worker looks at.
MAX_PARTITIONS = 4096

#: Longest ``FRONTIER_REDIS_KEY``, characters.
MAX_KEY = 200

#: Setting of scrapy-redis -> name of the parameter of its client.
_PARAMETERS = {
    "REDIS_URL": "url",
    "REDIS_HOST": "host",
    "REDIS_PORT": "port",
    "REDIS_DB": "db",
    "REDIS_ENCODING": "encoding",
}


def _connection(reader: Reader) -> dict[str, Any]:
    parameters = reader.dictionary("REDIS_PARAMS")
    for name, parameter in _PARAMETERS.items():
        if name in ("REDIS_PORT", "REDIS_DB"):
            value: Any = None if reader.value(name) in (None, "") else reader.count(name, None)
        else:
            value = reader.value(name)
            if not (value is None or isinstance(value, str)):
                raise reader.wrong(name, "text")
        if value:  # as scrapy-redis: 0 and "" are not set
            parameters[parameter] = value
    return parameters


def _start_urls_key(reader: Reader) -> str:
    value = reader.value("REDIS_START_URLS_KEY", "%(name)s:start_urls")
    try:
        is_key = isinstance(value, str) and bool((value % {"name": "x"}).strip())
    except (ValueError, TypeError, KeyError):
        is_key = False
    if not is_key:
        raise reader.wrong("REDIS_START_URLS_KEY", "a key, with %(name)s for the spider's name")
    return str(value)


def _start_urls_type(reader: Reader) -> StartUrlsType:
    """As in scrapy-redis, a set wins over a sorted set."""
    as_set = reader.switch("REDIS_START_URLS_AS_SET", False)
    as_zset = reader.switch("REDIS_START_URLS_AS_ZSET", False)
    return "set" if as_set else "zset" if as_zset else "list"


def _key(reader: Reader) -> str | None:
    value = reader.value("FRONTIER_REDIS_KEY")
    return None if value is None else _checked_key(value, f"FRONTIER_REDIS_KEY={value!r:.300}:")


def _checked_key(key: Any, start: str) -> str:
    """``key`` if it can stand between the braces of a hash tag. Raises ValueError; its text begins with ``start``."""
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY or not key.isprintable() or set(key) & set("{}"):
        raise ValueError(f"{start} must be 1 to {MAX_KEY} characters without braces and control characters")
    return key


def _partitions(reader: Reader) -> int:
    number = reader.count("FRONTIER_PARTITIONS", 256, least=1)
    if number > MAX_PARTITIONS or number & (number - 1):
        raise reader.wrong("FRONTIER_PARTITIONS", f"a power of two, at most {MAX_PARTITIONS}")
    return number


@dataclass(frozen=True)
class RedisOptions(Options):
    """Settings of scrapy-redis, with its meaning, and those of the backend ``redis``. Times in seconds.

    FRONTIER_REDIS_KEY: prefix of the crawl's keys; processes with the same prefix share a crawl; default: the
        spider's name
    FRONTIER_PARTITIONS: parts into which servers are divided, a power of two up to 4096; fixed when the crawl is
        created
    FRONTIER_LEASE: seconds without a sign of life after which a worker's servers pass to others
    FRONTIER_REDIS_TIMEOUT: maximum time of a call to Redis, seconds
    FRONTIER_KEEP_RUNNING: workers without work wait for start URLs instead of ending the crawl
    REDIS_URL: scrapy-redis's: address, such as `redis://host:6379/0`; takes precedence over the next three
    REDIS_HOST: scrapy-redis's: host; default: `localhost`
    REDIS_PORT: scrapy-redis's: port; default: 6379
    REDIS_DB: scrapy-redis's: number of the database; default: 0
    REDIS_ENCODING: scrapy-redis's: encoding of start URLs; default: `utf-8`
    REDIS_PARAMS: scrapy-redis's: further parameters of the client, a dict or JSON
    REDIS_START_URLS_KEY: scrapy-redis's: key from which start URLs are taken
    REDIS_START_URLS_AS_SET: scrapy-redis's: that key is a set
    REDIS_START_URLS_AS_ZSET: scrapy-redis's: that key is a sorted set, highest score first
    """

    #: Parameters of the client that the project sets, as ``scrapy_redis.connection.get_redis`` takes them:
    #: ``REDIS_PARAMS``, and in preference to it url, host, port, db, encoding.
    connection: dict[str, Any] = setting(_connection)
    #: Key of the start URLs, with ``%(name)s`` for the spider's name.
    start_urls_key: str = setting(_start_urls_key)
    start_urls_type: StartUrlsType = setting(_start_urls_type)
    #: Beginning of the crawl's keys; None: the spider's name.
    key: str | None = setting(_key)
    # Enough for 16 workers: each has 16 of them, so that their loads differ little.
    partitions: int = setting(_partitions)
    # Longer than any pause of a healthy worker; for this time, a dead worker's servers are not crawled.
    lease: float = setting(Reader.number, "FRONTIER_LEASE", 15.0, 2.0)
    timeout: float = setting(Reader.number, "FRONTIER_REDIS_TIMEOUT", 5.0, 0.1)
    keep_running: bool = setting(Reader.switch, "FRONTIER_KEEP_RUNNING", False)

    def key_of(self, spider: str) -> str:
        """Beginning of the crawl's keys, for the spider's name. Raises ValueError for a name that cannot be one."""
        return self.key or _checked_key(spider, f"FRONTIER_REDIS_KEY: the spider's name, {spider!r}, cannot be it:")

    def start_urls_key_of(self, spider: str) -> str:
        """Key of the start URLs, for the spider's name."""
        return self.start_urls_key % {"name": spider}


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


def common_settings(crawler: Crawler) -> dict[str, str]:
    """The settings that decide who owns a URL and which URLs are equal: the same in all workers. Name -> value."""
    options, reader = RedisOptions.of(crawler), Reader(crawler.settings)
    values = {
        "FRONTIER_PARTITIONS": options.partitions,
        "FRONTIER_LEASE": options.lease,
        "FRONTIER_POLITENESS_GROUP": reader.value("FRONTIER_POLITENESS_GROUP", "server"),
        "FRONTIER_DROP_PARAMETERS": sorted(set(reader.strings("FRONTIER_DROP_PARAMETERS", unset=DEFAULT_DROP_PARAMS))),
    }
    return {name: repr(value) for name, value in values.items()}
