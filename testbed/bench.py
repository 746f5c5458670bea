"""Shared by the benchmarks: the command line, crawls in separate processes, cases measured in turns."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, TypeAlias

from testbed.children import memory
from testbed.crawl import ROOT
from testbed.web import WebSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WEB_SPIDER = "crawlproject.spiders.web.WebSpider"
QUIET: dict[str, Any] = {
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "COOKIES_ENABLED": False,
}
ADDON: dict[str, Any] = {
    "ADDONS": {"crawlproject.addon.FrontierAddon": 300},
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MAX_DELAY": 0,
    "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
    "FRONTIER_MONITOR_INTERVAL": 1,
}
#: The project's spider, which yields one item per page.
WEB: dict[str, Any] = QUIET | ADDON | {"CONCURRENT_ITEMS": 1}

Stats: TypeAlias = dict[str, Any]


def command_line(description: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """A parser with an option for each default, of the default's type; False makes a flag.

    >>> command_line("", pages=10, min_delay=0.5, all=False).parse_args(["--pages", "20", "--all"])
    Namespace(pages=20, min_delay=0.5, all=True)
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = "--" + name.replace("_", "-")
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=default, help=f"default: {default}")
    return parser


def fast_web(pages: int, page_bytes: int = 19_000, links: int = 40) -> WebSpec:
    """20 servers that answer immediately: the crawler's CPU time determines the duration of a crawl."""
    return WebSpec(
        servers=20,
        pages=pages,
        time_scale=0,
        page_bytes=page_bytes,
        links_per_page=links,
        links_sigma=0,
        keep_alive_limit=100,
    )


def real_web(pages: int, page_bytes: int = 20_000, links: int = 40, servers: int = 500) -> WebSpec:
    """A realistic web: many servers with connection limits and times as in Cao 2003, robots.txt on all of them,
    compressed pages, redirects, dead links and errors."""
    return WebSpec(
        servers=servers,
        pages=pages,
        page_bytes=page_bytes,
        links_per_page=links,
        links_sigma=0,
        response_max=3.0,
        robots_missing_share=0.0,
        robots_disallow_share=0.3,
        gzip_share=0.3,
        redirect_share=0.05,
        not_found_share=0.05,
        server_error_share=0.01,
        silent_close_share=0.05,
    )


class CpuTime:
    """Extension: CPU seconds (user and system) and seconds from the spider's opening to its closing, as stats.

    Also the most memory (RSS) that the process had, in MB.
    """

    def __init__(self, crawler: Any) -> None:
        from scrapy import signals  # the other benches do without Scrapy's objects

        self.stats = crawler.stats
        crawler.signals.connect(self.opened, signals.spider_opened)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> CpuTime:
        return cls(crawler)

    def opened(self) -> None:
        self._cpu, self._wall = time.process_time(), time.monotonic()

    def closed(self) -> None:
        self.stats.set_value("bench/cpu", time.process_time() - self._cpu)
        self.stats.set_value("bench/wall", time.monotonic() - self._wall)
        self.stats.set_value("bench/peak_memory", memory("VmHWM"))


def crawl(settings: dict[str, Any], spider: str = WEB_SPIDER, **arguments: str) -> Stats:
    """Crawl in a separate process; returns the stats, including those of `CpuTime`.

    Raises ``subprocess.CalledProcessError`` on failure.
    """
    extensions = {"testbed.bench.CpuTime": 0} | settings.get("EXTENSIONS", {})
    return stats_of("testbed.bench", json.dumps([settings | {"EXTENSIONS": extensions}, spider, arguments]))


def stats_of(module: str, *arguments: str) -> Stats:
    """The stats that ``module``, run in a separate process, prints at its end as a line of JSON.

    Raises ``subprocess.CalledProcessError`` on failure.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    stats: Stats = json.loads(done.stdout.strip().splitlines()[-1])
    return stats


def in_turns(cases: Iterable[str], measure: Callable[[str], Stats], rounds: int) -> dict[str, list[Stats]]:
    """The stats of each case in each round; the cases are measured in turns."""
    results: dict[str, list[Stats]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, found in results.items():
            found.append(measure(case))
    return results


def _run(settings: dict[str, Any], spider: str, arguments: dict[str, str]) -> None:
    """Crawl in this process and print the stats."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(load_object(spider))
    process.crawl(crawler, **arguments)
    process.start()
    print(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    _run(*json.loads(sys.argv[1]))
