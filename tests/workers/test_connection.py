"""Connections as scrapy-redis's settings say, with real servers; and one line for each that cannot be used."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import RedisConnector, reason_of, refusal, safe_url
from testbed.children import free_port
from testbed.redis_server import RedisServerError, RunningRedis
from tests.crawl.scripted_site import tls_pem
from tests.waiting import until


def both(**params: Any) -> Any:
    """Write with the blocking client, read with the other; what is read."""
    connector = RedisConnector(params)
    with connector.sync_client() as client:
        client.set("{web}:a", b"\xff")

    async def read() -> Any:
        try:
            return await connector.client().get("{web}:a")
        finally:
            await connector.close()

    return asyncio.run(read())


def refused(timeout: float = 5.0, **params: Any) -> str:
    """The error of the check at the start; one line that begins with the address."""
    connector = RedisConnector(params, timeout)
    with pytest.raises(StoreError) as caught:
        connector.check()
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{connector.place}: ")
    return message.removeprefix(f"{connector.place}: ")


def test_a_socket_and_what_scrapy_redis_passes(redis_program: Path) -> None:
    """Its own defaults: retries, decoding and timeouts are not taken over."""
    theirs = {"socket_timeout": 30, "retry_on_timeout": True, "encoding": "utf-8", "decode_responses": True, "db": 0}
    with RunningRedis(unix=True) as server:
        assert both(unix_socket_path=str(server.socket_path)) == b"\xff"
        assert both(url=server.url, **theirs) == b"\xff"
        RedisConnector({"url": server.url}).check()
        connector = RedisConnector({"url": f"{server.url}&retry_on_timeout=1&socket_timeout=99"}, 2.5)
        with connector.sync_client() as client:
            options = client.get_connection_kwargs()
        assert options["socket_timeout"] == 2.5
        assert options["retry"].get_retries() == 0
        asynchronous = connector.client().get_connection_kwargs()
        assert asynchronous["retry"].get_retries() == 0
        assert not asynchronous["decode_responses"]


def test_host_and_port(redis_server: RunningRedis) -> None:
    assert both(host=redis_server.host, port=redis_server.port, db=3) == b"\xff"
    with RedisConnector({"url": redis_server.url.replace("/0", "/3")}).sync_client() as client:
        assert client.get("{web}:a") == b"\xff"


def test_passwords_and_users(redis_server: RunningRedis) -> None:
    """In the URL, or beside it; in no message."""
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "crawler", "on", ">se@cret", "~{web*", "+@all", "-config")
        client.execute_command("ACL", "SETUSER", "blind", "on", ">se@cret", "~{web*", "+@all", "-info")
        client.execute_command("ACL", "SETUSER", "default", "off")
    at = f"{redis_server.host}:{redis_server.port}"
    assert both(url=f"redis://crawler:se%40cret@{at}") == b"\xff"
    assert both(url=redis_server.url, username="crawler", password="se@cret") == b"\xff"
    assert RedisConnector({"url": f"redis://crawler:se%40cret@{at}"}).name == f"redis://crawler@{at}"
    wrong = refused(url=f"redis://crawler:other@{at}")
    assert wrong.startswith("wrong or missing user name or password: ")
    assert "other" not in wrong
    assert refused(url=redis_server.url).startswith("wrong or missing user name or password: ")
    assert refused(url=f"redis://blind:se%40cret@{at}").startswith("the user may not do this: ")


def test_tls(redis_program: Path, tmp_path: Path) -> None:
    pem, port = tmp_path / "server.pem", free_port()
    pem.write_bytes(tls_pem("127.0.0.1"))
    files = [f"tls-{name}-file {pem}" for name in ("ca-cert", "cert", "key")]
    try:
        with RunningRedis(unix=True, config=[*files, f"tls-port {port}", "tls-auth-clients no", "bind 127.0.0.1"]):
            url = f"rediss://127.0.0.1:{port}"
            assert both(url=url, ssl_ca_certs=str(pem)) == b"\xff"
            assert both(url=f"{url}?ssl_ca_certs={pem}") == b"\xff"
            assert both(host="127.0.0.1", port=port, ssl=True, ssl_ca_certs=str(pem)) == b"\xff"
            assert "CERTIFICATE_VERIFY_FAILED" in refused(url=url)
            assert refused(url=f"redis://127.0.0.1:{port}").startswith("cannot be reached: ")
    except RedisServerError:
        pytest.skip("redis-server has no TLS")


@contextmanager
def sentinel(server: RunningRedis, folder: Path) -> Iterator[int]:
    """The port of a Sentinel that knows ``server`` as ``first``."""
    config, port = folder / "sentinel.conf", free_port()
    config.write_text(f"sentinel monitor first {server.host} {server.port} 1\n")
    command = [str(server._program), str(config), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port) as client:
            until(lambda: answers(client), process)
        yield port
    finally:
        process.kill()
        process.wait()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def test_sentinel(redis_server: RunningRedis, tmp_path: Path) -> None:
    with sentinel(redis_server, tmp_path) as port:
        params = {"sentinels": [["127.0.0.1", port]], "service_name": "first"}
        assert both(**params) == b"\xff"
        assert RedisConnector(params).name == f"redis+sentinel://127.0.0.1:{port}/first"
        assert refused(**params | {"service_name": "second"}).startswith("Sentinel knows no primary: ")


def test_cluster(redis_program: Path) -> None:
    with RunningRedis(config=["cluster-enabled yes"], program=redis_program) as server, server.client() as node:
        node.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
        until(lambda: b"cluster_state:ok" in node.execute_command("CLUSTER", "INFO", NEVER_DECODE=True))
        url = f"redis://{server.host}:{server.port}"
        assert both(url=url.replace("redis:", "redis+cluster:")) == b"\xff"
        assert both(url=url, redis_cls="redis.cluster.RedisCluster") == b"\xff"
        assert both(host=server.host, port=server.port, redis_cls=redis.RedisCluster) == b"\xff"
        assert "redis+cluster://" in refused(url=url)


def test_cluster_that_is_none(redis_server: RunningRedis) -> None:
    assert "luster" in refused(url=redis_server.url.replace("redis:", "redis+cluster:"))


@pytest.mark.parametrize("url", ["redis://127.0.0.1:{}", "redis+cluster://127.0.0.1:{}", "unix:///nothing/there"])
def test_nobody_listens(url: str) -> None:
    assert refused(1.0, url=url.format(free_port()))


def test_server_that_does_not_answer(redis_server: RunningRedis) -> None:
    """It accepts connections, as a stopped process does."""
    os.kill(redis_server.pid, signal.SIGSTOP)
    assert refused(0.2, url=redis_server.url).startswith("no answer in time (FRONTIER_REDIS_TIMEOUT)")


@pytest.mark.parametrize(
    ("faults", "reason"),
    [
        ([("CONFIG", "SET", "maxmemory", "1")], "its memory is full"),
        ([("REPLICAOF", "127.0.0.1", "1")], "is a replica"),
        ([("CONFIG", "SET", "save", "3600 1"), ("BGSAVE",)], "MISCONF"),
        ([("RPUSH", "a", "1")], "a key of the crawl is of another type"),
    ],
)
@pytest.mark.parametrize("in_script", [False, True])
def test_reason_of_a_refused_write(
    redis_server: RunningRedis, faults: list[tuple[str, ...]], reason: str, in_script: bool
) -> None:
    """The same from a command and from a script, whose error Redis 6 wraps in one of its own."""
    (redis_server.folder / "dump.rdb").mkdir()  # where the server saves
    with redis_server.client() as client:
        for fault in faults:
            client.execute_command(*fault)
        until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
        with pytest.raises(redis.RedisError) as caught:
            client.eval("return redis.call('INCR', KEYS[1])", 1, "a") if in_script else client.incr("a")
    assert reason_of(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"redis_version": "6.0.16"}, "Redis 6.0.16 is too old: 6.2 or newer is needed"),
        ({"redis_version": "6.2.0"}, ""),
        ({"redis_version": "10.0.0"}, ""),
        ({"redis_version": "cloud", "maxmemory_policy": ""}, ""),
        ({"role": "slave", "master_host": "a", "master_port": 1}, "is a replica, .* a:1"),
        ({"maxmemory_policy": "allkeys-lru"}, "maxmemory-policy allkeys-lru would delete parts"),
    ],
)
def test_servers_that_cannot_hold_a_crawl(info: dict[str, Any], reason: str) -> None:
    found = refusal({"redis_version": "7.0.1", "maxmemory_policy": "noeviction", **info}, is_cluster=False)
    assert bool(found) == bool(reason)
    assert re.match(reason, found)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"url": "http://a"}, "REDIS_URL='http://a'"),
        ({"url": "redis://:p/w@a:1"}, "REDIS_URL='redis://a:1'"),
        ({"url": "redis://a:1?db=x"}, "REDIS_URL='redis://a:1"),
        ({"url": "redis://a:1/news"}, "REDIS_URL='redis://a:1/news'"),
        ({"url": "redis+cluster://a/3"}, "only database 0"),
        ({"url": "unix:///a", "redis_cls": "redis.RedisCluster"}, "by host and port"),
        ({"redis_cls": "my.Client"}, r"REDIS_PARAMS\['redis_cls'\]='my.Client'"),
        ({"sentinels": [("a", 1)]}, "service_name"),
        ({"sentinels": [("a", 1)], "service_name": "m", "redis_cls": "RedisCluster"}, "without Sentinel"),
        ({"sentinels": [1], "service_name": "m"}, r"REDIS_PARAMS\['sentinels'\]=\[1\]"),
        ({"pasword": "x"}, "REDIS_PARAMS: .*pasword"),
    ],
)
def test_settings_that_cannot_be_understood(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        RedisConnector(params)
    assert "\n" not in str(caught.value)
    assert "p/w" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:secret@a/0", "redis://a/0"),
        ("rediss://user:secret@a", "rediss://user@a"),
        ("redis://:se/c:r@t@a:1/0", "redis://a:1/0"),
        ("redis://a?password=secret&ssl_password=secret&db=2", "redis://a?password=***&ssl_password=***&db=2"),
        ("a", "a"),
    ],
)
def test_safe_url(url: str, shown: str) -> None:
    assert safe_url(url) == shown
