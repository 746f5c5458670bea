"""``scrapy simulate`` and ``scrapy pagerank``, as they are typed."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from scrapy.cmdline import execute
from scrapy.settings import Settings

from crawlproject.frontier.quality import ScoredQuality
from testbed.web import WebSpec, running_web
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--servers", "20", "--pages", "300", "--sessions", "4")
LINES = "http://a.example/\thttp://a.example/1\thttp://b.example/\nhttp://a.example/1\thttp://a.example/\n"


def scrapy(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "scrapy", *arguments, cwd=cwd)


def refused(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that is wrong; its exit code is 2."""
    with pytest.raises(SystemExit) as stopped:
        execute(["scrapy", *arguments], Settings({"COMMANDS_MODULE": "crawlproject.commands"}))
    assert stopped.value.code == 2
    told = capsys.readouterr()
    return told.out + told.err


def test_simulate_prints_a_table_and_writes_files(tmp_path: Path) -> None:
    """All policies by default; CSV files where asked for."""
    out = tmp_path / "new" / "folder"
    done = scrapy("simulate", *SMALL, "--quality", "pagerank,zipf", "--output", str(out), "--jobs", "1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    policies = ["breadth-first", "performance", "quality", "capacity", "prefix"]
    assert [line.split()[0] for line in lines[2:8]] == ["pagerank", *policies]
    assert lines[-1] == f"in {out}/table.csv"
    assert done.stderr == ""


def test_simulate_runs_without_this_project_around_it(tmp_path: Path) -> None:
    """The commands module is all it needs of the settings."""
    (tmp_path / "elsewhere.py").write_text("COMMANDS_MODULE = 'crawlproject.commands'\n")
    elsewhere = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "SCRAPY_SETTINGS_MODULE": "elsewhere"}
    options = ("simulate", *SMALL, "--policy", "capacity", "--webs", "2", "--seed", "7", "--jobs", "1")
    done = run_python("-m", "scrapy", *options, cwd=tmp_path, env=os.environ | elsewhere)
    assert done.returncode == 0, done.stderr
    assert "seed 8: 20 servers" in done.stdout


def test_simulate_of_estimated_quality_draws_the_trade_off(tmp_path: Path) -> None:
    """With politeness, dead servers and limits."""
    picture = tmp_path / "tradeoff.svg"
    options = ["--web", "tail", "--policy", "prefix", "--quality", "uniform", "--estimate", "in-links"]
    options += ["--politeness", "request", "--delay-factor", "2", "--min-delay", "0.1", "--dead", "0.1"]
    options += ["--max-pages", "60", "--tradeoff", str(picture), "--jobs", "1"]
    done = scrapy("simulate", *SMALL, *options)
    assert done.returncode == 0, done.stderr
    assert "web tail, seed 1: 20 servers, 300 pages (" in done.stdout
    assert f"by choosiness: {picture}" in done.stdout
    assert picture.read_text(encoding="utf-8").startswith("<svg ")


def test_simulate_of_a_recorded_crawl(tmp_path: Path) -> None:
    """A graph from a file, from a start of one's own, collected by scores of one's own."""
    (tmp_path / "links.tsv").write_text(LINES)
    (tmp_path / "scores.tsv").write_text("http://a.example/1\t2\n")
    web = ("--web", str(tmp_path / "links.tsv"), "--start", "http://a.example/1", "--max-pages-per-server", "5")
    options = ("--times", "heritrix", "--quality", f"scores:{tmp_path / 'scores.tsv'}", "--jobs", "1")
    done = scrapy("simulate", *web, *options, "--error", "0.5")
    assert done.returncode == 0, done.stderr
    assert "web links.tsv, seed 1: 1 servers, 2 pages (2 can be fetched), 2 links" in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--sessions 0", "--sessions: must be a whole number >= 1, not '0'"),
        ("--dead -1", "--dead: must be a number >= 0, not '-1'"),
        ("--error x", "--error: invalid _number value: 'x'"),
        ("--estimate guess", "--estimate: invalid choice: 'guess'"),
        ("--policy capacity,best", "policy 'best': must be one of breadth-first, "),
        ("--policy os.path", "must be a class with rank(server)"),
        ("--quality beauty", "quality 'beauty': must be one of pagerank, "),
        ("--servers 5 --pages 9 --quality scores:nowhere.tsv", "No such file or directory: 'nowhere.tsv'"),
        ("--web nowhere.npz", "No such file or directory: 'nowhere.npz'"),
        ("--web README.md", "no page in it"),
        ("--pages 5", "a web needs seeds <= servers <= pages"),
        ("--servers 5 --pages 9 --output README.md/x", "Not a directory: 'README.md/x'"),
        ("--tradeoff x.svg", "--tradeoff x.svg: needs --max-pages or --max-bytes"),
        ("--polcy capacity", "unknown argument '--polcy'"),
    ],
)
def test_simulate_tells_what_is_wrong(options: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Option, value and what it should be; before anything is run."""
    assert told in refused("simulate", *options.split(), capsys=capsys)


def test_pagerank_scores_every_url(tmp_path: Path) -> None:
    """Fetched or not, the best first, 1 on average, as FRONTIER_QUALITY = "scores" reads them."""
    (tmp_path / "links.tsv").write_text(LINES)
    done = scrapy("pagerank", str(tmp_path / "links.tsv"), "-o", str(tmp_path / "scores.tsv"))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "scores.tsv").read_text().splitlines()
    scores = [float(line.split("\t")[1]) for line in lines]
    assert lines[0].startswith("http://a.example/\t")
    assert sum(scores) / 3 == pytest.approx(1, rel=1e-5)
    assert scores == sorted(scores, reverse=True)
    assert ScoredQuality.from_lines(lines).quality("http://b.example/", 0) == scores[-1]
    done = scrapy("pagerank", "nowhere.tsv")
    assert (done.returncode, "No such file or directory: 'nowhere.tsv'" in done.stderr) == (2, True)


def test_crawl_then_pagerank_then_simulate_then_crawl_by_scores(tmp_path: Path) -> None:
    """What docs/simulation.md tells: a crawl records its links, they are scored, and the next crawl goes by that."""
    with running_web(WebSpec(servers=4, pages=40, time_scale=0)) as web:
        crawl = ("crawl", "web", "-a", f"seeds={','.join(web.seeds)}", "-s", "FRONTIER_MIN_DELAY=0")
        crawl += ("-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8")
        job, scores = tmp_path / "job", tmp_path / "scores.tsv"
        recorded = scrapy(*crawl, "-s", f"JOBDIR={job}", "-s", "FRONTIER_LINKS_FILE=links.tsv.gz")
        assert recorded.returncode == 0, recorded.stderr
        assert scrapy("pagerank", str(job / "links.tsv.gz"), "-o", str(scores)).returncode == 0
        simulated = scrapy("simulate", "--web", str(job / "links.tsv.gz"), "--sessions", "2", "--jobs", "1")
        assert re.search(r"web links.tsv.gz, seed 1: \d servers, \d+ pages", simulated.stdout), simulated.stderr
        by_scores = ("-s", "FRONTIER_QUALITY=scores", "-s", f"FRONTIER_QUALITY_FILE={scores}")
        assert scrapy(*crawl, *by_scores, "-O", str(tmp_path / "pages.jsonl")).returncode == 0
    with scores.open() as lines:
        known = ScoredQuality.from_lines(lines)
    pages = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len(pages) == len(web.web.expected_urls())
    linked = [page for page in pages if page["depth"]]
    assert [page["quality"] for page in linked] == [known.quality(page["url"], 1) for page in linked]
