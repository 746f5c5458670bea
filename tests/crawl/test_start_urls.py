"""Start URLs from Redis: whole crawls with one worker or two, and spiders of scrapy-redis as they are."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from testbed.redis_server import RunningRedis
from tests.crawl.crawling import IMPOLITE, Crawl, crawl, crawling, read_results
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site
from tests.waiting import until

SPIDERS = "tests.crawl.start_urls_spiders"
SETTINGS: dict[str, Any] = {
    **IMPOLITE,
    "LOG_LEVEL": "INFO",
    "FRONTIER_BACKEND": "redis",
    "FRONTIER_COMMIT_INTERVAL": 0.1,
    "FRONTIER_PARTITIONS": 4,
}
AS_SET, AS_ZSET = {"REDIS_START_URLS_AS_SET": True}, {"REDIS_START_URLS_AS_ZSET": True}
PUSH: dict[str, Callable[[redis.Redis, str, list[str]], Any]] = {
    "list": lambda client, key, urls: client.rpush(key, *urls),
    "set": lambda client, key, urls: client.sadd(key, *urls),
    "zset": lambda client, key, urls: client.zadd(key, {url: -place for place, url in enumerate(urls)}),
}
TYPES = {"list": {}, "set": AS_SET, "zset": AS_ZSET}


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted_site(2) as site:
        yield site


@pytest.fixture
def client(redis_server: RunningRedis) -> Iterator[redis.Redis]:
    with redis_server.client() as client:
        yield client


def work(spider: str, server: RunningRedis, **settings: Any) -> Crawl:
    """One worker, until it ends by itself."""
    return crawl(f"{SPIDERS}.{spider}", settings={**SETTINGS, "REDIS_URL": server.url, **settings})


@pytest.mark.parametrize(("spider", "kind"), [*(("PushedSpider", kind) for kind in TYPES), ("OldSpider", "list")])
def test_types_and_forms(kind: str, spider: str, site: Site, redis_server: RunningRedis, client: redis.Redis) -> None:
    """A URL, JSON with a URL, with meta, with fields of a form; a bad one costs an error, and nothing stays."""
    site.script = {"/": page("/a"), "/a": page(), "/m": page(), "/f": page()}
    key = "pushed:start_urls" if spider == "PushedSpider" else "old:start_urls"
    elements = [
        site.url("1/"),
        json.dumps({"url": site.url("2/")}),
        json.dumps({"url": site.url("1/m"), "meta": {"mark": 7}}),
        json.dumps({"url": site.url("2/f"), "method": "post", "name": "value"}),
        "no address",
        json.dumps({"no": "address"}),
    ]
    PUSH[kind](client, key, elements)
    done = work(spider, redis_server, **TYPES[kind], MAX_IDLE_TIME_BEFORE_CLOSE=1)
    assert done.stat("finish_reason") == "finished", done.log
    assert sorted(site.places()) == ["1/", "1/a", "1/m", "2/", "2/a", "2/f"]
    assert [(item["method"], item["meta"]) for item in done.items if item["url"] == site.url("1/m")] == [("GET", 7)]
    (form,) = [one for one in site.asked if one.path == "/f"]
    assert (form.method, form.body) == ("POST", "name=value")
    assert (done.stat("workers/start_urls"), done.stat("workers/start_urls/bad")) == (4, 2)
    assert done.log.count("Start URL cannot be used: ") == 2
    assert client.exists(key) == 0


def test_rules(site: Site, redis_server: RunningRedis, client: redis.Redis) -> None:
    site.script = {"/": page("/a"), "/a": page("/b"), "/b": page()}
    client.lpush("old_rules:start_urls", json.dumps({"url": site.url("1/")}))
    done = work("OldRulesSpider", redis_server, MAX_IDLE_TIME_BEFORE_CLOSE=1)
    assert sorted(site.places()) == ["1/", "1/a", "1/b"]
    assert done.urls() == [site.url("1/a"), site.url("1/b")]


def test_order_of_scores(site: Site, redis_server: RunningRedis, client: redis.Redis) -> None:
    """The highest comes first, one after the other."""
    client.zadd("pushed:start_urls", {site.url(f"1/{place}"): place for place in range(4)})
    one = {"crawlproject.backends.start_urls.BATCH": 1}
    work("PushedSpider", redis_server, **AS_ZSET, TEST_CONSTANTS=one)
    assert site.places() == ["1/3", "1/2", "1/1", "1/0"]


def test_taken_while_the_worker_is_busy(
    site: Site, redis_server: RunningRedis, client: redis.Redis, tmp_path: Path
) -> None:
    """Not only when it is idle, as by scrapy-redis."""

    def answer(_: Asked) -> Answer:
        while len(site.asked) > 300 and not site.places(2) and not site.stopping.is_set():
            site.came.wait(0.02)
        return Answer(status=404)

    pages = [f"/{number}" for number in range(600)]
    site.script = {"1/": page(*pages), **{f"1{path}": answer for path in pages}}
    settings = {**SETTINGS, "REDIS_URL": redis_server.url, "FRONTIER_MAX_SESSIONS": 2, "CLOSESPIDER_PAGECOUNT": 0}
    client.lpush("old:start_urls", json.dumps({"url": site.url("1/")}))
    with crawling(f"{SPIDERS}.OldSpider", tmp_path, settings=settings) as process:
        until(lambda: len(site.places(1)) > 10, process)
        client.lpush("old:start_urls", json.dumps({"url": site.url("2/new")}))
        until(lambda: "2/new" in site.places(2), process)
        assert len(site.places(1)) < 600
        until(lambda: not client.exists("old:start_urls"), process)


@pytest.mark.parametrize("spider", ["PushedSpider", "OldSpider"])
def test_workers_wait_for_more(
    spider: str, site: Site, redis_server: RunningRedis, client: redis.Redis, tmp_path: Path
) -> None:
    """FRONTIER_KEEP_RUNNING; a spider of scrapy-redis waits by itself, also after the crawl has ended."""
    site.script = {"/": page("/a"), "/a": page()}
    key = "pushed:start_urls" if spider == "PushedSpider" else "old:start_urls"
    settings = {**SETTINGS, "REDIS_URL": redis_server.url, "FRONTIER_KEEP_RUNNING": spider == "PushedSpider"}
    name = key.partition(":")[0]
    with crawling(f"{SPIDERS}.{spider}", tmp_path, settings=settings) as process:
        for number in (1, 2):
            if spider == "OldSpider":
                until(lambda: client.hget(f"{{{name}}}:meta", "state") == b"ended", process)
            client.lpush(key, json.dumps({"url": site.url(f"{number}/")}))
            until(lambda number=number: len(site.places(number)) == 2, process)  # type: ignore[misc]
        until(lambda: not client.exists(key), process)
        process.terminate()
        process.wait()
    done = read_results(tmp_path, process.returncode, "")
    assert done.stat("finish_reason") == "shutdown"


def test_killed_when_they_are_stored(
    site: Site, redis_server: RunningRedis, client: redis.Redis, tmp_path: Path
) -> None:
    """Their key is empty only when the frontier in Redis has them: another worker fetches them."""
    site.script = {"/": replace(page(), delay=1000)}
    client.lpush("pushed:start_urls", site.url("1/"), site.url("2/"))
    settings = {"FRONTIER_LEASE": 2, "REDIS_URL": redis_server.url}
    with crawling(f"{SPIDERS}.PushedSpider", tmp_path, settings={**SETTINGS, **settings}) as process:
        until(lambda: not client.exists("pushed:start_urls"), process)
        process.kill()
        process.wait()
    assert stored(client) == 2
    site.script = {"/": page()}
    site.asked.clear()
    done = work("PushedSpider", redis_server, FRONTIER_LEASE=settings["FRONTIER_LEASE"])
    assert done.stat("finish_reason") == "finished"
    assert set(site.places()) == {"1/", "2/"}


def stored(client: redis.Redis) -> int:
    return sum(int(client.hget(key, "stored") or 0) for key in client.keys("{pushed:*}:m"))
