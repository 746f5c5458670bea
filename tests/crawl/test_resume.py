"""Crawls that are stopped or killed and continued later, judged by the servers' log."""

import json
import math
import shutil
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawlproject.compat import closes_lane
from crawlproject.storage.disk import DiskStore
from scripts.chaos import disk_crawl
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, duplicates, fetches, missing, running_web
from tests.crawl.crawling import IMPOLITE, NOT_STARTED, crawl, crawling, read_results
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.crawl.workers import fork
from tests.processes import HUNG
from tests.waiting import until

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.resumable_spiders"

#: How often the crawl is killed; scripts/chaos.py --disk does it more often.
CRASHES = 3


def fetched(records: Iterable[Any]) -> set[tuple[str, str]]:
    return {(record.server, record.page) for record in fetches(records)}


def settings_for(folder: Path, **more: object) -> dict[str, object]:
    return {"LOG_LEVEL": "INFO", **IMPOLITE, "JOBDIR": str(folder / "job"), **more}


def test_interrupted_crawl_continues(tmp_path: Path) -> None:
    """SIGINT: pages in progress are finished, and nothing is fetched twice."""
    spec = WebSpec(servers=20, pages=150, seed=4, time_scale=0.05)
    log = tmp_path / "log"
    settings = settings_for(tmp_path, FRONTIER_MAX_SESSIONS=4, LOG_FILE=str(log))
    with running_web(spec) as web:
        web.limit(40)
        with crawling(WEB, tmp_path, settings=settings, seeds=",".join(web.seeds)) as process:
            until(lambda: len(fetched(web.records())) >= 40, process)
            process.send_signal(signal.SIGINT)
            until(lambda: "Received SIGINT" in log.read_text(), process)
            web.limit(math.inf)
            process.wait(HUNG)
        assert 40 <= len(fetched(web.records())) < 150
        result = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
    assert result.stat("finish_reason") == "finished"
    assert len(fetched(web.records())) == 150
    assert duplicates(web.records()) == {}


@pytest.mark.parametrize(("backend", "failure"), [("disk", Answer(status=503)), ("redis", Answer(reset=True))])
def test_failures_are_counted_over_a_stop(
    tmp_path: Path, backend: str, failure: Answer, redis_server: RunningRedis
) -> None:
    """A server that fails is given up after as many tries as without the stop, each after a longer wait."""
    tries = {"ROBOTSTXT_OBEY": True, "FRONTIER_ROBOTS_MAX_FAILURES": 4, "FRONTIER_MIN_BACKOFF": 0.4}
    places = {"disk": {}, "redis": {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis_server.url}}
    settings = settings_for(tmp_path, **tries, **places[backend])
    with scripted_site(2) as site:
        site.script = {"1/robots.txt": failure, "2/": page()}
        seeds = ",".join((site.url("1/"), site.url("2/")))
        with crawling(WEB, tmp_path, settings=settings, seeds=seeds) as process:
            until(lambda: len(site.of(1)) >= 2 and site.of(2), process)
            process.send_signal(signal.SIGINT)
            process.wait(HUNG)
        stopped = len(site.of(1))
        last = crawl(WEB, settings=settings, seeds=seeds)
        assert stopped < 4
        assert [asked.path for asked in site.of(1)] == ["/robots.txt"] * 4
        assert all(gap >= wait for gap, wait in zip(site.gaps(1), (0.4, 0.8, 1.6), strict=True))
        assert [asked.path for asked in site.of(2)].count("/") == 1
    assert last.stat("finish_reason") == "finished"
    assert last.stat("robotstxt/unreachable") == 4 - stopped
    assert last.stat("robotstxt/given_up") == 1


def test_crashes_lose_no_page(tmp_path: Path) -> None:
    """Repeated kill -9: every page is fetched; twice only if it was in progress or not yet committed."""
    outcome = disk_crawl(CRASHES, 0, seed=5, folder=tmp_path, start=fork)
    assert outcome.committed is not None
    assert len(outcome.faults) == len(outcome.committed) > 0
    assert set[tuple[str, str]]().union(*outcome.committed) & fetched(outcome.records)
    assert missing(outcome.web, outcome.records) == []
    assert outcome.unexplained() == []


def test_items_of_committed_pages_are_in_the_feed_after_a_kill(tmp_path: Path) -> None:
    """The next run does not fetch these pages again, so their items must not be in the memory of the killed one."""
    out = tmp_path / "pages.jsonl"
    settings = settings_for(tmp_path, FEEDS={str(out): {"format": "jsonlines"}})
    with scripted_site() as site:
        site.script = {"1/": page("/1", "/2"), "1/1": page(), "1/2": page()}
        killed = crawl(f"{SPIDERS}.KilledSpider", settings={**settings, "TEST_KILL_AFTER": 3}, seeds=site.url("1/"))
        assert killed.exit_code == -signal.SIGKILL
        last = crawl(f"{SPIDERS}.KilledSpider", settings=settings, seeds=site.url("1/"))
        assert last.stat("finish_reason") == "finished"
        assert sorted(site.places()) == ["1/", "1/1", "1/2"]
        urls = sorted(site.url(place) for place in site.places())
    assert sorted(json.loads(line)["url"] for line in out.read_text().splitlines()) == urls


def test_full_disk_of_a_feed_ends_the_crawl_and_loses_no_item(tmp_path: Path) -> None:
    """Pages whose items cannot be written stay in the frontier, which is on another disk."""
    spec = WebSpec(servers=4, pages=200, seed=7, time_scale=0)
    with running_web(spec) as web, small_disk(tmp_path / "disk", 1 << 20) as disk:
        out, ballast, seeds = disk / "pages.jsonl", disk / "ballast", ",".join(web.seeds)
        settings = settings_for(tmp_path, FEEDS={str(out): {"format": "jsonlines"}}, FRONTIER_COMMIT_INTERVAL=0.05)
        ballast.write_bytes(bytes(shutil.disk_usage(disk).free - 30_000))
        full = crawl(WEB, settings=settings, seeds=seeds)
        assert full.stat("finish_reason") == "store_failed"
        assert f"{out}: its items cannot be written: No space left on device" in full.log
        ballast.unlink()
        out.write_bytes(out.read_bytes() + b'{"url": "http')  # whether a part was written depends on the file system
        last = crawl(WEB, settings=settings, seeds=seeds)
        assert f"{out} ended with a part of an item, which is removed" in last.log
        assert last.stat("finish_reason") == "finished"
        lines = out.read_text().splitlines()
    assert {json.loads(line)["url"] for line in lines} == set(web.web.expected_urls())


def test_second_crawl_of_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    """It says why and fails; the first crawl continues."""
    spec = WebSpec(servers=10, pages=60, seed=6, time_scale=0.05)
    settings = settings_for(tmp_path, FRONTIER_MAX_SESSIONS=2)
    with running_web(spec) as web:
        web.limit(5)  # or it may end before the other starts
        with crawling(WEB, tmp_path, settings=settings, seeds=",".join(web.seeds)) as process:
            until(lambda: len(fetched(web.records())) >= 5, process)
            second = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
            web.limit(math.inf)
            assert f"in use by pid {process.pid}" in second.log
            assert second.exit_code == NOT_STARTED
            process.wait(HUNG)
    assert len(fetched(web.records())) == 60


def test_full_disk_ends_the_crawl_and_loses_nothing(tmp_path: Path) -> None:
    """It ends with a reason; when there is space again it continues from the last commit."""
    spec = WebSpec(servers=10, pages=400, seed=7, time_scale=0, links_per_page=40)
    settings = settings_for(tmp_path, FRONTIER_COMMIT_INTERVAL=0.05, FRONTIER_MAX_SESSIONS=4)
    with running_web(spec) as web:
        result = crawl(f"{SPIDERS}.FullDiskSpider", settings=settings, seeds=",".join(web.seeds))
        assert "cannot be stored, the crawl ends" in result.log
        assert "store_failed" in result.log
        with DiskStore.read_only(tmp_path / "job" / "frontier"):
            pass
        label = tmp_path / "job" / "frontier" / "store.json"
        label.write_text(label.read_text().replace('"full"', '"web"'))
        again = crawl(WEB, settings=settings, seeds=",".join(web.seeds))
    assert again.stat("frontier/resumed") > 0
    assert len(fetched(web.records())) == 400


def test_deleted_directory_ends_the_crawl(tmp_path: Path) -> None:
    """Its files stay open and could be written to, so that all would be lost only at the end of the crawl."""
    spec = WebSpec(servers=4, pages=100, seed=7, time_scale=0)
    log = tmp_path / "log"
    settings = settings_for(tmp_path, FRONTIER_MIN_DELAY=100, FRONTIER_MAX_DELAY=100, LOG_FILE=str(log))
    with running_web(spec) as web, crawling(WEB, tmp_path, settings=settings, seeds=",".join(web.seeds)) as process:
        until(lambda: fetched(web.records()), process)
        shutil.rmtree(tmp_path / "job")
        process.wait(HUNG)
    ended = read_results(tmp_path, 0, log.read_text())
    assert ended.stat("finish_reason") == "store_failed"
    assert "the crawl ends: " in ended.log
    assert "job/frontier: was deleted while it was in use" in ended.log
    assert "safe" not in ended.log


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of its own, of ``size`` bytes."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_earlier_items_are_not_overwritten(tmp_path: Path) -> None:
    """-O with a job started earlier is refused in one line, without a request; -o, or -O with a new job, may start."""
    out = tmp_path / "pages.jsonl"
    out.write_text("of something else\n")
    feeds = {
        overwrite: {str(tmp_path / "%(name)s.jsonl"): {"format": "jsonlines", "overwrite": overwrite}}
        for overwrite in (True, False)
    }
    with scripted_site() as site:
        site.script = {"1/": page(*(f"/{n}" for n in range(3))), **{f"1/{n}": page() for n in range(3)}}
        spider = f"{SPIDERS}.PagesSpider"

        def run(overwrite: bool, pages: str) -> Any:
            settings = settings_for(tmp_path, FEEDS=feeds[overwrite], CLOSESPIDER_PAGECOUNT=pages)
            return crawl(spider, settings=settings, seeds=site.url("1/"))

        assert run(True, "2").exit_code == 0
        first = out.read_text()
        assert "else" not in first
        asked = len(site.asked)
        refused = run(True, "0")
        assert refused.exit_code == NOT_STARTED
        [line] = [line for line in refused.log.splitlines() if "Cannot start" in line]
        assert f"-O (overwrite in FEEDS) would delete its items in {out}: append with -o" in line
        assert len(site.asked) == asked
        assert out.read_text() == first
        assert run(False, "0").exit_code == 0
    assert out.read_text().startswith(first)
    assert len(out.read_text().splitlines()) == 4


@pytest.mark.parametrize("name", ["file/pages.jsonl", "none/folder/pages.jsonl"])
def test_feed_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    """Each item would be lost, with a traceback in the log: refused in one line, without a request."""
    (tmp_path / "file").touch()
    with scripted_site() as site:
        site.script = {"1/": page()}
        settings = {**IMPOLITE, "FEEDS": {str(tmp_path / name): {"format": "jsonlines"}}}
        run = crawl(f"{SPIDERS}.PagesSpider", settings=settings, seeds=site.url("1/"))
    if name.startswith("none"):
        assert run.exit_code == 0
        assert (tmp_path / name).read_text().count("\n") == 1
    else:
        assert run.exit_code == NOT_STARTED
        assert site.asked == []
        [line] = [line for line in run.log.splitlines() if "Cannot start" in line]
        assert f"the feed {tmp_path / name} cannot be written" in line


def test_requests_are_restored_unchanged(tmp_path: Path) -> None:
    """Callback, errback, meta, keyword arguments, headers and order; pages of unstored requests are fetched again."""
    places = {f"1/{number}": page() for number in range(6)}
    script = {"1/": page(*(f"/{number}" for number in (*range(6), "missing"))), "1/object": page(), **places}
    with scripted_site() as site:
        site.script = script
        spider = f"{SPIDERS}.TaggingSpider"
        runs = [crawl(spider, settings=settings_for(tmp_path), site=site.url("1/"), stop=stop) for stop in ("1", "")]
        assert site.places().count("1/object") == 1
        assert site.places().count("1/") == 2
    items = [item for run in runs for item in run.items if "number" in item]
    assert sorted(item["number"] for item in items) == list(range(6))
    assert all(item["tag"] and item["raw"] and item["header"] == str(item["number"]) for item in items)
    assert [run.stat("scheduler/unserializable") for run in runs] == [1, 1]


@pytest.mark.parametrize("stop", ["/second1", "-/first0"])
def test_requests_that_cannot_be_stored_are_not_lost(tmp_path: Path, stop: str) -> None:
    """The page that yielded them is fetched again, whether the crawl was stopped or killed."""
    killed = stop.startswith("-")
    last = [*(f"/{name}{number}" for name in ("second", "third") for number in range(3)), "/plain", "/link0", "/link1"]
    with scripted_site() as site:
        site.script = {"1/": page(), **{f"1/first{number}": page() for number in range(3)}}
        site.script |= {f"1{path}": page() for path in last}
        settings = settings_for(tmp_path, FRONTIER_COMMIT_INTERVAL=0.01)
        runs = [
            crawl(f"{SPIDERS}.LocksSpider", settings=settings, site=site.url("1/"), stop=way)
            for way in (stop.removeprefix("1"), *([""] if killed else ["", ""]))
        ]
        asked = site.places()
    assert set(asked) == {"1/", *(f"1/first{number}" for number in range(3)), *(f"1{path}" for path in last)}
    assert runs[1].stat("finish_reason") == "finished"
    assert runs[1].stat("frontier/unserializable/refetched") == 0
    if killed:
        assert asked.count("1/first0") == 2
        return
    assert {url for run in runs for url in run.urls()} == {site.url(f"1{path}") for path in last}
    if closes_lane() is None:  # without the lane the callback goes on until its end
        assert runs[0].stat("frontier/unserializable/refetched") == 1
    assert runs[0].log.count("cannot be stored") == 2, "a line for each kind of value"
    assert runs[2].items == []
