"""Crawls over every kind of Redis: Sentinel, a Cluster, a user who may do no more than what is listed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from crawlproject.workers.connection import RedisConnector
from crawlproject.workers.control import Control
from crawlproject.workers.keys import Keys
from testbed.children import own_address
from testbed.redis_server import RunningRedis
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Site, page, scripted_site
from tests.waiting import until
from tests.workers.test_connection import sentinel

SPIDER = "tests.crawl.start_urls_spiders.PushedSpider"
KEY = "pushed:start_urls"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "workers.md"
QUICK = {**IMPOLITE, "FRONTIER_BACKEND": "redis", "FRONTIER_COMMIT_INTERVAL": 0.1, "FRONTIER_PARTITIONS": 16}
QUICK |= {"FRONTIER_REDIS_TIMEOUT": 60}  # Redis is never away, however busy the machine is

#: The Redis commands that workers use: an access list must allow them, a compatible server must provide them. By a
#: worker itself or its scripts.
DATA = (
    "DEL", "EVAL", "EVALSHA", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HINCRBYFLOAT", "HMGET", "HSET",
    "INFO",
    "LRANGE", "LTRIM", "RPUSH", "SCRIPT LOAD", "SET", "TIME", "XADD", "XDEL", "XLEN", "XRANGE", "XREAD",
)  # fmt: skip
#: For start URLs in a list, a set, or a sorted set.
START_URLS = ("LLEN", "LREM", "SCARD", "SRANDMEMBER", "SREM", "ZCARD", "ZREM", "ZREVRANGE")
#: By the client when it connects; the last two by that of a Cluster.
CONNECTION = ("AUTH", "PING", "SELECT", "CLUSTER SLOTS", "COMMAND")
COMMANDS = (*DATA, *START_URLS, *CONNECTION)


def access_rules(crawl: str, start_urls_key: str) -> str:
    """The arguments of ``ACL SETUSER name`` for a user who crawls ``crawl``; without password."""
    allowed = " ".join(f"+{command.lower().replace(' ', '|')}" for command in COMMANDS)
    return f"resetkeys ~{{{crawl}}}:* ~{{{crawl}:* ~{start_urls_key} resetchannels -@all {allowed}"


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted_site(2) as site:
        site.script = {"1/": page("/a", site.url("2/c")), "1/a": page("/b"), "1/b": page(), "2/c": page()}
        yield site


def work(site: Site, client: Any, **settings: Any) -> Crawl:
    """One worker, whose only start URL is in Redis; returns when it has ended by itself."""
    client.lpush(KEY, site.url("1/"))
    done = crawl(SPIDER, settings={**QUICK, "LOG_LEVEL": "INFO", **settings})
    assert (done.stat("finish_reason"), done.stat("log_count/ERROR")) == ("finished", 0), done.log
    assert sorted(site.places()) == ["1/", "1/a", "1/b", "2/c"]
    assert done.stat("workers/redis_away") == 0, done.log
    assert client.llen(KEY) == 0
    return done


def test_sentinel(site: Site, tmp_path: Path) -> None:
    with RunningRedis() as server, sentinel(server, tmp_path) as port, server.client() as client:
        work(site, client, REDIS_PARAMS={"sentinels": [("127.0.0.1", port)], "service_name": "first"})


@contextmanager
def cluster(count: int = 3) -> Iterator[list[RunningRedis]]:
    """Nodes that have become one."""
    with ExitStack() as stack:
        config = ["cluster-enabled yes", "cluster-node-timeout 60000", f"cluster-announce-ip {own_address()}"]
        nodes = [stack.enter_context(RunningRedis(config=config)) for _ in range(count)]
        clients = [stack.enter_context(node.client(protocol=2)) for node in nodes]
        bounds = [16384 * number // count for number in range(count + 1)]
        for client, first, end in zip(clients, bounds, bounds[1:], strict=False):
            client.execute_command("CLUSTER", "ADDSLOTS", *range(first, end))
            client.execute_command("CLUSTER", "MEET", nodes[0].host, nodes[0].port)
        for client in clients:
            until(lambda client=client: is_complete(client, count))  # type: ignore[misc]
        yield nodes


def is_complete(node: Any, count: int) -> bool:
    """Whether a node knows all others, and all slots."""
    told = node.execute_command("CLUSTER", "INFO", NEVER_DECODE=True)
    return b"cluster_state:ok" in told and f"cluster_known_nodes:{count}".encode() in told


def test_cluster(site: Site) -> None:
    """Partitions lie on all nodes; scripts are loaded on all."""
    with cluster() as nodes:
        url = f"redis+cluster://{nodes[0].host}:{nodes[0].port}"
        with redis.RedisCluster(port=nodes[0].port, host=nodes[0].host) as client:
            work(site, client, REDIS_URL=url)
            give_order(client, url)
        for node in nodes:
            with node.client() as client:
                assert client.keys("{pushed:*}:m")


def give_order(client: redis.Redis | redis.RedisCluster, url: str) -> None:
    """Give an order as the console of a worker of this crawl does, and read it as the others do."""
    name = client.hget("{pushed}:meta", "crawl")
    assert isinstance(name, bytes)

    async def give() -> None:
        control = Control(RedisConnector({"url": url}).client(), Keys("pushed"), timeout=60.0)
        try:
            assert await control.order(name.decode(), ("id", "{}", 3), {"paused": "1", "sessions": None}) == 1
            assert (await control.beat(15.0, {}, {})).actions == "1 id"
            assert await control.orders() == ("1 id", {"paused": "1"})
        finally:
            await control.close()

    asyncio.run(give())


def used(server: RunningRedis) -> set[str]:
    """The commands that the server has been asked for, as in an access list."""
    return {name.removeprefix("cmdstat_").replace("|", " ").upper() for name in server.info("commandstats")}


def test_user_who_may_do_no_more_than_what_is_listed(site: Site, redis_server: RunningRedis) -> None:
    """Commands and keys; the line in the documentation is this one."""
    rules = access_rules("pushed", KEY)
    shown = re.search(r"^ACL SETUSER crawl on >PASSWORD (.*)$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown is not None
    assert shown[1] == access_rules("web", "web:start_urls")
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "crawl", "on", ">secret", *rules.split())
        client.config_resetstat()
        url = redis_server.url.replace("redis://", "redis://crawl:secret@")
        work(site, client, REDIS_URL=url)
        give_order(client, url)
        refused = [(entry["reason"], entry["object"]) for entry in client.acl_log()]
        names = (
            ("command", "client|setinfo"),
            ("command", "client"),
        )  # the client tells its name; the latter by Redis 6
        assert [entry for entry in refused if entry not in names] == []
    listed = {*COMMANDS, "CONFIG RESETSTAT", "LPUSH", "ACL LOG", "CLIENT SETINFO", "HELLO"}
    subcommands = {name.split()[0] for name in listed if " " in name}  # Redis 6 counts them under the command's name
    assert used(redis_server) <= listed | subcommands
