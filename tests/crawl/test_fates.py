"""Every URL ends once, and is counted once: by stats, by the store, in the log."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from crawlproject.urls.fates import PREFIX, Reason, Stage
from testbed.web import WebSpec, into_traps, running_web
from tests.crawl.crawling import crawl, crawling
from tests.crawl.differential import QUICK
from tests.crawl.fate_spider import DEAD
from tests.crawl.nasty_server import CLOSE, HANG, page, response, running
from tests.crawl.scripted_site import Answer, redirect, scripted_site
from tests.crawl.scripted_site import page as page_of
from tests.processes import run_python

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.crawling import Crawl

SPIDER = "tests.crawl.fate_spider.FateSpider"

TEXT = " ".join(f"word{number}" for number in range(400))

#: Path -> script; what is linked from the first page.
ANSWERS: dict[str, tuple[bytes | float | str, ...]] = {
    "/p": (response(page("/deep", title="p")),),
    "/copy": (response(page("/deep", title="p")),),
    "/near": (response(f"<title>t</title><p>{TEXT} one"),),
    "/nearly": (response(f"<title>t</title><p>{TEXT} two"),),
    "/old": (response("", "Location: /p", status="301 Moved"),),
    "/unchanged": (response("", status="304 Not Modified"),),
    "/gone": (response("", status="410 Gone"),),
    "/secret": (response("", status="403 Forbidden"),),
    "/teapot": (response("", status="418 Teapot"),),
    "/broken": (response("", status="500 Broken"),),
    "/busy": (response("", status="429 Slow down"),),
    "/odd": (response("", status="302 Nowhere"),),
    "/picture": (response(b"x", "Content-Type: image/png"),),
    "/crash": (response(page(title="crash")),),
    "/kept": (response(page(title="kept")),),
    "/r1": (response("", "Location: /r2", status="302 Found"),),
    "/r2": (response("", "Location: /r3", status="302 Found"),),
    "/r3": (response("", "Location: /r4", status="302 Found"),),
    "/zipped": (response(gzip.compress(b"x" * 500)[:-9] + b"garbage--", "Content-Encoding: gzip"),),
    "/large": (response(b"x", "Content-Length: 3000000"), CLOSE),
    "/half": (response(b"x" * 50, "Content-Length: 100"), CLOSE),
    "/noise": (b"noise\r\n\r\n", CLOSE),
    "/deep": (response(page("/deeper", title="deep")),),
    "/deeper": (response(page("/deepest", title="deeper")),),
}
UNLINKED = ("/r2", "/r3", "/deep", "/deeper")
MORE = (
    *("/private", "/ignored", "/error", "/replaced", "/left/out", "mailto:someone", "http://[", "/" + "x" * 400),
    *("http://10.0.0.1/", "http://denied.example/", "http://offsite.example/", f"{DEAD}/link"),
    *(f"/file{number}.zip" for number in range(9)),
)
SITE = {
    "/": (response(page(*(path for path in ANSWERS if path not in UNLINKED), *MORE)),),
    "/robots.txt": (response("User-agent: *\nDisallow: /private", "Content-Type: text/plain"),),
    **ANSWERS,
    **{f"/file{number}.zip": (response(b"PK", "Content-Type: application/zip"),) for number in range(9)},
}
SILENT = {"/robots.txt": (response("", "Content-Type: text/plain"),), "/": (HANG,)}

#: Reasons that this crawl does not show -> the test that does.
ELSEWHERE = {
    Reason.PAGE_LIMIT: "crawl/test_limits.py",
    Reason.NO_ANSWER: "crawl/test_silent_servers.py",
    Reason.UNSERIALIZABLE: "discovery/test_received.py",
    Reason.GUARD: "below",
    Reason.MERGED: "below",
    Reason.UNREADABLE: "crawl/test_resume.py",
    Reason.FOREIGN: "discovery/test_sitemaps.py",
    Reason.SITEMAP_LIMIT: "discovery/test_sitemaps.py",
    Reason.ON_COPY: "crawl/test_duplicates.py",
    Reason.ALIAS: "crawl/test_aliases.py",
    Reason.SPIDER_MISSING: "crawl/test_several.py",
    Reason.SPIDER_ENDED: "crawl/test_several.py",
}


def settings_of(folder: Path, **more: Any) -> dict[str, Any]:
    deny = folder / "denied.txt"
    deny.write_text("denied.example\n")
    return {
        **QUICK,
        "ROBOTSTXT_OBEY": True,
        "RETRY_TIMES": 1,
        "REDIRECT_MAX_TIMES": 2,
        "FRONTIER_MAX_FAILURES": 8,
        "FRONTIER_DENY_FILE": str(deny),
        "DOWNLOAD_MAXSIZE": 1_000_000,
        "DEPTH_LIMIT": 3,
        "URLLENGTH_LIMIT": 300,
        "FRONTIER_LINKS_EXCLUDE": ["*/left/*"],
        "FRONTIER_LINKS_TYPES": ["text/html"],
        "DOWNLOADER_MIDDLEWARES": {"tests.crawl.fate_spider.Meddler": 500},
        "JOBDIR": str(folder / "job"),
        "FRONTIER_CRAWL_LOG": "crawl.jsonl",
        **more,
    }


def run(folder: Path, **more: Any) -> Crawl:
    with running({"site": SITE, "silent": SILENT}) as roots:
        allowed = "127.5.0.1,127.5.0.2,127.5.9.8,127.5.9.9,10.0.0.1,denied.example,nowhere.invalid"
        start = {"seeds": f"{roots['site']}/", "slow": roots["silent"], "allowed": allowed}
        return crawl(SPIDER, settings=settings_of(folder, **more), **start)


def ends_of(stats: dict[str, Any]) -> Counter[str]:
    """Stage and reason -> URLs, by the stats."""
    return Counter({name.removeprefix(PREFIX): n for name, n in stats.items() if name.startswith(PREFIX)})


def shown(folder: Path, *arguments: str) -> dict[str, Any]:
    """What ``scrapy frontier`` says."""
    done = run_python("-m", "scrapy", "frontier", str(folder / "job"), "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Path]:
    folder = tmp_path_factory.mktemp("fates")
    return run(folder), folder


def test_every_reason_is_met(finished: tuple[Crawl, Path]) -> None:
    """In this crawl, or in another test."""
    done, _ = finished
    assert done.stat("finish_reason") == "finished", done.log
    found = {name.partition("/")[2] for name in ends_of(done.stats)}
    assert set(Reason) - found == set(ELSEWHERE)


def test_each_url_seen_ends_once(finished: tuple[Crawl, Path]) -> None:
    """Or is still queued."""
    done, _ = finished
    ended = sum(count for name, count in ends_of(done.stats).items() if not name.startswith(Stage.LINK))
    assert ended + done.stat("frontier/urls") == done.stat("seen/urls")


def test_the_store_says_the_same(finished: tuple[Crawl, Path]) -> None:
    """Of each reason, and of each URL."""
    done, folder = finished
    report = shown(folder, "--refused")
    stored = {f"{row['stage']}/{row['reason']}": row["count"] for row in report["ends"]}
    assert stored == {name: n for name, n in ends_of(done.stats).items() if not Reason(name.partition("/")[2]).stays}
    for row in report["ends"]:
        assert 0 < len(row["examples"]) <= 5


def test_the_log_has_one_line_for_each(finished: tuple[Crawl, Path]) -> None:
    """With what its answer was; links that are not queued have none."""
    done, folder = finished
    lines = [json.loads(line) for line in (folder / "job" / "crawl.jsonl").read_text().splitlines()]
    logged = Counter(f"{line['stage']}/{line['reason']}" for line in lines)
    assert logged == Counter({name: n for name, n in ends_of(done.stats).items() if not name.startswith(Stage.LINK)})
    by_path = {urlsplit(line["url"]).path: line for line in lines if "127.5.0.1" in line["url"]}
    assert (by_path["/gone"]["status"], by_path["/gone"]["bytes"]) == (410, 0)
    assert by_path["/old"]["note"] == by_path["/p"]["url"]
    assert (by_path["/p"]["type"], by_path["/p"]["depth"]) == ("text/html", 1)
    assert by_path["/p"]["times"]["response"] > 0
    assert by_path["/private"]["status"] is None
    assert by_path["/r2"]["via"] == by_path["/r1"]["url"]


def test_a_full_disk_costs_lines_and_no_page(tmp_path: Path) -> None:
    """They are counted; the log of the process says so once."""
    with running({"site": {"/": (response(page("/a", "/b")),)}}) as roots:
        more = {"FRONTIER_CRAWL_LOG": "/dev/full", "FRONTIER_LINKS_EXCLUDE": []}
        done = crawl(SPIDER, settings=settings_of(tmp_path, **more), seeds=f"{roots['site']}/", slow=roots["site"])
    assert done.stat("finish_reason") == "finished"
    assert done.stat("crawl_log/lines") == 0
    assert done.stat("crawl_log/lost") == sum(n for name, n in ends_of(done.stats).items() if name[:4] != "link") > 3
    assert done.log.count("FRONTIER_CRAWL_LOG: lines are lost") == 1


def test_urls_that_the_guard_drops_end_as_well(tmp_path: Path) -> None:
    """Those of traps, and other addresses of known pages: once, like all others. Each server has a trap that no rule on
    URLs covers: it costs some requests, and no page is lost."""
    spec = WebSpec(8, 240, seed=3, time_scale=0, visit_share=0.5, diary_share=0.5)
    with running_web(spec) as web:
        settings = {**QUICK, "JOBDIR": str(tmp_path / "job"), "LOG_LEVEL": "INFO"}
        done = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=",".join(web.seeds))
        web.keep_records()
    ends = ends_of(done.stats)
    assert ends["queue/merged"] > 0
    assert ends["queue/guard"] + ends["link/guard"] > 0
    report = shown(tmp_path, "--refused")
    stored = Counter({f"{row['stage']}/{row['reason']}": row["count"] for row in report["ends"]})
    assert stored == ends
    requests = [record for record in web.records() if record.kind == "request"]
    assert 0 < len(into_traps(web.records())) <= 8 * 100
    assert len({(record.server, record.page) for record in requests if record.page}) == 240
    assert done.stat("guard/idle_parts") == 4
    assert sum(count for name, count in stored.items() if not name.startswith(Stage.LINK)) == report["urls_seen"]


def tree() -> dict[str, Answer]:
    """Pages, some of which are copies, missing, or elsewhere."""
    more: dict[str, Answer] = {}
    for number in range(40):
        own = {3: Answer(status=404), 5: redirect("/1"), 7: page_of(title="copy")}.get(number % 10)
        more[f"1/{number}"] = own or page_of(f"/{number * 2}", f"/{number * 2 + 1}", title=str(number))
    return {"1/": page_of(*(f"/{number}" for number in range(10))), **more}


def test_a_kill_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """A resumed crawl knows the same of each URL as one that nobody has killed."""
    known = []
    for is_killed in (False, True):
        folder = tmp_path / str(is_killed)
        folder.mkdir()
        settings = {**QUICK, "JOBDIR": str(folder / "job"), "FRONTIER_COMMIT_INTERVAL": 0.05}
        with scripted_site() as site:
            site.script = tree()
            start = {"seeds": site.url("1/"), "allowed": "127.4.0.1"}
            if is_killed:
                with crawling("crawlproject.spiders.web.WebSpider", folder, settings=settings, **start) as process:
                    site.wait_for(20)
                    process.kill()
                    process.wait()
            done = crawl("crawlproject.spiders.web.WebSpider", settings=settings, **start)
        assert done.stat("finish_reason") == "finished", done.log
        report = shown(folder, "--refused")
        rows = [row for row in report["ends"] if row["stage"] != Stage.LINK]
        assert sum(row["count"] for row in rows) == report["urls_seen"] == done.stat("seen/urls")
        known.append({f"{row['stage']}/{row['reason']}": row["count"] for row in rows})
    assert known[0] == known[1]
    assert set(known[0]) == {"answer/fetched", "answer/copy", "answer/not_found", "answer/redirected"}
