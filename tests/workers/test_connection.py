"""Connections as scrapy-redis's settings say, with real servers; and one line for each that cannot be used."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import redis

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import RedisAddress, RedisConnector, check_server, reason_of, safe_url
from testbed.children import free_port
from tests.waiting import until
from tests.workers.certificates import write_certificates
from tests.workers.conftest import Server, Start


def both(address: RedisAddress) -> list[Any]:
    """Write with the blocking client, read with the other; what is read."""
    connector = RedisConnector(address)
    with connector.sync_client() as client:
        client.set("{web}:a", b"\xff")

    async def read() -> Any:
        try:
            client = connector.client()
            return await client.get("{web}:a")
        finally:
            await connector.close()

    return [asyncio.run(read()), connector.is_cluster]


def refusal(address: RedisAddress) -> str:
    """The error of the check at the start; one line that begins with the address."""
    connector = RedisConnector(address)
    with pytest.raises(StoreError) as caught:
        connector.check()
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{connector.place}: ")
    return message.removeprefix(f"{connector.place}: ")


def test_unix_socket(shared_server: Server) -> None:
    assert both(RedisAddress(shared_server.url)) == [b"\xff", False]
    assert both(RedisAddress(params={"unix_socket_path": str(shared_server.socket)})) == [b"\xff", False]


def test_settings_of_scrapy_redis(shared_server: Server) -> None:
    """Its own defaults: retries and decoding are not taken over."""
    params = {"socket_timeout": 30, "retry_on_timeout": True, "encoding": "utf-8", "decode_responses": True, "db": 0}
    assert both(RedisAddress(shared_server.url, params=params)) == [b"\xff", False]
    connector = RedisConnector(RedisAddress(f"{shared_server.url}?retry_on_timeout=1&socket_timeout=99", timeout=2.5))
    with connector.sync_client() as client:
        options = client.get_connection_kwargs()
    assert options["socket_timeout"] == 2.5
    assert options["retry"].get_retries() == 0
    asynchronous = connector.client().get_connection_kwargs()
    assert asynchronous["retry"].get_retries() == 0
    assert not asynchronous["decode_responses"]


def test_host_and_port(start: Start) -> None:
    server = start(tcp=True)
    assert both(RedisAddress(host="127.0.0.1", port=server.port, db=3)) == [b"\xff", False]
    with RedisConnector(RedisAddress(f"redis://127.0.0.1:{server.port}/3")).sync_client() as client:
        assert client.get("{web}:a") == b"\xff"
    assert both(RedisAddress(params={"host": "127.0.0.1", "port": server.port, "db": 4})) == [b"\xff", False]


def test_server_without_a_fault(shared_server: Server) -> None:
    assert RedisConnector(RedisAddress(shared_server.url)).check() == []


def test_password(start: Start) -> None:
    server = start("--requirepass", "se@cret")
    path = server.socket
    assert both(RedisAddress(f"unix://:se%40cret@{path}")) == [b"\xff", False]
    assert both(RedisAddress(server.url, params={"password": "se@cret"})) == [b"\xff", False]
    wrong = refusal(RedisAddress(f"unix://:other@{path}"))
    assert wrong.startswith("wrong or missing user name or password: ")
    assert "other" not in wrong
    assert refusal(RedisAddress(server.url)).startswith("wrong or missing user name or password: ")


def only_user(server: Server, *rules: str) -> None:
    """Only ``crawler`` with password ``pw`` may use the server, by ``rules``."""
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.execute_command("ACL", "SETUSER", "crawler", "on", ">SECRET", "~{web*", *rules)
        client.execute_command("ACL", "SETUSER", "default", "off")


def test_user_of_an_access_list(start: Start) -> None:
    server = start()
    only_user(server, "+@all", "-config")
    address = RedisAddress(f"unix://crawler:SECRET@{server.socket}")
    assert both(address) == [b"\xff", False]
    assert "crawler@" in RedisConnector(address).name
    assert "SECRET" not in RedisConnector(address).name


def test_user_who_may_not_ask(start: Start) -> None:
    server = start()
    only_user(server, "+@all", "-info")
    assert refusal(RedisAddress(f"unix://crawler:SECRET@{server.socket}")).startswith("the user may not do this: ")


def test_tls(start: Start, tmp_path: Path) -> None:
    write_certificates(tmp_path)
    files = [f"--tls-{name}-file" for name in ("ca-cert", "cert", "key")]
    paths = [str(tmp_path / name) for name in ("ca.pem", "cert.pem", "key.pem")]
    pairs = [part for pair in zip(files, paths, strict=True) for part in pair]
    port = start("--tls-port", "{port}", "--port", "0", "--tls-auth-clients", "no", *pairs, tcp=True).port
    url, ca = f"rediss://127.0.0.1:{port}", {"ssl_ca_certs": paths[0]}
    assert both(RedisAddress(url, params=ca)) == [b"\xff", False]
    assert both(RedisAddress(f"{url}?ssl_ca_certs={paths[0]}")) == [b"\xff", False]
    assert both(RedisAddress(host="127.0.0.1", port=port, params={"ssl": True, **ca})) == [b"\xff", False]
    assert refusal(RedisAddress(url)).startswith("TLS failed: ")
    assert "rediss://" in refusal(RedisAddress(f"redis://127.0.0.1:{port}"))


def test_sentinel(start: Start, tmp_path: Path) -> None:
    server = start(tcp=True)
    config = tmp_path / "sentinel.conf"
    config.write_text(f"sentinel monitor first 127.0.0.1 {server.port} 1\n")
    port = start(str(config), "--sentinel", tcp=True).port
    params: dict[str, Any] = {"sentinels": [("127.0.0.1", port)], "service_name": "first"}
    assert both(RedisAddress(params=params)) == [b"\xff", False]
    params = {"sentinels": f"127.0.0.1:{port}", "sentinel_master": "first"}
    address = RedisAddress(params=params)
    assert RedisConnector(address).name == f"redis+sentinel://127.0.0.1:{port}/first"
    assert both(address) == [b"\xff", False]
    params["sentinel_master"] = "second"
    assert refusal(RedisAddress(params=params)).startswith("Sentinel knows no primary: ")


def test_cluster(start: Start) -> None:
    server = start("--cluster-enabled", "yes", tcp=True)
    with redis.Redis(port=server.port, protocol=2) as node:
        node.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
        until(lambda: b"cluster_state:ok" in node.execute_command("CLUSTER", "INFO", NEVER_DECODE=True))
    place = f"127.0.0.1:{server.port}"
    assert both(RedisAddress(f"redis+cluster://{place}")) == [b"\xff", True]
    assert both(RedisAddress(f"redis://{place}", params={"redis_cls": "redis.cluster.RedisCluster"})) == [b"\xff", True]
    params: dict[str, Any] = {"redis_cls": redis.RedisCluster, "startup_nodes": [place]}
    assert both(RedisAddress(params=params)) == [b"\xff", True]
    assert RedisConnector(RedisAddress(params=params)).name == f"redis+cluster://{place}"
    assert "redis+cluster://" in refusal(RedisAddress(f"redis://{place}"))


def test_cluster_that_is_none(start: Start) -> None:
    server = start(tcp=True)
    assert "luster" in refusal(RedisAddress(f"redis+cluster://127.0.0.1:{server.port}"))


@pytest.mark.parametrize(
    "url", ["redis://127.0.0.1:{port}", "redis+cluster://127.0.0.1:{port}", "unix:///nothing/there"]
)
def test_nobody_listens(url: str) -> None:
    assert refusal(RedisAddress(url.format(port=free_port()), timeout=1.0))


def test_server_that_does_not_answer(start: Start) -> None:
    """It accepts connections, as a stopped process does."""
    server = start()
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        os.kill(client.info()["process_id"], signal.SIGSTOP)
    address = RedisAddress(server.url, timeout=0.2)
    assert refusal(address).startswith("no answer in time: ")

    async def ask() -> None:
        connector = RedisConnector(address)
        try:
            await connector.client().get("{web}:a")
        finally:
            await connector.close()

    with pytest.raises((redis.TimeoutError, redis.ConnectionError)):  # by the step that waits
        asyncio.run(ask())


def test_replica(start: Start) -> None:
    server = start("--replicaof", "127.0.0.1", "1")
    assert "is a replica" in refusal(RedisAddress(server.url))
    assert "127.0.0.1:1" in refusal(RedisAddress(server.url))


def test_server_that_drops_keys(start: Start) -> None:
    server = start("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    assert "maxmemory-policy allkeys-lru" in refusal(RedisAddress(server.url))
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.config_set("maxmemory", 0)
    [warning] = RedisConnector(RedisAddress(server.url)).check()
    assert "allkeys-lru would delete" in warning


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ([("CONFIG", "SET", "maxmemory", "1")], "its memory is full"),
        ([("REPLICAOF", "127.0.0.1", "1")], "is a replica"),
        ([("CONFIG", "SET", "save", "3600 1"), ("BGSAVE",)], "MISCONF"),
    ],
)
@pytest.mark.parametrize("in_script", [False, True])
def test_reason_of_a_refused_write(start: Start, faults: list[tuple[str, ...]], reason: str, in_script: bool) -> None:
    """The same from a command and from a script, whose error Redis 6 wraps in one of its own."""
    server = start()
    (server.folder / "dump.rdb").mkdir()  # where the server saves
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        for fault in faults:
            client.execute_command(*fault)
        until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        with pytest.raises(redis.RedisError) as caught:
            client.eval("return redis.call('SET', KEYS[1], 1)", 1, "a") if in_script else client.set("a", 1)
    assert reason_of(caught.value).startswith(reason)


class Fake:
    """Answers INFO."""

    def __init__(self, **info: Any) -> None:
        self._info = {"redis_version": "7.0.1", "maxmemory_policy": "noeviction", **info}

    def info(self) -> dict[str, Any]:
        return self._info


def test_old_server() -> None:
    with pytest.raises(StoreError, match=r"^redis://a: Redis 6\.0\.16 is too old: 6\.2 or newer is needed$"):
        check_server(Fake(redis_version="6.0.16"), "redis://a")
    assert check_server(Fake(redis_version="6.2.0"), "redis://a") == []
    assert check_server(Fake(redis_version="10.0.0"), "redis://a") == []


def test_server_that_tells_little() -> None:
    warnings = check_server(Fake(maxmemory_policy="", redis_version="cloud"), "redis://a")
    assert warnings == ["the server does not report its maxmemory-policy: make sure that it is noeviction"]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (RedisAddress("http://a"), "REDIS_URL='http://a'"),
        (RedisAddress("redis://:p/w@a:1"), "REDIS_URL='redis://a:1'"),
        (RedisAddress("redis://a:1?db=x"), "REDIS_URL='redis://a:1"),
        (RedisAddress("redis://a:1/news"), "REDIS_URL='redis://a:1/news'"),
        (RedisAddress("redis+cluster://a/3"), "database 3"),
        (RedisAddress("unix:///a", params={"redis_cls": "redis.RedisCluster"}), "Unix socket"),
        (RedisAddress(params={"redis_cls": "my.Client"}), r"REDIS_PARAMS\['redis_cls'\]='my.Client'"),
        (RedisAddress(params={"sentinels": [("a", 1)]}), "service_name"),
        (RedisAddress(params={"sentinels": [("a", 1)], "service_name": "m", "redis_cls": "RedisCluster"}), "exclude"),
        (RedisAddress(params={"sentinels": [1], "service_name": "m"}), r"REDIS_PARAMS\['sentinels'\]: 1"),
        (RedisAddress(params={"sentinels": ["a:b"], "service_name": "m"}), r"REDIS_PARAMS\['sentinels'\]: 'a:b'"),
        (RedisAddress(params={"pasword": "x"}), "REDIS_PARAMS: .*pasword"),
    ],
)
def test_settings_that_cannot_be_understood(address: RedisAddress, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        RedisConnector(address)
    assert "\n" not in str(caught.value)
    assert "p/w" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://a:6379/0", "redis://a:6379/0"),
        ("redis://:secret@a/0", "redis://a/0"),
        ("rediss://user:secret@a", "rediss://user@a"),
        ("redis://:se/c:r@t@a:1/0", "redis://a:1/0"),
        ("unix://u:secret@/tmp/s?db=1", "unix://u@/tmp/s?db=1"),
        ("redis://a?password=secret&ssl_password=secret&db=2", "redis://a?password=***&ssl_password=***&db=2"),
        ("a", "a"),
    ],
)
def test_safe_url(url: str, shown: str) -> None:
    assert safe_url(url) == shown
