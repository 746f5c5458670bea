"""One crawl by many workers over Redis: they join, leave, die, are paused, and lose Redis. Judged by the web's log.

Real processes, a real Redis. A repeated fetch is allowed only where the first was in progress, or not yet confirmed,
when its worker died or lost its partitions; an overlap of connections only where a worker was paused.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from testbed.redis_server import RunningRedis
from testbed.web import (
    Fault,
    RunningWeb,
    WebSpec,
    missing,
    overlaps,
    politeness_violations,
    repeats,
    rule_of,
    running_web,
    unexplained_overlaps,
    unexplained_repeats,
)
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.scripted_site import page, scripted_site
from tests.crawl.workers import Workers, redis_settings, workers

#: Seconds: a busy machine may stop a process for some.
LEASE = 5.0
#: Ticks that a fetched page may be unconfirmed, with a margin for a machine that is busy.
UNCONFIRMED = 10.0

SPEC = WebSpec(servers=40, pages=400, seed=4, time_scale=0.15, idle_timeout=300)
SETTINGS: dict[str, Any] = {
    "FRONTIER_LEASE": LEASE,
    "FRONTIER_PARTITIONS": 32,  # each costs a round of each worker some CPU
    "FRONTIER_COMMIT_INTERVAL": 0.3,
    "FRONTIER_MAX_SESSIONS": 4,
    "FRONTIER_POLITENESS": "session",
    "FRONTIER_DELAY_FACTOR": 1,
    "FRONTIER_MIN_DELAY": 0.02,
    "FRONTIER_MAX_DELAY": 0.2,
    "FRONTIER_MAX_FAILURES": 0,
    "DOWNLOAD_TIMEOUT": 20,
}
pytestmark = pytest.mark.usefixtures("redis_program")


@contextmanager
def crew_of(folder: Path, web: RunningWeb, url: str, **settings: Any) -> Iterator[Workers]:
    with workers(folder, web, **redis_settings(url, **{**SETTINGS, **settings})) as crew:
        yield crew


def judge(crew: Workers, web: RunningWeb, *redis_faults: Fault, after: float = 0.0) -> None:
    """All pages are fetched; what is repeated or overlaps is explained."""
    records = crew.records()
    faults = [*crew.faults, *redis_faults]
    pauses = [fault for fault in crew.faults if fault.kind == "pause"]
    assert missing(web.web, records) == []
    assert unexplained_repeats(records, faults, UNCONFIRMED, after) == []
    assert unexplained_overlaps(records, pauses, after) == []
    assert politeness_violations(records, rule_of(SETTINGS, web.web), tolerance=0.001) == [] or pauses


def start_two(crew: Workers) -> None:
    """The first has few sessions: it does not fetch everything before the second is there, or keep it all."""
    crew.add(FRONTIER_MAX_SESSIONS=2)
    crew.add()


def wait_for_share(crew: Workers, number: int, pages: int = 5) -> None:
    """Wait until a worker has fetched so many pages."""
    crew.until(lambda: crew.progress()[number] >= pages, f"worker {number} fetched {pages} pages")


def reasons(crew: Workers) -> list[str]:
    """Why each worker ended; "": it was killed."""
    return [worker.stats().get("finish_reason", "") for worker in crew.all]


@pytest.mark.parametrize(
    ("setting", "stat", "reason", "limit", "most"),
    [
        # Each alone would fetch half of the web; together they exceed the limit by what one fetches within a beat.
        ("FRONTIER_MAX_PAGES", "frontier/pages", "closespider_pagecount", 200, 320),
        # Each alone would not reach it. Some answers are still in progress when it is.
        ("FRONTIER_MAX_BYTES", "downloader/response_bytes", "closespider_bytes", 400_000, 800_000),
    ],
)
def test_workers_share_a_limit(
    tmp_path: Path, redis_server: RunningRedis, setting: str, stat: str, reason: str, limit: int, most: int
) -> None:
    """It holds for all of them together."""
    with running_web(SPEC) as web, crew_of(tmp_path, web, redis_server.url, **{setting: limit}) as crew:
        start_two(crew)
        crew.wait_all()
        assert set(reasons(crew)) == {reason}
        assert limit <= crew.stats(stat) < most


def test_two_workers_share_a_crawl_and_a_third_joins(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Each fetches some; nothing is missing or repeated, no server has two connections. Another run ends at once."""
    patient = {"FRONTIER_LEASE": 1000, "DOWNLOAD_TIMEOUT": 1000}
    with running_web(SPEC) as web, crew_of(tmp_path, web, redis_server.url, **patient) as crew:
        web.limit(50)  # for each, or two may have fetched everything before the third is there
        start_two(crew)
        wait_for_share(crew, 1)
        crew.add()
        wait_for_share(crew, 2)
        web.limit(math.inf)
        assert crew.wait_all() == [0, 0, 0]
        judge(crew, web)
        assert all(crew.progress().values()), crew.progress()
        assert repeats(crew.seen) == overlaps(crew.seen) == []
        assert politeness_violations(crew.seen, rule_of(SETTINGS, web.web), tolerance=0.001) == []
        assert crew.stats("workers/lost") == 0
        asked = sum(each.kind == "request" for each in crew.seen)
        crew.add()
        crew.wait_all()
        assert reasons(crew) == ["finished"] * 4
        assert crew.all[3].stats().get("downloader/request_count", 0) == 0
        assert sum(each.kind == "request" for each in crew.records()) == asked


def test_killed_worker_is_replaced(tmp_path: Path, redis_server: RunningRedis) -> None:
    """kill -9: nothing is missing; repeated is only what was in progress or not confirmed."""
    with running_web(SPEC) as web, crew_of(tmp_path, web, redis_server.url, DOWNLOAD_TIMEOUT=1000) as crew:
        web.limit(100)  # for each: the crawl does not end before the kill
        start_two(crew)
        wait_for_share(crew, 1, 50)
        crew.kill(1)
        web.limit(math.inf)
        crew.wait_all()
        judge(crew, web)
        assert overlaps(crew.seen) == []
        assert "does not answer: others take over" in crew.all[0].log()


@pytest.mark.long
def test_paused_worker_comes_back_under_another_name(tmp_path: Path, redis_server: RunningRedis) -> None:
    """SIGSTOP longer than its lease, then SIGCONT: it hands out nothing before it has joined again."""
    with running_web(SPEC) as web, crew_of(tmp_path, web, redis_server.url) as crew:
        start_two(crew)
        wait_for_share(crew, 1, 50)
        crew.pause(1)
        crew.until(lambda: "does not answer: others take over" in crew.all[0].log(), "worker 1 was taken for dead")
        wait_for_share(crew, 0, crew.progress()[0] + 50)
        crew.resume(1)
        crew.wait_all()
        judge(crew, web, after=2.0)
        assert "Other workers took over" in crew.all[1].log()
        assert reasons(crew) == ["finished", "finished"]


@pytest.mark.long
def test_killed_redis(tmp_path: Path, redis_program: Path) -> None:
    """kill -9 of Redis, twice, and restart on its append-only file: nothing is missing, nothing repeated."""
    with (
        running_web(SPEC) as web,
        RunningRedis(aof=True, program=redis_program) as server,
        crew_of(tmp_path, web, server.url) as crew,
    ):
        start_two(crew)
        for pages in (120, 250):
            crew.wait_for_pages(pages)
            server.kill()
            server.start()
        crew.wait_all()
        judge(crew, web)
        assert repeats(crew.seen) == []
        assert "Redis was started again" in crew.all[0].log()


def test_own_dupefilter_of_a_killed_worker(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Its file in JOBDIR has what Redis has: the next run fetches no page again, and misses none."""
    settings = redis_settings(
        redis_server.url,
        **IMPOLITE,
        DUPEFILTER_CLASS="tests.backends.test_held_file.FlushingFilter",
        JOBDIR=str(tmp_path),
        FRONTIER_LEASE=LEASE,
        FRONTIER_PARTITIONS=4,
        FRONTIER_COMMIT_INTERVAL=0.1,
    )
    with scripted_site() as site:
        # in this order
        site.script = {"1/": page("/a"), "1/a": page("/last"), "1/last": page("/", "/a", "/b"), "1/b": page()}
        run = partial(crawl, "tests.crawl.resumable_spiders.DyingSpider", site=site.url("1/"))
        assert run(settings=settings, stop="1").exit_code == -signal.SIGKILL
        assert run(settings=settings).exit_code == 0
        assert site.places() == ["1/", "1/a", "1/last", "1/last", "1/b"]


def test_flushed_redis(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Every worker ends with a critical message; nothing is written that a later crawl could take for its own."""
    spec = WebSpec(servers=40, pages=2000, seed=4, time_scale=1, idle_timeout=300)
    with running_web(spec) as web, crew_of(tmp_path, web, redis_server.url) as crew:
        start_two(crew)
        for number in (0, 1):  # one that joins afterwards begins a new crawl
            wait_for_share(crew, number)
        client = redis_server.client()
        client.flushall()
        for worker in crew.all:
            worker.fate = "kill"  # its exit code is not 0
        assert crew.wait_all() == [1, 1]
        assert reasons(crew) == ["redis_lost", "redis_lost"]
        assert all("CRITICAL: Redis has lost this crawl" in worker.log() for worker in crew.all)
        assert keys_of(client) <= {"inbox"}


def keys_of(client: redis.Redis) -> set[str]:
    """Kinds of keys in Redis."""
    return {"inbox" if re.fullmatch(rb"\{web:\d+\}:i", key) else key.decode() for key in client.scan_iter()}
