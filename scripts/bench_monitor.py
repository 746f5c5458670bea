#!/usr/bin/env python3
"""CPU that figures, panel and series cost, each timed alone with a frontier of many servers.

    scripts/bench_monitor.py [--servers 100000]

The sum is what they take of a crawl's CPU at full speed, when the crawl uses one whole CPU.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy.utils.test import get_crawler

from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.frontier import BestPrefix, Dispatcher, Entry, Frontier, Measurement, Politeness
from crawlproject.monitor import sampler as module
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.progress.extension import INTERVAL as PANEL_INTERVAL
from crawlproject.monitor.progress.terminal import styled
from crawlproject.monitor.progress.words import lines
from crawlproject.monitor.report.writing import write_report
from crawlproject.monitor.series.extension import LOOK, SNAPSHOT_INTERVAL
from crawlproject.monitor.series.figures_sample import sample_of
from crawlproject.monitor.series.samples import FILE_NAME, SeriesWriter
from crawlproject.monitor.series.snapshot import snapshot_of
from crawlproject.monitor.series.snapshot_file import FILE_NAME as SNAPSHOT_NAME
from crawlproject.monitor.series.snapshot_file import write_snapshot
from testbed.bench import command_line

if TYPE_CHECKING:
    from collections.abc import Callable


def frontier_of(servers: int) -> Frontier:
    """Each server with ten URLs and one answer."""
    frontier = Frontier(BestPrefix(), Politeness())
    for number in range(servers):
        key = f"http://server-{number}.example"
        frontier.push([Entry(f"{key}/{page}", 1.0 + page) for page in range(10)])
        frontier.record(Measurement(key, 0.0, 200, connect_time=0.1, response_time=0.2, fetch_time=0.3))
        frontier.page_fetched(key, 0, 1.0)
    return frontier


def mean(work: Callable[[], object], times: int) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


def main() -> None:
    """Time each part alone."""
    servers = command_line(__doc__, servers=100_000).parse_args().servers
    crawler = get_crawler()
    crawl = CrawlFrontier(Dispatcher(frontier_of(servers), 64), lambda: None, by_ip=False)
    module.frontier_of = lambda _: crawl
    assert crawler.stats is not None
    for number in range(200):
        crawler.stats.set_value(f"downloader/response_status_count/{number}", number)
    figures = figures_of(crawler)
    for _ in range(10):
        figures.now(fresh=0.0)
    figures.finish_survey()
    found = figures.now()

    def look() -> None:  # as if the last one was LOOK seconds ago
        figures._last = module.CLOCK() - LOOK
        figures.now()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = SeriesWriter(folder / FILE_NAME, 0.0)
        stats = crawler.stats.get_stats()
        found_parts = {
            "figures, with a share of the survey": (mean(look, 200), LOOK),
            "panel": (mean(lambda: styled(lines(found, 100), 100), 200), PANEL_INTERVAL),
            "sample": (mean(lambda: writer.add(sample_of(found)), 200), writer.interval),
            "snapshot": (
                mean(lambda: write_snapshot(folder / SNAPSHOT_NAME, snapshot_of(crawl, figures.survey, stats, {})), 5),
                SNAPSHOT_INTERVAL,
            ),
        }
        for name, (seconds, interval) in found_parts.items():
            print(f"{name:40} {seconds * 1000:7.2f} ms every {interval:g} s: {seconds / interval:.3%}")
        print(f"{'all':40} {sum(seconds / interval for seconds, interval in found_parts.values()):.3%} of a CPU")
        print(f"report: {mean(lambda: write_report(folder), 1):.2f} s of CPU")


if __name__ == "__main__":
    main()
