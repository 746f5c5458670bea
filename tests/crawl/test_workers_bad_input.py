"""A worker that cannot start says why in one line, and leaves nothing behind; what goes wrong later is waited out."""

import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawlproject.workers.loops import LOG_EVERY
from crawlproject.workers.partitions import Partitions
from testbed.children import free_port
from testbed.redis_server import RunningRedis
from tests.crawl.crawling import IMPOLITE, Crawl, crawl, crawling, read_results
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site
from tests.processes import Forked
from tests.waiting import until

SPIDER = "tests.crawl.ordinary_spiders.StartUrlsSpider"
KEY = "{start_urls}:meta"
PARTITIONS = 4


@pytest.fixture
def site() -> Iterator[Site]:
    with scripted_site(1) as site:
        site.script = {"1/": page("/a", "/b"), "1/a": page(), "1/b": page()}
        yield site


def partition(site: Site) -> str:
    return f"{{start_urls:{Partitions(PARTITIONS).of_url(site.url('1/'))}}}"


def work(site: Site, url: str | None, **settings: Any) -> Crawl:
    """One worker, to its end."""
    redis = {
        "FRONTIER_BACKEND": "redis",
        "REDIS_URL": url,
        "FRONTIER_PARTITIONS": PARTITIONS,
        "FRONTIER_COMMIT_INTERVAL": 0.1,
    }
    return crawl(SPIDER, settings={**IMPOLITE, "LOG_LEVEL": "INFO", **redis, **settings}, sites=site.origins[0])


def refusal(site: Site, url: str | None, **settings: Any) -> str:
    """The only error of a worker that cannot start; it has requested nothing and has left no scratch directory."""
    with tempfile.TemporaryDirectory() as scratch:
        before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), scratch
        try:
            result = work(site, url, **settings)
        finally:
            del os.environ["TMPDIR"]
            if before is not None:
                os.environ["TMPDIR"] = before
        assert [path.name for path in Path(scratch).iterdir() if path.name.startswith("crawlproject")] == []
    assert result.exit_code == 1
    assert "Traceback" not in result.log
    assert site.asked == []
    errors = [line for line in result.log.splitlines() if " ERROR: " in line or " CRITICAL: " in line]
    assert len(errors) == 1, result.log
    return errors[0].partition("Cannot start: ")[2]


def test_servers_that_cannot_be_used(site: Site) -> None:
    """Each names the setting that says where Redis is."""
    assert refusal(site, "http://a").startswith("REDIS_URL='http://a': must be redis://")
    port = free_port()
    assert refusal(site, f"redis://127.0.0.1:{port}").startswith(
        f"REDIS_URL=redis://127.0.0.1:{port}: cannot be reached: "
    )
    named = refusal(site, None, REDIS_HOST="127.0.0.1", REDIS_PORT=port)
    assert named.startswith(f"REDIS_HOST=redis://127.0.0.1:{port}/0: cannot be reached: ")


def test_keys_of_others(site: Site, redis_server: RunningRedis) -> None:
    """Neither read as a crawl nor changed."""
    with redis_server.client() as client:
        client.set("{a}:meta", "x")
        client.hset("{c}:meta", "x", "1")
        before = {key: client.dump(key) for key in client.keys("*")}
        for name, reason in {
            "a": "a key of the crawl is of another type (name another in FRONTIER_REDIS_KEY): ",
            "c": "the key {c}:meta is not of a crawl: name another in FRONTIER_REDIS_KEY",
        }.items():
            assert reason in refusal(site, redis_server.url, FRONTIER_REDIS_KEY=name)
        assert {key: client.dump(key) for key in client.keys("*")} == before


DIFFERENT = {
    "FRONTIER_PARTITIONS: 8 here, 4 in the crawl 'start_urls'": {"FRONTIER_PARTITIONS": 8},
    "FRONTIER_LEASE: 9.0 here, 15.0 in": {"FRONTIER_LEASE": 9},
    "FRONTIER_POLITENESS_GROUP: 'domain' here, 'server' in": {"FRONTIER_POLITENESS_GROUP": "domain"},
    "FRONTIER_DROP_PARAMETERS: ['a'] here, [": {"FRONTIER_DROP_PARAMETERS": "a"},
    "FRONTIER_POLICY: order of URLs: arrival here, quality in": {"FRONTIER_POLICY": "breadth-first"},
    "FRONTIER_QUALITY: rates URLs by: other features here, links to it in": {"FRONTIER_QUALITY": "depth"},
}
CHANGED = {
    "format of what is in Redis: 1 here, 2 in": {"format": "2"},
    "spider (name another crawl in FRONTIER_REDIS_KEY): start_urls here, other in": {"spider": "other"},
    "list of public suffixes (install the same version of tldextract on all machines): ": {"suffixes": "0"},
    "the key {start_urls}:meta is not of a crawl: name another in FRONTIER_REDIS_KEY": {"settings": "["},
    "{start_urls}:meta is not of a crawl": {"crawl": ""},
}


def test_what_workers_must_agree_on(site: Site, redis_server: RunningRedis) -> None:
    """Each is named; defaults and other spellings of the same are no difference; a crawl that ended stays so.

    A worker that goes on with one says so, as it may find nothing to do.
    """
    first = work(site, redis_server.url)
    assert first.stat("finish_reason") == "finished"
    assert "had ended" not in first.log
    site.asked.clear()
    with redis_server.client() as client:
        before = client.hgetall(KEY)
        assert before[b"state"] == b"ended"
        for reason, settings in DIFFERENT.items():
            assert reason in refusal(site, redis_server.url, **settings)
        for reason, fields in CHANGED.items():
            client.hset(KEY, mapping=fields)
            assert reason in refusal(site, redis_server.url)
            client.hset(KEY, mapping={name: before[name.encode()] for name in fields})
        assert client.hgetall(KEY) == before
    same = {"FRONTIER_POLITENESS_GROUP": "server", "FRONTIER_LEASE": "15"}
    again = work(site, redis_server.url, **same)
    assert again.stat("finish_reason") == "finished"
    assert "which had ended: it goes on with new URLs; a new crawl needs another FRONTIER_REDIS_KEY" in again.log


def test_settings_for_other_backends(site: Site, redis_server: RunningRedis, tmp_path: Path) -> None:
    with redis_server.client() as client:
        assert refusal(site, redis_server.url, FRONTIER_RECRAWL_AGE="1d").startswith("recrawl (FRONTIER_RECRAWL_AGE)")
        disk = {"FRONTIER_BACKEND": "disk", "JOBDIR": str(tmp_path)}
        assert work(site, None, **disk).stat("finish_reason") == "finished"
        site.asked.clear()
        refused = work(site, redis_server.url, JOBDIR=str(tmp_path))
        assert refused.exit_code == 1
        assert f"JOBDIR={str(tmp_path)!r}: has the frontier of a crawl on disk" in refused.log
        assert site.asked == []
        assert client.keys() == []
    (tmp_path / "other").mkdir()
    assert work(site, redis_server.url, JOBDIR=str(tmp_path / "other")).stat("finish_reason") == "finished"
    site.asked.clear()
    (tmp_path / "other" / "workers.lock").touch()  # as by ``scrapy workers``, whose crawl must not begin again
    told = refusal(site, None, **disk | {"JOBDIR": str(tmp_path / "other")})
    assert told.endswith("holds a crawl of several processes (scrapy workers); name another directory")


def test_items_of_the_same_crawl_are_not_overwritten(site: Site, redis_server: RunningRedis, tmp_path: Path) -> None:
    """Those of another crawl are, as without Redis."""
    feed = tmp_path / "pages.jsonl"
    feed.write_text(json.dumps({"url": "of another crawl"}))
    os.utime(feed, (1e9, 1e9))
    feeds = {"FEEDS": {str(feed): {"format": "jsonlines", "overwrite": True}}}
    assert work(site, redis_server.url, **feeds).stat("finish_reason") == "finished"
    assert len(feed.read_text().splitlines()) == 3
    site.asked.clear()
    assert f"-O (overwrite in FEEDS) would delete its items in {feed}" in refusal(site, redis_server.url, **feeds)
    os.utime(feed, (1e9, 1e9))
    assert work(site, redis_server.url, **feeds).stat("finish_reason") == "finished"


# while it runs

#: Seconds. In its last fifth nothing is handed out: what is in progress at its end would be asked for again.
LEASE = 10.0
LONG = {f"1/{number}": replace(page(title=f"{number} {number**9}"), delay=0.03) for number in range(150)}
#: So slow that few of them are fetched within a lease.
SLOW = {place: replace(answer, delay=LEASE / 40) for place, answer in LONG.items()}


@contextmanager
def at_work(site: Site, server: RunningRedis, folder: Path, **settings: Any) -> Iterator[tuple[Forked, Path]]:
    """A worker that fetches 151 pages, one after the other; the file of its log.

    After some it waits until the site has another script.
    """

    def held(asked: Asked) -> Answer:
        while len(site.asked) > 30 and site.script is script and not site.stopping.is_set():
            site.came.wait(0.02)
        return LONG[asked.place]

    script = site.script = {"1/": page(*(place[1:] for place in LONG)), **dict.fromkeys(LONG, held)}
    log = folder / "log"
    redis = {"FRONTIER_BACKEND": "redis", "REDIS_URL": server.url, "FRONTIER_PARTITIONS": PARTITIONS}
    redis |= {"FRONTIER_REDIS_TIMEOUT": 60}  # it is away only if it refuses something
    quick = {"FRONTIER_COMMIT_INTERVAL": 0.1, "FRONTIER_LEASE": LEASE, "LOG_LEVEL": "INFO", "LOG_FILE": str(log)}
    with crawling(
        SPIDER, folder, settings={**IMPOLITE, **redis, **quick, **settings}, sites=site.origins[0]
    ) as process:
        until(lambda: len(site.places()) > 20, process)
        yield process, log


def finished(process: Forked, folder: Path, site: Site) -> Crawl:
    process.wait()
    done = read_results(folder, process.returncode, (folder / "log").read_text())
    assert done.stat("finish_reason") == "finished", done.log
    assert set(site.places()) == {"1/", *LONG}
    return done


@pytest.mark.parametrize("trouble", ["memory", pytest.param("scripts", marks=pytest.mark.long)])
def test_redis_refuses_for_a_while(trouble: str, site: Site, redis_server: RunningRedis, tmp_path: Path) -> None:
    """The crawl waits, says so once a minute, and goes on; no page is fetched twice."""
    began = time.monotonic()
    with redis_server.client() as client, at_work(site, redis_server, tmp_path) as (process, log):
        says = "Redis does not answer, the crawl waits for it: "
        if trouble == "memory":
            client.config_set("maxmemory", 1)
            reason = "its memory is full"
        else:
            client.script_flush()
            reason = ""
        if reason:
            site.script = {**site.script, **SLOW}
            until(lambda: says + reason in log.read_text(), process, log)
            count = -1
            while count != (count := len(site.places())):  # the lease is over: nothing is handed out
                time.sleep(1)
            assert count < 151
            client.config_set("maxmemory", 0)
        site.script = {**site.script, **LONG}
        done = finished(process, tmp_path, site)
    minutes = (time.monotonic() - began) // LOG_EVERY
    assert bool(reason) <= done.log.count(says) <= bool(reason) * (1 + minutes)
    assert done.stat("workers/redis_away") == (1 if reason else 0)
    assert done.log.count("Redis answers again") == (1 if reason else 0)
    assert len(site.places()) == 151
    assert done.stat("workers/lost") == 0


@pytest.mark.parametrize("what", ["journal", "snapshot"])
def test_damaged_partition(what: str, site: Site, redis_server: RunningRedis) -> None:
    """The worker ends with an error that names the partition's key; nothing is deleted."""
    assert work(site, redis_server.url).stat("finish_reason") == "finished"
    with redis_server.client() as client:
        name = partition(site)
        journal = f"{name}:j"
        assert client.exists(journal)
        if what == "journal":
            client.lset(journal, 0, b"damaged")
        else:
            client.rpush(f"{name}:s:1", b"damaged")
            client.hset(f"{name}:m", "gen", "1")
        done = work(site, redis_server.url)
        assert done.stat("finish_reason") == "store_failed"
        errors = [line for line in done.log.splitlines() if " CRITICAL: " in line]
        assert len(errors) == 1
        keys = {"journal": f"{name}:j: ", "snapshot": f"{name}:s:1: "}
        assert keys[what] in errors[0]
        assert "Traceback" not in done.log
        assert client.exists(journal)
        assert all(client.hget(key, "owner") == b"" for key in client.keys("{start_urls:*}:m"))
