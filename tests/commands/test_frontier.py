"""``scrapy frontier``, as it is typed."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.queues.sort_key import DEMOTED
from crawlproject.seen.fingerprint import url_key
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fates import DiskFates
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.urls.fates import Fates, Outcome, Reason, Stage, encoded
from tests.processes import run_python

ENDED = {
    "http://c.example/only": (Stage.ANSWER, Reason.FETCHED),
    "http://c.example/refused": (Stage.REQUEST, Reason.ROBOTS),
}


def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "scrapy", "frontier", *arguments)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl under way: server a has 30 URLs, b rests for 200 s with two, c has none left."""
    path = tmp_path_factory.mktemp("job")
    store = DiskStore(path / "frontier", StoreLabel("web", "quality"))
    frontier = Frontier(BestPrefix(), Politeness(max_backoff=300.0))
    DiskFrontierStore(store, clock_offset=time.time()).load(frontier, 0.0)
    seen, fates = DiskSeenStore(store), Fates()
    seen.add_new([*range(37), *map(url_key, ENDED), url_key("http://c.example/lost")])
    for url, (stage, reason) in ENDED.items():
        seen.mark(url_key(url), encoded(stage, reason))
        fates.ended(Outcome(url, stage, reason))
    DiskFates(store, fates)
    fates.refuse(Reason.OFFSITE, ["http://elsewhere.example/"] * 7)
    frontier.push([Entry("http://c.example/only", 9.0)])
    session = frontier.open_session(0.0)
    frontier.acknowledge(frontier.next_url(session, 0.0))
    frontier.close_session(session, 0.1)
    frontier.push(Entry(f"http://a.example/{i}", i / 10, depth=1) for i in range(30))
    frontier.push(Entry(f"http://b.example:8080/{i}", 0.5) for i in range(2))
    frontier.record(Measurement("http://b.example:8080", 0.0, 503, retry_after=200.0))
    frontier.push([Entry("http://trap.example/@", 0.5)])
    trap = frontier.server("http://trap.example")
    trap.guard = ServerGuard()
    trap.guard.spend("/@")
    frontier.push([Entry("http://trap.example/2", 0.5, priority=DEMOTED)])
    frontier.push([Entry("http://dead.example/1")])
    for _ in range(10):
        frontier.record(Measurement("http://dead.example", 0.0, failed=True, error="connection refused"))
    pages = DiskFetchedPages(store)
    pages.put(frontier.server("http://c.example").urls.number, "/only", FetchedPage(1_000_000_000, quality=9.0))
    store.commit()
    return path


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("http://A.example/7#top", "queued, or in progress: number 23 of its server"),
        ("http://trap.example/2", "queued, or in progress: number 2 of its server; it comes last: pages like it"),
        ("http://c.example/only", Reason.FETCHED.words),
        ("http://c.example/refused", Reason.ROBOTS.words),
        ("http://c.example/lost", "seen, and lost: "),
        ("http://elsewhere.example/", Reason.OFFSITE.words),
        ("http://c.example/other", "never queued: "),
        ("http://never.example/", "never queued: "),
    ],
)
def test_it_tells_what_became_of_a_url(job: Path, url: str, state: str) -> None:
    """However it is spelled; with its server, if it is known."""
    done = scrapy(str(job), "--url", url, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["url_state"].startswith(state)
    assert len(report["top_servers"]) == ("never" not in url and "elsewhere" not in url)
    assert report.get("change", "") == (Reason(report["reason"]).change if "reason" in report else "")
    assert report.get("fetched_at") == ("2001-09-09T01:46:40+00:00" if url.endswith("only") else None)


def test_it_counts_what_became_of_urls(job: Path) -> None:
    """With examples, and what to change; links each time that they were found."""
    report = json.loads(scrapy(str(job), "--refused", "--json").stdout)
    found = {(row["stage"], row["reason"]): (row["count"], row["examples"]) for row in report["ends"]}
    assert found == {
        **{(str(stage), str(reason)): (1, [url]) for url, (stage, reason) in ENDED.items()},
        ("link", "offsite"): (7, ["http://elsewhere.example/"]),
    }
    lines = scrapy(str(job), "--refused").stdout.splitlines()
    robots = lines.index(f"        1  request/robots: {Reason.ROBOTS.words} {Reason.ROBOTS.change}")
    assert lines[robots + 1].strip() == "http://c.example/refused"


def test_it_tells_what_waits_and_why(job: Path) -> None:
    """While the crawl holds the store: counts, servers by rank with each term, the next allowed time."""
    done = scrapy(str(job), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {name: report[name] for name in ("urls_seen", "urls_queued", "servers", "servers_ready")} == {
        "urls_seen": 40,
        "urls_queued": 34,
        "servers": 5,
        "servers_ready": 2,
    }
    assert (report["servers_resting"], report["servers_idle"], report["servers_given_up"]) == (1, 2, 1)
    a, b, trap = report["top_servers"]
    assert trap["traps"] == ["/@"]
    assert (report["urls_doubted"], trap["doubted"]) == (1, 1)
    assert (a["server"], a["urls"], a["best_quality"], a["wait"]) == ("http://a.example", 30, 2.9, 0)
    assert a["rank"] > b["rank"] > 0
    assert (b["state"], b["failures"]) == ("resting", 1)
    assert 100 < b["wait"] <= 200


def test_it_prints_a_table(job: Path) -> None:
    """For people."""
    done = scrapy(str(job))
    assert "urls queued       34\n" in done.stdout
    assert "http://trap.example (URLs that come last, nothing new on pages like theirs: 1) (traps: /@)" in done.stdout
    assert [line.split()[-1] for line in done.stdout.splitlines() if "a.example" in line] == ["http://a.example"]
    assert "http://b.example:8080 (resting, allowed at 20" in done.stdout


def test_servers_in_a_state_say_why(job: Path) -> None:
    """Those given up have no URLs, and yet a line: reason, failures, last error."""
    done = scrapy(str(job), "--state", "given-up", "--json")
    [dead] = json.loads(done.stdout)["top_servers"]
    names = ("server", "state", "failures", "reason", "last_error", "wait", "allowed_at")
    assert {name: dead[name] for name in names} == {
        "server": "http://dead.example",
        "state": "given up",
        "failures": 10,
        "reason": "connection refused, 10 times in a row",
        "last_error": "connection refused",
        "wait": None,
        "allowed_at": "never",
    }
    assert " - http://dead.example (given up: connection refused, 10 times in a row)\n" in (
        scrapy(str(job), "--state", "given-up").stdout
    )
    [b] = json.loads(scrapy(str(job), "--state", "resting", "--json").stdout)["top_servers"]
    assert (b["server"], b["reason"], b["failures"]) == ("http://b.example:8080", "status 503", 1)


@pytest.mark.parametrize("host", ["a.example", "http://a.example"])
def test_urls_of_one_server(job: Path, host: str) -> None:
    """The best first, no more than asked for; the directory itself may be named."""
    done = scrapy(str(job / "frontier"), "--server", host, "--urls", "--limit", "3", "--json")
    [server] = json.loads(done.stdout)["top_servers"]
    assert [url["url"] for url in server["queue"]] == [f"http://a.example/{i}" for i in (29, 28, 27)]
    assert server["queue"][0] == {"url": "http://a.example/29", "quality": 2.9, "priority": 0, "depth": 1}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "exactly one directory"),
        (("{job}", "-s", "FRONTIER_POLICY=fastest"), 2, "FRONTIER_POLICY='fastest': must be one of"),
        (("{job}", "--url", "nothing"), 2, "--url='nothing'"),
        (("{job}/none",), 1, "no frontier is stored here"),
        (("{job}", "--server", "x.example"), 1, "no URL of 'x.example' is known"),
    ],
)
def test_it_says_what_is_wrong(job: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    """And fails."""
    done = scrapy(*(argument.format(job=job) for argument in arguments))
    assert done.returncode == code
    assert message in done.stderr + done.stdout


def test_urls_are_searched(job: Path) -> None:
    """By pattern, state, depth and spider; as text, JSON lines and CSV; wrong ones are one line."""
    found = scrapy(str(job), "--search", "/*2", "--server", "a.example", "--json")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert rows
    assert all(row["url"].startswith("http://a.example/") and "2" in row["url"][17:] for row in rows)
    assert {row["state"] for row in rows} == {"queued"}
    head, *lines = scrapy(str(job), "--state", "queued", "--csv").stdout.splitlines()
    assert head.startswith("url,state,stage,reason,status,depth")
    assert len(lines) > len(rows)
    assert "queued" in scrapy(str(job), "--search", "*", "--state", "queued").stdout
    assert scrapy(str(job), "--status", "404").stdout == ""
    (job / "frontier" / "spiders.json").write_text(json.dumps({"shop": ["a.example"], "news": []}))
    by_spider = {
        name: {
            json.loads(line)["url"]
            for line in scrapy(str(job), "--spider", name, "--state", "queued", "--json").stdout.splitlines()
        }
        for name in ("web", "shop", "news")
    }
    assert by_spider["shop"]
    assert by_spider["news"] == set()
    assert all(url.startswith("http://a.example/") for url in by_spider["shop"])
    assert len(by_spider["web"] | by_spider["shop"]) == len(by_spider["web"]) + len(by_spider["shop"]) == len(lines)
    assert "one of web, shop, news" in scrapy(str(job), "--spider", "dance").stderr
    wrong = scrapy(str(job), "--search", "re:(")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1) or "re:(" in wrong.stderr
    assert "scrapy console" in scrapy("redis://127.0.0.1:1/0", "--search", "x").stderr
