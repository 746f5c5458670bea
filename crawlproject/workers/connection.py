"""Connects to Redis as scrapy-redis's settings say: one server, Sentinel, or a Cluster; TCP, TLS or a Unix socket.

``REDIS_URL`` (or host, port and database) and ``REDIS_PARAMS`` mean what they mean to scrapy-redis.  Beyond it:

- Sentinel: ``REDIS_PARAMS = {"sentinels": [("host", 26379), ..], "service_name": "mymaster"}``; also
  ``"sentinel_master"`` for the name, and ``"sentinel_kwargs"`` with the sentinels' own password or TLS.
- Cluster: a URL with ``redis+cluster://`` or ``rediss+cluster://``, or ``REDIS_PARAMS["redis_cls"]`` naming a class
  ``RedisCluster``; ``"startup_nodes"`` may list more than one address.

What could stop a worker for long, or change replies, is not up to the settings: no retries inside the client, bounded
timeouts, replies as bytes, protocol 2.
"""

from __future__ import annotations

import re
import ssl
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis
import redis.asyncio
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode
from redis.connection import SSLConnection, parse_url
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

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
_SENTINEL_PORT = 26379
#: Parameters that we set ourselves, or that the clients here do not know.
_OURS = {
    "connection_pool",
    "decode_responses",
    "encoding",
    "encoding_errors",
    "cluster_error_retry_attempts",
    "legacy_responses",
    "protocol",
    "redis_cls",
    "retry",
    "retry_on_error",
    "retry_on_timeout",
    "single_connection_client",
}
_version = re.compile(r"(\d{1,5})\.(\d{1,5})").match
#: How Redis 6 begins the error of a command that a script called; Redis 7 passes the error on as it is.
_IN_SCRIPT = re.compile("^Error running script .*: -(?=[A-Z]{1,20} )")
#: Characters of an error that are shown.
_MAX_REASON = 300


@dataclass(frozen=True)
class RedisAddress:
    """Where Redis is. Of ``url`` and host, port and database, the URL counts if there is one."""

    url: str | None = None
    host: str = "localhost"
    port: int = 6379
    db: int = 0
    #: ``REDIS_PARAMS``.
    params: Mapping[str, Any] = field(default_factory=dict)
    #: Seconds to connect, and for a reply.
    timeout: float = 5.0


class RedisConnector:
    """Makes clients for ``address``; decides between one server, Sentinel and Cluster.

    Raises ValueError, in one line with the setting, if the settings cannot be understood.
    """

    def __init__(self, address: RedisAddress) -> None:
        self._options = _client_options(address)
        self._timeout = address.timeout
        params = address.params
        self._service = str(params.get("service_name") or params.get("sentinel_master") or "")
        self._sentinels = _nodes("sentinels", params.get("sentinels"), _SENTINEL_PORT)
        self._sentinel_options = {**_timeouts(address.timeout), **params.get("sentinel_kwargs", {})}
        self._nodes = _nodes("startup_nodes", self._options.pop("startup_nodes", None), address.port)
        self.is_cluster = _is_cluster(address)
        self._check(address)
        #: Address for messages, without password.
        self.name = self._name(address)
        #: The same with the setting.
        self.place = _with_setting(address, self.name)
        self._open: list[Any] = []

    def client(self) -> AsyncClient:
        """A client for asyncio; it connects when it is first used."""
        retry = AsyncRetry(NoBackoff(), 0)
        settings = {"retry": retry, "protocol": 2, "socket_timeout": LONG * self._timeout}
        client: Any
        if self.is_cluster:
            client = redis.asyncio.RedisCluster(**{**self._cluster_options(AsyncClusterNode), **settings})
        elif self._sentinels:
            kwargs = {"retry": retry, "protocol": 2, **self._sentinel_options}
            sentinel = AsyncSentinel(self._sentinels, sentinel_kwargs=kwargs)  # type: ignore[no-untyped-call]
            self._open += sentinel.sentinels
            client = sentinel.master_for(self._service, **{**self._server_options(), **settings})
        else:
            client = redis.asyncio.Redis(**{**self._options, **settings})
        self._open.append(client)
        return client  # type: ignore[no-any-return]

    async def close(self) -> None:
        while self._open:
            await self._open.pop().aclose()

    @contextmanager
    def sync_client(self) -> Iterator[SyncClient]:
        """A blocking client, for checks before the crawl starts. A Cluster is contacted at once."""
        retry = Retry(NoBackoff(), 0)
        client: Any
        sentinels: list[Any] = []
        if self.is_cluster:
            client = redis.RedisCluster(retry=retry, protocol=2, **self._cluster_options(ClusterNode))
        elif self._sentinels:
            kwargs = {"retry": retry, "protocol": 2, **self._sentinel_options}
            sentinel = Sentinel(self._sentinels, sentinel_kwargs=kwargs)  # type: ignore[no-untyped-call]
            sentinels = sentinel.sentinels
            client = sentinel.master_for(self._service, retry=retry, protocol=2, **self._server_options())  # type: ignore[no-untyped-call]
        else:
            client = redis.Redis(retry=retry, protocol=2, **self._options)
        try:
            yield client
        finally:
            for one in (client, *sentinels):
                one.close()

    def check(self) -> list[str]:
        """See ``check_server``. Blocks for a few round trips, or until the timeout."""
        try:
            with self.sync_client() as client:
                return check_server(client, self.place)
        except (RedisError, RedisClusterException, OSError) as error:
            is_timeout = isinstance(error, RedisTimeoutError | TimeoutError)
            hint = " (if it expects no TLS, use redis://)" if is_timeout and self._options.get("ssl") else ""
            raise StoreError(self.place, reason_of(error) + hint) from error

    def _check(self, address: RedisAddress) -> None:
        """Raise ValueError for what cannot be combined, or the client does not know."""
        if self._sentinels and not self._service:
            raise ValueError("REDIS_PARAMS['sentinels'] needs the name of the service: add 'service_name'")
        if self._sentinels and self.is_cluster:
            raise ValueError("REDIS_PARAMS: sentinels and a Redis Cluster exclude each other")
        if self.is_cluster and self._options.get("db"):
            raise ValueError(f"database {self._options['db']}: a Redis Cluster has only database 0")
        if self.is_cluster and "unix_socket_path" in self._options:
            raise ValueError("a Redis Cluster cannot be reached by a Unix socket")
        try:
            redis.Redis(**self._options).close()  # connects to nothing
        except TypeError as error:
            raise ValueError(f"REDIS_PARAMS: {one_line(error)}") from error

    def _cluster_options(self, node: type[Any]) -> dict[str, Any]:
        options = {key: value for key, value in self._options.items() if key != "db"}
        if self._nodes:
            options["startup_nodes"] = [node(host, port) for host, port in self._nodes]
            del options["host"], options["port"]
        return options

    def _server_options(self) -> dict[str, Any]:
        """For a server whose address Sentinel knows."""
        return {key: value for key, value in self._options.items() if key not in {"host", "port", "unix_socket_path"}}

    def _name(self, address: RedisAddress) -> str:
        scheme = "rediss" if self._options.get("ssl") else "redis"
        if self._sentinels:
            hosts = ",".join(f"{host}:{port}" for host, port in self._sentinels)
            return f"{scheme}+sentinel://{hosts}/{self._service}"
        url = _url(address)
        if url:
            return safe_url(url)
        if path := self._options.get("unix_socket_path"):
            return f"unix://{path}"
        options = self._options
        hosts = ",".join(f"{host}:{port}" for host, port in self._nodes) or f"{options['host']}:{options['port']}"
        return f"{scheme}{_CLUSTER_SCHEME}://{hosts}" if self.is_cluster else f"{scheme}://{hosts}/{options['db']}"


def check_server(client: Any, name: str) -> list[str]:
    """Check that a crawl can be kept in the server of the blocking ``client``; ``name``: its address, for messages.

    Returns what could not be checked, one line each.

    Raises StoreError if it is too old, a replica, drops keys when its memory is full, or is of the other kind (one
    server, Cluster); RedisError if it cannot be asked.
    """
    is_cluster = isinstance(client, redis.RedisCluster)
    reply = client.info(target_nodes=redis.RedisCluster.PRIMARIES) if is_cluster else client.info()
    infos = [reply] if "redis_version" in reply else list(reply.values())
    for info in infos:
        if reason := _refusal(info, is_cluster=is_cluster):
            raise StoreError(name, reason)
    oldest = min(infos, key=lambda info: _numbers(info["redis_version"]) or MIN_VERSION)
    policy = str(oldest.get("maxmemory_policy", ""))
    warnings = [] if policy else ["the server does not report its maxmemory-policy: make sure that it is noeviction"]
    if policy.startswith("allkeys"):  # without maxmemory
        warnings.append(f"maxmemory-policy {policy} would delete parts of the crawl if there were a maxmemory")
    return warnings


def _refusal(info: Mapping[str, Any], *, is_cluster: bool) -> str:
    """The reason why a server with this reply to INFO cannot hold a crawl; empty if it can."""
    version = str(info.get("redis_version", ""))
    if (numbers := _numbers(version)) and numbers < MIN_VERSION:
        return f"Redis {version} is too old: {'.'.join(map(str, MIN_VERSION))} or newer is needed"
    if info.get("role") == "slave":
        primary = f"{info.get('master_host')}:{info.get('master_port')}"
        return f"is a replica, which cannot be written to: give the address of the primary, {primary}"
    if reason := policy_refusal(info):
        return reason
    if not is_cluster and (info.get("redis_mode") == "cluster" or info.get("cluster_enabled") == 1):
        return "is a node of a Redis Cluster: use redis+cluster:// in REDIS_URL"
    return ""


def policy_refusal(info: Mapping[str, Any]) -> str:
    """The reason why a server with this reply to INFO would delete parts of a crawl; empty if it would not."""
    policy = str(info.get("maxmemory_policy", ""))
    if not policy.startswith("allkeys") or not info.get("maxmemory"):
        return ""
    return (
        f"maxmemory-policy {policy} would delete parts of the crawl when memory is full: set it to noeviction "
        f"(maxmemory is {info['maxmemory']} bytes)"
    )


def is_full(error: BaseException) -> bool:
    """Whether Redis refuses to write because its memory is full."""
    return isinstance(error, OutOfMemoryError) or _IN_SCRIPT.sub("", str(error)).startswith("OOM ")


def _numbers(version: object) -> tuple[int, int] | None:
    found = _version(str(version))
    return (int(found[1]), int(found[2])) if found else None


def reason_of(error: BaseException) -> str:
    """The reason why Redis cannot be used, in one line, from an error of the client."""
    text = _IN_SCRIPT.sub("", one_line(error))
    if failure := _cause(error, ssl.SSLError):
        return f"TLS failed: {one_line(failure)}"
    if isinstance(error, MasterNotFoundError):
        return f"Sentinel knows no primary: {text}"
    if isinstance(error, AuthenticationError):
        return f"wrong or missing user name or password: {text}"
    if isinstance(error, NoPermissionError):
        return f"the user may not do this: {text}"
    if is_full(error):
        return f"its memory is full (maxmemory): {text}"
    if "WRONGTYPE" in text:
        return f"a key of the crawl is of another type (name another in FRONTIER_REDIS_KEY): {text}"
    if isinstance(error, ReadOnlyError) or text.startswith("READONLY "):
        return f"is a replica: {text}"
    if isinstance(error, BusyLoadingError):
        return f"is loading its data, try again later: {text}"
    if isinstance(error, RedisTimeoutError | TimeoutError):
        return f"no answer in time: {text or 'see FRONTIER_REDIS_TIMEOUT'}"
    if isinstance(error, redis.ConnectionError | OSError):
        hint = " (if it expects TLS, use rediss://)" if "closed" in text or "reset" in text else ""
        return f"cannot be reached: {text}{hint}"
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


def _cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None or isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _url(address: RedisAddress) -> str:
    return str(address.url or address.params.get("url") or "")


def _with_setting(address: RedisAddress, name: str) -> str:
    if address.params.get("sentinels") or address.params.get("startup_nodes"):
        return f"REDIS_PARAMS={name}"
    has_host = not _url(address) and {"host", "port", "unix_socket_path"} & address.params.keys()
    return f"REDIS_HOST={name}" if has_host else f"REDIS_URL={name}"


def _is_cluster(address: RedisAddress) -> bool:
    """By the scheme of the URL or the name of the class. Raises ValueError for a class that is neither."""
    chosen = address.params.get("redis_cls") or redis.Redis
    name = (chosen if isinstance(chosen, str) else chosen.__name__).rpartition(".")[2]
    if name not in {"Redis", "StrictRedis", "RedisCluster", "StrictRedisCluster"}:
        raise ValueError(f"REDIS_PARAMS['redis_cls']={chosen!r}: must be redis.Redis or redis.RedisCluster")
    return name.endswith("Cluster") or _url(address).partition("://")[0].endswith(_CLUSTER_SCHEME)


def _client_options(address: RedisAddress) -> dict[str, Any]:
    """Arguments of ``redis.Redis``, without retries. Raises ValueError for a malformed URL."""
    theirs = {"url", "sentinels", "service_name", "sentinel_master", "sentinel_kwargs", *_OURS}
    options: dict[str, Any] = {"host": address.host, "port": address.port, "db": address.db}
    options.update((key, value) for key, value in address.params.items() if key not in theirs)
    if url := _url(address):
        del options["host"], options["port"], options["db"]
        options = {"host": "localhost", "port": 6379, "db": address.params.get("db", 0), **options, **_parse(url)}
    return {**options, **_timeouts(address.timeout)}


def _timeouts(seconds: float) -> dict[str, float]:
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds}


def _parse(url: str) -> dict[str, Any]:
    """Arguments of ``redis.Redis`` in ``url``."""
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
    connection = parsed.pop("connection_class", None)
    if connection is SSLConnection:
        parsed["ssl"] = True
    if path := parsed.pop("path", None):
        parsed["unix_socket_path"] = path
    return {key: value for key, value in parsed.items() if key not in _OURS}


def _nodes(name: str, value: Any, port: int) -> list[tuple[str, int]]:
    """Addresses given as (host, port), "host:port" or {"host":, "port":}."""
    nodes = []
    for one in [value] if isinstance(value, str) else value or ():
        try:
            if isinstance(one, str):
                host, _, number = one.rpartition(":") if ":" in one else (one, "", "")
                nodes.append((host, int(number or port)))
            elif isinstance(one, dict):
                nodes.append((str(one["host"]), int(one.get("port", port))))
            else:
                host, number = one
                nodes.append((str(host), int(number)))
        except (TypeError, ValueError, KeyError):
            raise ValueError(f"REDIS_PARAMS[{name!r}]: {one!r} must be (host, port) or 'host:port'") from None
    return nodes
