"""The tools that judge a crawl by many workers: several independent crawls of one web are what they must find.

A web that gives no more pages for now (``limit``) keeps a crawl from ending before it is killed, paused or interrupted.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from testbed.web import (
    PolitenessRule,
    WebSpec,
    missing,
    overlaps,
    politeness_violations,
    repeats,
    running_web,
    unexplained_overlaps,
    unexplained_repeats,
)
from tests.crawl.workers import Workers, WorkersError, workers

SPEC = WebSpec(servers=20, pages=200, seed=4, time_scale=0.05)


def test_one_worker_is_not_accused(tmp_path: Path) -> None:
    """All pages, none twice, one connection per server; items, stats and log are in its directory."""
    with running_web(SPEC) as web, workers(tmp_path, web) as crew:
        crew.add()
        crew.wait_for_pages(50)
        assert crew.wait_all() == [0]
        records = crew.records()
        assert crew.progress() == {0: 200}
    assert missing(web.web, records) == []
    assert (overlaps(records), repeats(records)) == ([], [])
    assert politeness_violations(records, PolitenessRule("session", 0)) == []
    assert sorted(item["url"] for item in crew.items()) == sorted(web.web.expected_urls())
    assert crew.stats("item_scraped_count") == 200
    assert crew.stats("bench/cpu") > 0
    assert "Spider closed (finished)" in crew.all[0].log()


def test_independent_crawls_of_one_web_are_found_out(tmp_path: Path) -> None:
    """Two crawls with a frontier each: pages twice, connections at once, waits too short, and by whom."""
    spec = WebSpec(servers=6, pages=80, seed=4, time_scale=0.2)
    rule = PolitenessRule("session", 1, 0.1, 1)
    polite = {"FRONTIER_DELAY_FACTOR": 1, "FRONTIER_MIN_DELAY": 0.1, "FRONTIER_MAX_DELAY": 1}
    with running_web(spec) as web, workers(tmp_path, web, **polite) as crew:
        web.limit(0)
        crew.add()
        crew.add()
        crew.until(lambda: len(opened(crew)) == 2 * spec.seed_count, "both had reached the first servers")
        web.limit(math.inf)
        crew.wait_all()
        records = crew.records()
    assert missing(web.web, records) == []
    assert len(repeats(records)) == 80
    found = overlaps(records)
    assert found
    assert {each.first.client for each in found} | {each.second.client for each in found} == {"127.9.0.1", "127.9.0.2"}
    assert all(each.first.client != each.second.client and each.seconds > 0 for each in found)
    assert politeness_violations(records, rule)
    assert unexplained_overlaps(records, []) == found
    assert unexplained_repeats(records, [], before=3) == repeats(records)


def opened(crew: Workers) -> set[tuple[str, str]]:
    """The servers to which workers have had a connection, with the worker's address."""
    return {(each.server, each.target.partition(":")[0]) for each in crew.records() if each.kind == "open"}


def test_killed_worker(tmp_path: Path) -> None:
    """Its pages are missing; another one, which begins from the start, repeats what is near the kill and what is not.

    Only what it had in flight or less than a second old is explained.
    """
    with running_web(SPEC) as web, workers(tmp_path, web, FRONTIER_MAX_SESSIONS=2) as crew:
        web.limit(60)
        crew.add()
        crew.wait_for_pages(60)
        crew.kill(0)
        web.limit(math.inf)
        assert crew.running() == []
        assert missing(web.web, crew.records())
        crew.add()
        assert crew.wait_all() == [-9, 0]
        records = crew.records()
    assert missing(web.web, records) == []
    again = repeats(records)
    assert unexplained_repeats(records, crew.faults, before=1e6) == []
    assert unexplained_repeats(records, crew.faults, before=0) == [
        each for each in again if each.before.end < crew.faults[0].start
    ]
    assert overlaps(records) == []


def test_paused_worker_does_nothing(tmp_path: Path) -> None:
    """What it had sent is answered, nothing else arrives; then it goes on. The pause is noted."""
    spec = WebSpec(servers=20, pages=200, seed=4, time_scale=0.05, idle_timeout=300)
    with running_web(spec) as web, workers(tmp_path, web, FRONTIER_MAX_SESSIONS=2) as crew:
        web.limit(50)
        crew.add()
        crew.wait_for_pages(50)
        crew.pause(0)
        stopped = time.monotonic()
        web.limit(math.inf)
        time.sleep(0.5)  # a worker that runs would fetch tens of pages
        assert crew.pages() < 200
        going_on = time.monotonic()  # before the signal, after which it runs, and this process may have to wait
        crew.resume(0)
        crew.wait_all()
        assert crew.pages() == 200
    (pause,) = crew.faults
    assert (pause.kind, pause.client) == ("pause", "127.9.0.1")
    assert pause.end - pause.start >= 0.5
    arrived = [each for each in crew.seen if each.kind == "request" and stopped < each.arrival < going_on]
    assert len(arrived) <= 2  # one for each session


def test_interrupted_worker_ends_properly(tmp_path: Path) -> None:
    """It writes its stats; the pages that it leaves are missing."""
    with running_web(SPEC) as web, workers(tmp_path, web, FRONTIER_MAX_SESSIONS=2) as crew:
        web.limit(50)
        crew.add()
        crew.wait_for_pages(50)
        crew.interrupt(0)
        crew.until(lambda: "Received SIGINT" in crew.all[0].log(), "the signal arrived")
        web.limit(math.inf)
        assert crew.wait_all() == [0]
        assert crew.all[0].stats()["finish_reason"] == "shutdown"
        assert len(missing(web.web, crew.records())) == 200 - crew.pages()


def test_failing_worker_is_reported_with_its_log(tmp_path: Path) -> None:
    """The end of its log says why."""
    with running_web(SPEC) as web, workers(tmp_path, web) as crew:
        crew.add(FRONTIER_MIN_DELAY="soon")
        with pytest.raises(WorkersError, match=r"(?s)worker 0 \(exit code 1\).*FRONTIER_MIN_DELAY='soon'"):
            crew.wait_all()
        with pytest.raises(WorkersError, match="all workers ended before 1 pages were fetched"):
            crew.wait_for_pages(1)


def test_workers_do_not_outlive_the_block(tmp_path: Path) -> None:
    """Neither running nor paused ones."""
    with running_web(SPEC) as web, workers(tmp_path, web) as crew:
        web.limit(0)
        crew.add()
        crew.add()
        crew.pause(1)
    assert [worker.process.poll() for worker in crew.all] == [-9, -9]
