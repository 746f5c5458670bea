"""The report: what it says, that it needs nothing else, and that strangers' text is only text."""

import os
import re
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crawlproject.monitor.report.facts import Facts, advice, summary
from crawlproject.monitor.report.page import page, write_report
from crawlproject.monitor.series.samples import KINDS, read_snapshot
from tests.crawl.crawling import crawling
from tests.crawl.differential import run
from tests.crawl.scripted_site import page as scripted_page
from tests.crawl.scripted_site import scripted_site
from tests.monitor.crawl_files import HOSTILE, large, rows_of, samples, series_of, server, snapshot, write
from tests.processes import run_python
from tests.waiting import until


class Parsed(HTMLParser):
    """Elements, and texts by element."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append((self.tags[-1][0] if self.tags else "", data))


def test_a_finished_crawl() -> None:
    """The sentences of the summary, traced by hand."""
    facts = Facts.of(series_of(samples(100, 3600.0, 1000)), snapshot([]))
    told = " ".join(summary(facts))
    assert "In 1 h it fetched 1,000 pages (0.3 per second, 20.0 MB)" in told
    assert "found 4,000 URLs on 100,000 servers" in told
    assert "It gathered 91% of the quality of all URLs known; 80% of it after 40 min." in told
    assert "most often the limit was: politeness: servers rest (100% of the time)" in told
    assert "Failed, refused or dropped, most often: not found (90,000), timeout (10,000)." in told
    assert "It ended with the reason “finished”; still queued: 600 URLs." in told


def test_a_snapshot_of_a_running_crawl_says_when() -> None:
    """A crawl that has just begun has no times yet."""
    series = series_of(samples(100, 3600.0, 1000))
    running = page(Facts.of(series, snapshot([], at=1.8e9 + 3540, stats={"downloader/request_count": 7})))
    assert "Of the last run, as of 2027-01-15 08:59:00 UTC: 7 requests" in running
    assert len(rows_of(running, "Times")) == 3
    assert "Of the last run: 1,200,000 requests" in page(Facts.of(series, snapshot([], at=1.8e9)))
    assert rows_of(page(Facts.of(series, snapshot([], connect=[0] * 9, response=[], waits=[]))), "Times") == []


def test_nothing_is_loaded_from_elsewhere() -> None:
    """No address of another file, and a policy that allows only these scripts."""
    html = page(Facts.of(series_of(samples(50, 100.0, 100)), snapshot([server(1)])))
    parsed = Parsed(html)
    links = {"src", "href", "srcset", "action"}
    found = [value for _, attributes in parsed.tags for name, value in attributes.items() if name in links]
    assert [value for value in found if not str(value).startswith("#/")] == []
    assert not re.search(r"url\(|@import", html.partition("</style>")[0])
    scripts = [text for tag, text in parsed.texts if tag == "script" and text.strip()]
    assert len(scripts) == 3
    assert not [
        line for script in scripts[1:] for line in script.splitlines() if line.startswith(("import ", "export "))
    ]
    assert "default-src 'none'" in html
    assert "unsafe" not in html.partition("<style>")[0]


def test_the_summary_needs_no_script() -> None:
    """It is in the HTML, as text; what needs a script is told."""
    html = page(Facts.of(series_of(samples(50, 100.0, 100)), snapshot([server(1)])), ["a file is damaged"])
    seen = " ".join(text for tag, text in Parsed(html).texts if tag not in ("script", "style"))
    for told in (*summary(Facts.of(series_of(samples(50, 100.0, 100)), snapshot([]))), "a file is damaged"):
        assert told in seen
    assert "need JavaScript" in seen


@pytest.mark.parametrize("hostile", HOSTILE)
def test_what_strangers_send_is_text(hostile: str) -> None:
    """In every place that can hold it; a megabyte is cut."""
    taken = snapshot(
        [server(1, server=hostile, error=hostile, state=hostile), ["short"], "no row"],  # type: ignore[list-item]
        settings={hostile: hostile},
        stats={f"httperror/response_ignored_status_count/{hostile}": 5, "finish_reason": hostile, hostile: 3},
    )
    harmless = Parsed(page(Facts.of(series_of(samples(5, 10.0, 50)), snapshot([server(1)], settings={"A": "b"}))))
    html = page(Facts.of(series_of(samples(5, 10.0, 50)), taken), [hostile])
    found = Parsed(html)
    assert [tag for tag, _ in found.tags if tag == "script"] == ["script"] * 3
    assert {tag for tag, _ in found.tags} <= {tag for tag, _ in harmless.tags} | {"p"}
    assert not {name for _, attributes in found.tags for name in attributes if name.startswith("on")}
    assert not set("\u202e\u200f\x1b\x00") & set(html)
    assert len(html) < 300_000


def test_a_report_of_a_million_pages(tmp_path: Path) -> None:
    """Small, and soon made: its size and the CPU time do not depend on the crawl's."""
    folder = large(tmp_path / "report")
    before = time.process_time()
    made = write_report(folder)
    assert time.process_time() - before < 5.0
    assert made.path.stat().st_size < 3_000_000
    assert made.problems == ()
    assert "The other 99,000 have 400,000 pages" in made.path.read_text(encoding="utf-8")


def test_a_damaged_snapshot_costs_its_tables(tmp_path: Path) -> None:
    """The report says so."""
    folder = write(tmp_path, samples(5, 10.0, 50), None)
    (folder / "snapshot.json").write_text("{")
    made = write_report(folder)
    assert "damaged" in made.problems[0]
    assert "no servers, stats or settings" in made.path.read_text(encoding="utf-8")


def test_a_crawl_leaves_a_report(tmp_path: Path) -> None:
    """In JOBDIR, at the end; the second run adds to it."""
    script = {"1/": scripted_page("/a", "/b"), "1/a": scripted_page(), "1/b": scripted_page()}
    for number in (1, 2):
        ours = run("StartUrlsSpider", script, settings={"JOBDIR": str(tmp_path)}, start="1/")
        assert ours.reason == "finished"
        assert f"Report: {tmp_path / 'report' / 'report.html'}" in ours.crawl.log
        html = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
        assert f"fetched {3 * number} pages" in html  # each run has servers of its own
        assert ("ran 2 times" in html) == (number == 2)
    kept = read_snapshot(tmp_path / "report" / "snapshot.json")
    assert kept["servers"][0]["fetched"] == 3
    assert kept["stats"]["finish_reason"] == "finished"
    assert kept["settings"]["JOBDIR"] == repr(str(tmp_path))


def test_a_report_that_cannot_be_written_costs_a_line(tmp_path: Path) -> None:
    """As on a full disk: it says that there is none, and how to get it; the snapshot is kept."""
    (tmp_path / "report.html.new").mkdir()
    ours = run("StartUrlsSpider", {"1/": scripted_page()}, settings={"FRONTIER_REPORT_DIR": str(tmp_path)}, start="1/")
    assert ours.reason == "finished"
    problem = f"{tmp_path}/report.html: Is a directory"
    assert ours.crawl.log.count(f"No report; `scrapy report` makes it later: {problem}") == 1
    assert ours.stat("log_count/ERROR") == 0  # when the stats were taken
    assert read_snapshot(tmp_path / "snapshot.json")["stats"]["finish_reason"] == "finished"
    done = run_python("-m", "scrapy", "report", str(tmp_path))
    assert (done.returncode, done.stderr) == (1, f"{problem}\n")


def test_the_command_of_a_running_and_of_a_killed_crawl(tmp_path: Path) -> None:
    """``scrapy report`` at any time."""
    with scripted_site() as site:
        site.script = {"1/": scripted_page(*(f"/{number}" for number in range(50)))}
        settings = {"JOBDIR": str(tmp_path / "job"), "FRONTIER_MIN_DELAY": 3, "FRONTIER_MAX_BATCH": 1}
        spider = "tests.crawl.ordinary_spiders.StartUrlsSpider"
        with crawling(spider, tmp_path, settings=settings, sites=",".join(site.origins), start="1/") as process:
            series = tmp_path / "job" / "report" / "series.jsonl"
            until(lambda: series.exists() and len(series.read_text().splitlines()) >= 3, process)
            running = run_python("-m", "scrapy", "report", str(tmp_path / "job"))
            process.kill()
            process.wait()
        killed = run_python("-m", "scrapy", "report", str(tmp_path / "job"), "-o", str(tmp_path / "my.html"))
    assert (running.returncode, killed.returncode) == (0, 0), running.stderr + killed.stderr
    assert running.stdout == f"{tmp_path / 'job' / 'report' / 'report.html'}\n"
    assert "is running, or was interrupted" in (tmp_path / "my.html").read_text(encoding="utf-8")


def test_a_report_into_a_pipe_or_a_link(tmp_path: Path) -> None:
    """A pipe, or a link such as /dev/stdout, is written to, not replaced by a file."""
    write(tmp_path, samples(10, 100.0, 50), snapshot([]))
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE)
    write_report(tmp_path, tmp_path / "pipe")
    assert reader.communicate()[0].startswith(b"<!DOCTYPE html>")
    (tmp_path / "link").symlink_to(tmp_path / "my.html")
    write_report(tmp_path, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "my.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_command_without_a_crawl(tmp_path: Path) -> None:
    """One line, exit code 1."""
    done = run_python("-m", "scrapy", "report", str(tmp_path))
    assert done.returncode == 1
    assert (
        done.stderr
        == f"{tmp_path}: no series of a crawl (series.jsonl); it is kept in JOBDIR, or in FRONTIER_REPORT_DIR\n"
    )
    assert run_python("-m", "scrapy", "report").returncode == 2
    (tmp_path / "file").touch()
    for name, problem in (("file", "not a directory"), ("none", "no such directory")):
        done = run_python("-m", "scrapy", "report", f"{tmp_path}/{name}")
        assert (done.returncode, done.stderr) == (1, f"{tmp_path}/{name}: {problem}\n")


@pytest.mark.parametrize(
    ("held", "sessions", "wanted"),
    [
        ("politeness", 10, "Of the 64 connections allowed, 16% were in use on average, because servers rested"),
        ("connections", 64, "a larger FRONTIER_MAX_SESSIONS"),
        ("CPU", 30, "or several processes"),
        ("DNS", 30, "a caching resolver"),
        ("few", 3, "give more seeds"),
        ("loop", 3, "files, databases or sleep"),
        ("failures", 3, "For 100% of the time the crawl only tried servers again that fail"),
    ],
)
def test_what_to_change(held: str, sessions: int, wanted: str) -> None:
    """By what held the crawl back most of the time."""
    found = samples(10, 100.0, 50)
    for each in found:
        each.update(held_back=list(KINDS).index(held), sessions=sessions)
    told = " ".join(advice(Facts.of(series_of(found), {})))
    assert wanted in told
