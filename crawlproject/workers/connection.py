"""Connects to Redis as scrapy-redis's settings say: one server, Sentinel, or a Cluster; TCP, TLS or a Unix socket.

Beyond scrapy-redis:

- Sentinel: ``REDIS_PARAMS = {"sentinels": [("host", 26379), ..], "service_name": "mymaster"}``; ``"sentinel_kwargs"``
  may have the sentinels' own password or TLS.
- Cluster: a URL with ``redis+cluster://`` or ``rediss+cluster://``, or ``REDIS_PARAMS["redis_cls"]`` naming a class
  ``RedisCluster``.

What could stop a worker for long, or change replies, is not up to the settings: no retries inside the client, bounded
timeouts, replies as bytes, protocol 2.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.connection import SSLConnection, parse_url
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from crawlproject.storage.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    AsyncClient = redis.asyncio.Redis | redis.asyncio.RedisCluster
    SyncClient = redis.Redis | redis.RedisCluster

#: Oldest version of Redis that has all commands used.
MIN_VERSION = (6, 2)

#: A call may take this many timeouts, if its caller allows that.
LONG = 12

_CLUSTER_SCHEME = "+cluster"
#: Parameters that are read here, that we set ourselves, or that the clients here do not know.
_NOT_PASSED = {
    "url",
    "sentinels",
    "service_name",
    "sentinel_kwargs",
    "connection_pool",
    "decode_responses",
    "encoding",
    "encoding_errors",
    "protocol",
    "redis_cls",
    "retry",
    "retry_on_error",
    "retry_on_timeout",
    "single_connection_client",
}
_version = re.compile(r"(\d{1,5})\.(\d{1,5})").match
#: How Redis 6 begins the error of a command that a script called; Redis 7 passes the error on as it is.
_IN_SCRIPT = re.compile("^Error running script .*: -?(?=[A-Z]{1,20} )")
#: Characters of an error that are shown.
_MAX_REASON = 300
#: Class of an error, how its text begins (in scripts all are of one class), and what it means; the first one counts.
_REASONS: list[tuple[type[BaseException] | tuple[type[BaseException], ...], str, str]] = [
    (MasterNotFoundError, "", "Sentinel knows no primary"),
    (AuthenticationError, "", "wrong or missing user name or password"),
    (NoPermissionError, "", "the user may not do this"),
    ((OutOfMemoryError, ResponseError), "OOM |command not allowed when", "its memory is full (maxmemory)"),
    (ResponseError, "WRONGTYPE", "a key of the crawl is of another type (name another in FRONTIER_REDIS_KEY)"),
    (ReadOnlyError, "", "is a replica"),
    (ResponseError, "READONLY ", "is a replica"),
    (BusyLoadingError, "", "is loading its data, try again later"),
    ((RedisTimeoutError, TimeoutError), "", "no answer in time (FRONTIER_REDIS_TIMEOUT)"),
    ((redis.ConnectionError, OSError), "", "cannot be reached"),
]


class RedisConnector:
    """Makes clients with ``params``: those of redis-py, as ``options.redis`` collects them from the settings.

    ``timeout``: seconds to connect, and for a reply.  Raises ValueError, in one line with the setting, if the
    parameters cannot be understood.
    """

    def __init__(self, params: Mapping[str, Any], timeout: float = 5.0) -> None:
        url = str(params.get("url") or "")
        self._limits = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        given = {name: value for name, value in params.items() if name not in _NOT_PASSED}
        self._options = {"host": "localhost", "port": 6379, "db": 0, **given, **_parsed(url), **self._limits}
        self._service = str(params.get("service_name") or "")
        self._sentinels = _addresses(params.get("sentinels") or ())
        self._sentinel_options = {**self._limits, **params.get("sentinel_kwargs", {})}
        self.is_cluster = _is_cluster(params, url)
        self._check()
        #: Address for messages, without password.
        self.name = self._name(url)
        #: The same with the setting.
        self.place = f"{'REDIS_PARAMS' if self._sentinels else 'REDIS_URL' if url else 'REDIS_HOST'}={self.name}"
        self._open: list[Any] = []

    def client(self) -> AsyncClient:
        """A client for asyncio; it connects when it is first used."""
        made = self._made(
            redis.asyncio, AsyncRetry(NoBackoff(), 0), socket_timeout=LONG * self._limits["socket_timeout"]
        )
        self._open += made
        return made[0]  # type: ignore[no-any-return]

    async def close(self) -> None:
        while self._open:
            await self._open.pop().aclose()

    @contextmanager
    def sync_client(self) -> Iterator[SyncClient]:
        """A blocking client, for checks before the crawl starts. A Cluster is contacted at once."""
        made = self._made(redis, Retry(NoBackoff(), 0))
        try:
            yield made[0]
        finally:
            for one in made:
                one.close()

    def check(self) -> None:
        """Check that a crawl can be kept there. Blocks for a few round trips, or until the timeout.

        Raises StoreError if the server cannot be reached, is too old, a replica, deletes keys when its memory is full,
        or is of the other kind (one server, Cluster).
        """
        try:
            with self.sync_client() as client:
                reply: Any = (
                    client.info(target_nodes=redis.RedisCluster.PRIMARIES) if self.is_cluster else client.info()
                )
        except (RedisError, RedisClusterException, OSError) as error:
            raise StoreError(self.place, reason_of(error)) from error
        for info in [reply] if "redis_version" in reply else reply.values():
            if reason := refusal(info, is_cluster=self.is_cluster):
                raise StoreError(self.place, reason)

    def _made(self, library: Any, retry: Any, **more: Any) -> list[Any]:
        """A client of ``redis`` or ``redis.asyncio``, and those of the sentinels that it uses."""
        fixed = {"retry": retry, "protocol": 2}
        options = {**self._options, **fixed, **more}
        if self.is_cluster:
            del options["db"]
            return [library.RedisCluster(**options)]
        if not self._sentinels:
            return [library.Redis(**options)]
        for name in ("host", "port", "unix_socket_path"):  # Sentinel knows them
            options.pop(name, None)
        sentinel = library.Sentinel(self._sentinels, sentinel_kwargs={**fixed, **self._sentinel_options})
        return [sentinel.master_for(self._service, **options), *sentinel.sentinels]

    def _check(self) -> None:
        """Raise ValueError for what cannot be combined, or the client does not know."""
        if self._sentinels and not self._service:
            raise ValueError("REDIS_PARAMS['sentinels'] needs the name of the service: add 'service_name'")
        if self.is_cluster and (self._sentinels or self._options["db"] or "unix_socket_path" in self._options):
            raise ValueError("a Redis Cluster has only database 0, and is reached by host and port, without Sentinel")
        try:
            redis.Redis(**self._options).close()  # connects to nothing
        except TypeError as error:
            raise ValueError(f"REDIS_PARAMS: {one_line(error)}") from error

    def _name(self, url: str) -> str:
        if self._sentinels:
            hosts = ",".join(f"{host}:{port}" for host, port in self._sentinels)
            return f"redis+sentinel://{hosts}/{self._service}"
        options = self._options
        return (
            safe_url(url)
            if url
            else options.get("unix_socket_path") or "redis://{host}:{port}/{db}".format_map(options)
        )


def refusal(info: Mapping[str, Any], *, is_cluster: bool) -> str:
    """The reason why a server with this reply to INFO cannot hold a crawl; empty if it can."""
    version = str(info.get("redis_version", ""))
    numbers, policy = _version(version), str(info.get("maxmemory_policy", ""))
    if numbers and tuple(map(int, numbers.groups())) < MIN_VERSION:
        return f"Redis {version} is too old: {'.'.join(map(str, MIN_VERSION))} or newer is needed"
    if info.get("role") == "slave":
        primary = f"{info.get('master_host')}:{info.get('master_port')}"
        return f"is a replica, which cannot be written to: give the address of the primary, {primary}"
    if policy.startswith("allkeys"):
        return f"maxmemory-policy {policy} would delete parts of the crawl when memory is full: set it to noeviction"
    if not is_cluster and info.get("cluster_enabled") == 1:
        return "is a node of a Redis Cluster: use redis+cluster:// in REDIS_URL"
    return ""


def reason_of(error: BaseException) -> str:
    """The reason why Redis cannot be used, in one line, from an error of the client."""
    text = _IN_SCRIPT.sub("", one_line(error))
    for kind, starts, meaning in _REASONS:
        if isinstance(error, kind) and text.startswith(tuple(starts.split("|"))):
            return f"{meaning}: {text}" if text else meaning
    return text or type(error).__name__


def one_line(error: BaseException) -> str:
    """The message of ``error`` without line breaks, shortened. O(length)."""
    return " ".join(str(error)[: 4 * _MAX_REASON].split())[:_MAX_REASON]


def safe_url(url: str) -> str:
    """``url`` without password, also if the password was not escaped. O(length).

    >>> safe_url("redis://user:secret@example.org:6379/0?password=x")
    'redis://user@example.org:6379/0?password=***'
    """
    scheme, mark, rest = url.partition("://")
    user_info, at, place = rest.rpartition("@")
    user = user_info.partition(":")[0]
    place, question, query = place.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&"))
    shown = [f"{key}{equals}{'***' if 'pass' in key else value}" for key, equals, value in pairs]
    return f"{scheme}{mark}{user}{at if user else ''}{place}{question}{'&'.join(shown)}"


def _is_cluster(params: Mapping[str, Any], url: str) -> bool:
    """By the scheme of the URL or the name of the class. Raises ValueError for a class that is neither."""
    chosen = params.get("redis_cls") or redis.Redis
    name = (chosen if isinstance(chosen, str) else chosen.__name__).rpartition(".")[2]
    if name not in {"Redis", "StrictRedis", "RedisCluster"}:
        raise ValueError(f"REDIS_PARAMS['redis_cls']={chosen!r}: must be redis.Redis or redis.RedisCluster")
    return name == "RedisCluster" or url.partition("://")[0].endswith(_CLUSTER_SCHEME)


def _parsed(url: str) -> dict[str, Any]:
    """Arguments of ``redis.Redis`` in ``url``, which may be empty. Raises ValueError for a malformed one."""
    if not url:
        return {}
    scheme, mark, rest = url.partition("://")
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError for a port that is no number
        if scheme != "unix" and (database := parts.path.strip("/")):
            int(database)  # else redis-py would take the first one, and perhaps mix two crawls
        parsed: dict[str, Any] = dict(parse_url(scheme.removesuffix(_CLUSTER_SCHEME) + mark + rest))  # type: ignore[no-untyped-call]
    except ValueError:
        raise ValueError(
            f"REDIS_URL={safe_url(url)!r}: must be redis://, rediss://, unix:// or redis+cluster://, "
            "with the number of a database, and special characters of a password escaped (%40 for @)"
        ) from None  # its message may show the password
    if parsed.pop("connection_class", None) is SSLConnection:
        parsed["ssl"] = True
    if path := parsed.pop("path", None):
        parsed["unix_socket_path"] = path
    return {key: value for key, value in parsed.items() if key not in _NOT_PASSED}


def _addresses(pairs: Any) -> list[tuple[str, int]]:
    try:
        return [(str(host), int(port)) for host, port in pairs]
    except (TypeError, ValueError):
        raise ValueError(f"REDIS_PARAMS['sentinels']={pairs!r}: must be a list of (host, port)") from None
