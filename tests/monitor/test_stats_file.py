"""``FRONTIER_MONITOR_STATS_FILE``."""

import json
from pathlib import Path

from tests.crawl.differential import run
from tests.crawl.scripted_site import page


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
