#!/usr/bin/env python3
"""CPU that monitor, series, panel and console cost.

    scripts/bench_monitor.py [--servers 100000]
    scripts/bench_monitor.py --rounds 7 [--pages 8000]

Without ``--rounds`` each part is timed alone, with a frontier of many servers; the sum is what they take of a crawl's
CPU at full speed, when the crawl uses one whole CPU.

With ``--rounds`` whole crawls of a web that answers at once are measured: in each round one with everything off and one
with monitor, series, a line of progress every 10 s, and a console that one page watches; which is first changes with
the round.  CPU seconds (user + system) of the crawling process from a tenth of the pages to 95% of them: imports at the
start and the report at the end, which happen once, do not count; the median of the rounds' differences, as a
share of the crawl's CPU and of a CPU.
"""

from __future__ import annotations

import argparse
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.test import get_crawler

from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.engine import stats_of
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
from testbed.bench import WEB, Stats, crawl, fast_web
from testbed.web import running_web

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler


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


#: Everything off; everything on.
OFF: dict[str, Any] = WEB | {"MONITOR_ENABLED": False, "REPORT_ENABLED": False, "PROGRESS": "off"}
ON: dict[str, Any] = WEB | {"PROGRESS": "on", "MONITOR_INTERVAL": 5, "CONSOLE_TOKEN": "a" * 32}


class SteadyCpu:
    """Extension: CPU and wall seconds from a tenth of ``BENCH_PAGES`` to 95% of them, as stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = stats_of(crawler)
        self._pages = crawler.settings.getint("BENCH_PAGES")
        self._start: tuple[float, float] | None = None
        self._task = create_looping_call(self._look)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._stop, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SteadyCpu:
        """Called by Scrapy."""
        return cls(crawler)

    def _opened(self) -> None:
        self._task.start(0.1)

    def _look(self) -> None:
        pages = self._stats.get_value("frontier/pages", 0)
        now = time.process_time(), time.monotonic()
        if self._start is None:
            self._start = now if pages >= 0.1 * self._pages else None
        elif pages >= 0.95 * self._pages:
            for name, start, end in zip(("cpu", "wall"), self._start, now, strict=True):
                self._stats.set_value(f"bench/steady/{name}", end - start)
            self._stop()

    def _stop(self) -> None:
        if self._task.running:
            self._task.stop()


def watch_console(port: int, is_over: threading.Event) -> None:
    """Read the stream of the console's events, as an open page does, once it is there, until it ends."""
    while not is_over.is_set():
        try:
            client = socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:
            is_over.wait(0.1)
            continue
        with client, suppress(OSError):
            head = f"GET /api/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ON['CONSOLE_TOKEN']}\r\n\r\n"
            client.sendall(head.encode())
            if b" 200 " not in client.recv(65_536):
                raise SystemExit("the console has refused the page")
            while client.recv(65_536):
                pass
        return


def crawled(case: str, seeds: Sequence[str], pages: int) -> Stats:
    """A crawl with everything ``on`` or ``off``."""
    steady = {"EXTENSIONS": {"scripts.bench_monitor.SteadyCpu": 0}, "BENCH_PAGES": pages}
    if case == "off":
        return crawl(OFF | steady, seeds=",".join(seeds))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    is_over = threading.Event()
    page = threading.Thread(target=watch_console, args=(port, is_over))
    page.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return crawl(ON | steady | {"REPORT_DIR": folder, "CONSOLE_PORT": port}, seeds=",".join(seeds))
    finally:
        is_over.set()
        page.join()


def compare(pages: int, rounds: int) -> None:
    """Print what each round cost with everything off and on, and the median of the differences."""
    differences = []
    with running_web(fast_web(pages)) as web:
        for number in range(rounds):
            order = ("off", "on") if number % 2 else ("on", "off")
            found = {case: crawled(case, web.seeds, pages) for case in order}
            (off, _), (on, wall) = (
                [float(found[case][f"bench/steady/{name}"]) for name in ("cpu", "wall")] for case in ("off", "on")
            )
            differences.append((on / off - 1, (on - off) / wall))
            shares = "of the crawl's CPU {:+.2%}, of a CPU {:+.2%}".format(*differences[-1])
            print(f"off {off:6.2f} s, on {on:6.2f} s of {wall:.0f} s: {shares}", flush=True)
    medians = [median(column) for column in zip(*differences, strict=True)]
    print(f"median of {rounds}: " + "of the crawl's CPU {:+.2%}, of a CPU {:+.2%}".format(*medians))


def main() -> None:
    """Print each part and the sum, or compare crawls."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--pages", type=int, default=8000)
    parsed = parser.parse_args()
    if parsed.rounds:
        compare(parsed.pages, parsed.rounds)
    else:
        parts(parsed.servers)


def parts(servers: int) -> None:
    """Time each part alone."""
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
