#!/usr/bin/env python3
"""CPU that monitor, series, panel and console cost.

    scripts/bench_monitor.py [--servers 100000]
    scripts/bench_monitor.py --crawl [--pages 8000] [--rounds 3]

Without ``--crawl`` each part is timed alone, with a frontier of many servers; the sum is what they take of a crawl's
CPU at full speed, when the crawl uses one whole CPU.

With ``--crawl`` a web that answers at once is crawled with everything on: monitor, series, a line of progress every
10 s, and a console that one page watches.  Every method of ``crawlproject.monitor``, and what aiohttp does for the
console, is timed by the CPU clock of its thread, and their sum is divided by the CPU time of the process: shares of one
run, which other work on the machine does not change as it does the difference of two runs.  From a tenth of the pages
to 95% of them: imports at the start and the report at the end, which happen once, do not count.  The clock itself is
counted too, so the sum is rather too high.
"""

from __future__ import annotations

import inspect
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from functools import wraps
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from statistics import median
from types import coroutine
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from aiohttp.web_protocol import RequestHandler
from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.test import get_crawler

from crawlproject import monitor
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
from crawlproject.monitor.series.samples import FILE_NAME, SeriesWriter
from crawlproject.monitor.series.snapshot import run_part, sample_of, snapshot_of
from crawlproject.monitor.series.snapshot_file import FILE_NAME as SNAPSHOT_NAME
from crawlproject.monitor.series.snapshot_file import write_snapshot
from testbed.bench import WEB, Stats, command_line, crawl, fast_web
from testbed.children import free_port
from testbed.web import running_web

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence

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


#: Everything on.
ON: dict[str, Any] = WEB | {"PROGRESS": "on", "MONITOR_INTERVAL": 5, "CONSOLE_TOKEN": "a" * 32}


class MonitorCpu:
    """CPU seconds inside functions that were given to ``timed``, those that they call included, by who was called."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._is_inside = False

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        if self._is_inside:
            yield
            return
        self._is_inside, began = True, time.thread_time()
        try:
            yield
        finally:
            self._is_inside = False
            self.seconds[name] += time.thread_time() - began

    def timed(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """``function``, counted; of a coroutine each step is."""
        main, code = threading.get_ident(), function.__code__
        names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
        takes_all = bool(code.co_flags & inspect.CO_VARKEYWORDS)

        def taken(given: dict[str, Any]) -> dict[str, Any]:  # a signal offers more to ``**given`` than to ``function``
            return given if takes_all else {name: value for name, value in given.items() if name in names}

        if not inspect.iscoroutinefunction(function):

            @wraps(function)
            def call(*args: Any, **given: Any) -> Any:
                if self._is_inside or threading.get_ident() != main:
                    return function(*args, **taken(given))
                with self._counted(name):
                    return function(*args, **taken(given))

            return call

        @coroutine
        def steps(running: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
            step, given = running.send, None
            while True:
                try:
                    with self._counted(name):
                        waits_for = step(given)
                except StopIteration as end:
                    return end.value
                try:
                    step, given = running.send, (yield waits_for)
                except BaseException as error:  # noqa: BLE001 - also a cancellation is for the coroutine
                    step, given = running.throw, error

        @wraps(function)
        async def call_async(*args: Any, **given: Any) -> Any:
            return await steps(function(*args, **taken(given)))

        return call_async

    def watch(self) -> None:
        """Time every method of the classes of ``crawlproject.monitor``, and aiohttp's server."""
        found = [(RequestHandler, name) for name in ("data_received", "start", "connection_made", "connection_lost")]
        for found_module in walk_packages(monitor.__path__, f"{monitor.__name__}."):
            for each in vars(import_module(found_module.name)).values():
                if inspect.isclass(each) and each.__module__ == found_module.name and not issubclass(each, tuple):
                    found += [(each, name) for name, value in vars(each).items() if inspect.isfunction(value)]
        for owner, name in found:
            setattr(owner, name, self.timed(vars(owner)[name], f"{owner.__name__}.{name}"))


class SteadyCpu:
    """Extension: CPU and wall seconds from a tenth of ``BENCH_PAGES`` to 95% of them, and those of the monitor, as
    stats."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = stats_of(crawler)
        self._pages = crawler.settings.getint("BENCH_PAGES")
        self._start: tuple[float, float] | None = None
        self._monitor = MonitorCpu()
        self._monitor.watch()
        self._task = create_looping_call(self._look)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._stop, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SteadyCpu:
        return cls(crawler)

    def _opened(self) -> None:
        self._task.start(0.1)

    def _look(self) -> None:
        pages = self._stats.get_value("frontier/pages", 0)
        now = time.process_time(), time.monotonic()
        if self._start is None:
            if pages >= 0.1 * self._pages:
                self._start = now
                self._monitor.seconds.clear()
        elif pages >= 0.95 * self._pages:
            for name, start, end in zip(("cpu", "wall"), self._start, now, strict=True):
                self._stats.set_value(f"bench/steady/{name}", end - start)
            self._stats.set_value("bench/steady/monitor", dict(self._monitor.seconds.most_common()))
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


def crawled(seeds: Sequence[str], pages: int) -> Stats:
    """A crawl with everything on."""
    port = free_port()
    is_over = threading.Event()
    page = threading.Thread(target=watch_console, args=(port, is_over))
    page.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            own = {
                "EXTENSIONS": {"scripts.bench_monitor.SteadyCpu": 0},
                "BENCH_PAGES": pages,
                "REPORT_DIR": folder,
                "CONSOLE_PORT": port,
            }
            return crawl(ON | own, seeds=",".join(seeds))
    finally:
        is_over.set()
        page.join()


def crawls(pages: int, rounds: int) -> None:
    """Print what the monitor took of each crawl, by method, and the median."""
    shares = []
    with running_web(fast_web(pages)) as web:
        for _ in range(rounds):
            found = crawled(web.seeds, pages)
            cpu, wall, parts = (found[f"bench/steady/{name}"] for name in ("cpu", "wall", "monitor"))
            whole = sum(parts.values())
            shares.append(whole / cpu)
            print(
                f"crawl {cpu:.2f} s of CPU in {wall:.1f} s; monitor {whole * 1000:.0f} ms: {whole / cpu:.2%} of the "
                f"crawl's CPU, {whole / wall:.2%} of a CPU"
            )
            for name, seconds in list(parts.items())[:8]:
                print(f"  {name:40} {seconds * 1000:7.1f} ms  {seconds / cpu:.2%}")
    print(f"median of {rounds}: {median(shares):.2%} of the crawl's CPU")


def main() -> None:
    parsed = command_line(__doc__, servers=100_000, crawl=False, rounds=3, pages=8000).parse_args()
    if parsed.crawl:
        crawls(parsed.pages, parsed.rounds)
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
    while figures.survey is None:
        figures.now(fresh=0.0)
    found = figures.now()

    def look() -> None:  # as if the last one was LOOK seconds ago
        figures._last = module.CLOCK() - LOOK
        figures.now()

    def save() -> None:
        write_snapshot(folder / SNAPSHOT_NAME, snapshot_of(crawl, figures.survey) | run_part(stats, {}))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = SeriesWriter(folder / FILE_NAME, 0.0)
        stats = crawler.stats.get_stats()
        found_parts = {
            "figures, with a share of the survey": (mean(look, 200), LOOK),
            "panel": (mean(lambda: styled(lines(found, 100), 100), 200), PANEL_INTERVAL),
            "sample": (mean(lambda: writer.add(sample_of(found)), 200), writer.interval),
            "snapshot": (mean(save, 5), SNAPSHOT_INTERVAL),
        }
        for name, (seconds, interval) in found_parts.items():
            print(f"{name:40} {seconds * 1000:7.2f} ms every {interval:g} s: {seconds / interval:.3%}")
        print(f"{'all':40} {sum(seconds / interval for seconds, interval in found_parts.values()):.3%} of a CPU")
        print(f"report: {mean(lambda: write_report(folder), 1):.2f} s of CPU")


if __name__ == "__main__":
    main()
