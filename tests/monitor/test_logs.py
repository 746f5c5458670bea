"""The log: short, or as JSON; and the monitors of Spidermon on our stats."""

import json
import logging
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from crawlproject.monitor.logs import json_formatter
from tests.crawl.crawling import crawl
from tests.crawl.differential import QUICK, run
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
ON_LOOPBACK = (
    "-s",
    "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8",
    "-s",
    "FRONTIER_MIN_DELAY=0",
    "-s",
    "FRONTIER_DELAY_FACTOR=0",
)
SCRIPT = {"1/": page("/a", "/b", "/lost"), "1/a": page(), "1/b": Answer(status=500), "/robots.txt": Answer(status=404)}


def scrapy_crawl(*settings: str) -> list[str]:
    """The log of ``scrapy crawl web`` in this project."""
    with scripted_site(1) as site:
        site.script = SCRIPT
        options = [part for setting in settings for part in ("-s", setting)]
        seeds = f"seeds={site.origins[0]}/"
        done = run_python("-m", "scrapy", "crawl", "web", "-a", seeds, *ON_LOOPBACK, *options)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_a_first_crawl_logs_little() -> None:
    """Its start and its end are 60 lines together; a minute adds three, failures one."""
    lines = scrapy_crawl()
    assert len(lines) <= 57, "\n".join(lines)
    text = "\n".join(lines)
    assert "Overridden settings" not in text
    start = lines.index(next(line for line in lines if "Stats (docs/stats.md)" in line))
    families = [line.partition(":")[0] for line in lines[start + 1 :] if re.match(r"[a-z_]+: ", line)]
    assert families == sorted(families)
    assert {"crawl", "downloader", "frontier", "scheduler"} <= set(families)
    assert any(re.search(r"frontier: .*\bpages 2\b", line) for line in lines)


def test_every_line_is_json(tmp_path: Path) -> None:
    """From the first to the last; the stats are an object."""
    found = [json.loads(line) for line in scrapy_crawl("FRONTIER_LOG_JSON=1")]
    assert all({"time", "level", "logger", "message"} <= set(each) for each in found)
    (stats,) = [each["stats"] for each in found if "stats" in each]
    assert stats["finish_reason"] == "finished"
    assert "started" in found[0]["message"]
    path = tmp_path / "crawl.log"
    assert scrapy_crawl("FRONTIER_LOG_JSON=1", f"LOG_FILE={path}") == []
    assert json.loads(path.read_text().splitlines()[0])["logger"] == found[0]["logger"]


def test_json_in_any_project() -> None:
    """From the add-on on; an exception is a member, not lines of its own; the stats are an object."""
    with scripted_site(1) as site:
        site.script = {"1/": page()}
        settings = {**QUICK, "FRONTIER_LOG_JSON": True, "LOG_LEVEL": "INFO"}
        spider = "tests.monitor.test_logs.FailingSpider"
        ours = crawl(spider, settings=settings, sites=site.origins[0])
    lines = ours.log.splitlines()
    found = [json.loads(line) for line in lines if line.startswith('{"level"')]
    assert len(lines) - len(found) <= 20, ours.log
    (error,) = [each for each in found if each["level"] == "ERROR"]
    assert "ZeroDivisionError" in error["exception"]
    (stats,) = [each["stats"] for each in found if "stats" in each]
    assert stats["finish_reason"] == "finished"


def test_odd_records() -> None:
    """Line breaks, lone surrogates, quotes and huge messages stay one line of JSON."""
    for text in ('a\nb\r"\x00\u2028', "\ud800", "x" * 10**6):
        record = logging.LogRecord("a.b", logging.INFO, "", 0, "%s", (text,), None)
        line = json_formatter().format(record)
        assert len(line.splitlines()) == 1 or "\u2028" in text
        assert "\n" not in line
        line.encode("utf-8", "backslashreplace")
        assert json.loads(line)["message"] == text


def test_stats_are_written_at_the_end(tmp_path: Path) -> None:
    """All of them; times as strings."""
    path = tmp_path / "stats.json"
    ours = run("StartUrlsSpider", {"1/": page()}, settings={"FRONTIER_MONITOR_STATS_FILE": str(path)}, start="1/")
    stats = json.loads(path.read_text())
    assert stats["finish_reason"] == "finished"
    assert stats["response_received_count"] == ours.stat("response_received_count")
    assert isinstance(stats["finish_time"], str)
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_cannot_be_written_costs_a_line_of_the_log(tmp_path: Path) -> None:
    """At the start and at the end; the crawl goes on."""
    path = tmp_path / "nowhere" / "stats.json"
    ours = run("StartUrlsSpider", {"1/": page()}, settings={"FRONTIER_MONITOR_STATS_FILE": str(path)}, start="1/")
    assert ours.reason == "finished"
    assert ours.crawl.log.count(f"ERROR: FRONTIER_MONITOR_STATS_FILE='{path}': No such file or directory") == 2


def monitors() -> types.ModuleType:
    text = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "MonitorSuite" in block)
    module = types.ModuleType("monitors")
    exec(compile(text, "docs/watch.md", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize(("script", "failing"), [({"1/": page()}, set()), ({"1/": Answer(reset=True)}, {"answered"})])
def test_spidermon_checks_our_stats(script: Any, failing: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the docs: it passes for a good crawl, and names what is wrong with a bad one."""
    pytest.importorskip("spidermon")
    text = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "SPIDERMON_ENABLED" in block)
    settings: dict[str, Any] = {}
    exec(text, settings)
    chosen = {name: value for name, value in settings.items() if name.isupper()}
    chosen["SPIDERMON_SPIDER_CLOSE_MONITORS"] = ["tests.monitor.test_logs.CrawlMonitors"]
    chosen["SPIDERMON_PERIODIC_MONITORS"] = {}
    start = ",".join(f"1/{number}" for number in range(30)) if failing else "1/"
    script = {f"1/{number}": Answer(reset=True) for number in range(30)} if failing else script
    chosen |= {"RETRY_TIMES": 0, "LOG_LEVEL": "INFO"}
    chosen |= {"FRONTIER_MAX_FAILURES": 0, "FRONTIER_MIN_BACKOFF": 0, "FRONTIER_MAX_BACKOFF": 0}
    ours = run("StartUrlsSpider", script, settings={**QUICK, **chosen}, start=start)
    assert "[Spidermon]" in ours.crawl.log
    assert ("... FAIL" in ours.crawl.log) == bool(failing), ours.crawl.log
    for name in failing:
        assert re.search(rf"{name}.*FAIL|FAIL.*{name}", ours.crawl.log)


def __getattr__(name: str) -> Any:
    """The suite that Spidermon loads, and the spider, in the crawl's process."""
    if name == "CrawlMonitors":
        sys.modules["monitors"] = module = monitors()
        return module.CrawlMonitors
    if name == "FailingSpider":
        from tests.crawl.ordinary_spiders import StartUrlsSpider

        class FailingSpider(StartUrlsSpider):
            def parse(self, response: Any) -> Any:
                return 1 / 0

        return FailingSpider
    raise AttributeError(name)
