"""The proxy between a client and its server, here a Redis server."""

from collections.abc import Iterator

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from testbed.cut_off import CutOff
from testbed.redis_server import RunningRedis
from tests.waiting import until


@pytest.fixture
def proxy(redis_server: RunningRedis) -> Iterator[CutOff]:
    with CutOff(redis_server.url) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: CutOff) -> Iterator[redis.Redis]:
    """Asks by way of the proxy, once."""
    with connect(proxy) as client:
        yield client


def connect(proxy: CutOff, timeout: float = 60.0) -> redis.Redis:
    """A client without retries; ``timeout`` in seconds."""
    return redis.Redis.from_url(proxy.url, socket_timeout=timeout, retry=Retry(NoBackoff(), 0))


def test_cut_breaks_connections_and_refuses_new_ones(proxy: CutOff, client: redis.Redis) -> None:
    """A reset, then refusals; after it is healed, the same URL answers."""
    client.set("a", 1)
    url = proxy.url
    proxy.cut()
    for _ in range(3):
        with pytest.raises(redis.ConnectionError):
            client.get("a")
    proxy.heal()
    assert client.get("a") == b"1"
    assert proxy.url == url


def test_frozen_proxy_passes_late(proxy: CutOff, redis_server: RunningRedis) -> None:
    """Connections are accepted, nothing passes; a command whose client has given up is executed afterwards."""
    direct = redis_server.client()
    with connect(proxy) as client, connect(proxy, timeout=0.05) as impatient:
        until(lambda: pings(impatient))
        client.ping()
        proxy.freeze()
        with pytest.raises(redis.TimeoutError):
            impatient.set("late", 1)
        assert direct.get("late") is None
        proxy.heal()
        until(lambda: direct.get("late") == b"1")
        assert client.ping()


def test_muted_proxy_keeps_answers_back(proxy: CutOff, redis_server: RunningRedis) -> None:
    """The command is executed, its client does not learn that."""
    with connect(proxy, timeout=0.05) as client:
        until(lambda: pings(client))
        proxy.mute()
        with pytest.raises(redis.TimeoutError):
            client.set("a", 1)
        until(lambda: redis_server.client().get("a") == b"1")
    proxy.heal()
    with connect(proxy) as client:
        assert client.get("a") == b"1"


def pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.TimeoutError:
        return False
