"""Panel, console, stats, report and store say the same of one crawl, each of what it says it tells."""

import json
import math
import os
import re
import signal
from pathlib import Path
from typing import Any

from redis import Redis

from crawlproject.monitor.console.order_book import FILE_NAME, OrderBook
from crawlproject.monitor.report.joint import Worker, joint_series, worker_directories
from crawlproject.monitor.series.samples import FILE_NAME as SERIES
from crawlproject.monitor.series.samples import KINDS, read_series
from testbed.children import free_port
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, running_web
from tests.crawl.differential import QUICK, run_on
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.monitor.crawl_files import text_of
from tests.processes import run_python, running
from tests.waiting import until

PAGES = 12

#: Workers that are polite to nobody, and try servers that fail again later than a test lasts.
PATIENT = {
    "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MIN_BACKOFF": 300,
    "JOBDIR": "job",
}
ENVIRONMENT = {**os.environ, "SCRAPY_SETTINGS_MODULE": "crawlproject.settings", "PYTHONPATH": str(Path.cwd())}


def stored(place: Path | str, *options: str) -> dict[str, Any]:
    """What ``scrapy frontier`` reads from the store."""
    done = run_python("-m", "scrapy", "frontier", str(place), "--json", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def pages_of(client: Redis) -> int:
    """Of the whole crawl, as Redis counts them."""
    return int(client.hget("{web}:meta", "pages") or 0)


def number(pattern: str, text: str) -> int:
    """The number that ``pattern`` finds."""
    found = re.search(pattern, text)
    assert found, f"{pattern}: {text}"
    return int(found[1].replace(",", ""))


def test_two_runs_with_a_blocked_server(tmp_path: Path) -> None:
    """The second run ends when only URLs of the blocked server wait."""
    job = tmp_path / "job"
    script = {
        f"{server}/{path}": page(*(f"/{each}" for each in range(PAGES) if not path))
        for server in (1, 2)
        for path in ("", *map(str, range(PAGES)))
    } | {"1/3": Answer(status=404)}
    told = []
    with scripted_site(2) as site:
        site.script = script
        for limit in (10, 0):
            settings = {**QUICK, "JOBDIR": str(job), "FRONTIER_MAX_PAGES": limit, "FRONTIER_MAX_SESSIONS": 2}
            if not limit:
                book = OrderBook(job / "frontier" / FILE_NAME)
                book.note(f"block {site.origins[1]}", "1")
                assert book.save()
            file = tmp_path / f"told-{limit}"
            spider = "tests.monitor.told_spiders.ToldSpider"
            run = run_on(site, spider, settings=settings, start="1/,2/", told=str(file))
            assert run.crawl.stats, run.crawl.log
            told.append(json.loads(file.read_text()))
    report = text_of((job / "report" / "report.html").read_text(encoding="utf-8"))
    store = stored(job)
    first, last = told
    own, whole = (number(rf"{pattern} ([\d,]+) page", report) for pattern in ("Of these,", "it fetched"))
    left = number(r"still queued: ([\d,]+) URL", report)

    assert left > 0
    assert "all of them on servers that the operator has blocked" in report
    panel, console, stats = last["panel"], last["console"], last["stats"]
    assert f"pages {own} in this run," in panel
    assert own == console["pages"] == stats["frontier/pages"]
    assert whole == own + first["stats"]["frontier/pages"] == store["pages"]

    assert f"urls {left} queued ({left} blocked by the operator)," in panel
    assert left == console["queued"] == console["blocked"] == store["urls_queued"]
    assert left == stats["frontier/urls"] == stats["frontier/urls/blocked"]
    assert left == stats["monitor/urls"] == stats["monitor/urls/blocked"]
    assert number(r"found ([\d,]+) URLs", report) == console["seen"] == store["urls_seen"]

    share = f"{console['quality_share']:.0%}"
    assert 0 < console["quality_share"] < 1
    assert stats["monitor/quality_share"] == round(console["quality_share"], 4)
    assert f"quality {share} of what is known" in panel
    assert f"It gathered {share} of the quality of all URLs known" in report

    requests = number(r"Of the last run: ([\d,]+) requests", report)
    assert requests == stats["downloader/request_count"]
    for title in ("Answers", "Politeness", "Times", "Duplicates, traps"):
        assert f"{title} (last run)" in report
    for title in ("Over time", "What held the crawl back", "Servers"):
        assert f"{title} (all runs)" in report
    assert re.search(rf"all 2 {whole} {requests + first['stats']['downloader/request_count']} ", report)


def test_workers_that_are_stopped_while_servers_fail(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Two runs of ``scrapy workers``: pages of the crawl and of the last run; what waits is not called nothing."""
    failing = [f"http://127.0.0.{host}:{free_port()}/{path}" for host in range(1, 4) for path in range(22)]
    line = ["-m", "scrapy", "workers", "-n", "2", "web", "-a", "seeds=seeds.txt"]
    for name, value in {**PATIENT, "REDIS_URL": redis_server.url}.items():
        line += ["-s", f"{name}={value}"]
    pages, told = [0], ""
    with running_web(WebSpec(servers=6, pages=60, time_scale=0)) as web, redis_server.client() as client:
        (tmp_path / "seeds.txt").write_text("\n".join([*web.seeds, *failing]))
        web.limit(30)
        for wanted in (20, 60):
            with (
                (tmp_path / "told").open("w") as file,
                running(line, stderr=file, cwd=tmp_path, env=ENVIRONMENT) as run,
            ):
                until(lambda wanted=wanted: pages_of(client) >= wanted, run, (tmp_path / "told").read_text)
                run.send_signal(signal.SIGINT)
                web.limit(math.inf)
                assert run.wait() == 0, (tmp_path / "told").read_text()
            pages.append(pages_of(client))
            told = (tmp_path / "told").read_text()
    store = stored(redis_server.url, "--key", "web")
    report = text_of((tmp_path / "job" / "report.html").read_text(encoding="utf-8"))
    stats = [json.loads((tmp_path / "job" / f"worker-{number}.json").read_text()) for number in (1, 2)]
    _, first, whole = pages

    assert store["urls_queued"] == len(failing)
    assert number(r"still queued: ([\d,]+) URL", report) == len(failing)
    assert f"{len(failing)} URLs still queued" in told
    assert max(each.get("workers/total/frontier/urls", 0) for each in stats) == len(failing)
    assert number(r"found [\d,]+ URLs on ([\d,]+) servers", report) == store["servers"]
    places = worker_directories(tmp_path / "job")
    series = joint_series([Worker(place.name, read_series(place / SERIES), {}) for place in places])
    held = {list(KINDS)[int(each["held_back"])] for run in series.runs for each in run.samples if each["queued"]}
    assert "nothing" not in held
    assert "give more seeds" not in report

    assert 0 < first < whole == 60 == store["pages"]
    assert f"; {whole - first} pages (" in told
    assert sum(each.get("frontier/pages", 0) for each in stats) == whole - first  # one may have got none
    assert number(r"it fetched ([\d,]+) page", report) == whole
    assert number(r"Of these, ([\d,]+) page", report) == whole - first
    assert "(all workers, all runs)" in report
    assert "(last run of each worker)" in report
