"""Crawls in separate processes: what they cost, and of an emulated web what they fetched by the servers' log."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from testbed.children import memory
from testbed.web import quality_over_time, running_web

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from testbed.web import Record, Web, WebSpec

ROOT = Path(__file__).resolve().parents[1]
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


class CpuTime:
    """Extension: from the spider's opening to its closing, CPU seconds and seconds, as stats ``bench/…``.

    Also the most memory (RSS) that the process had, in MB. Linux only.
    """

    def __init__(self, crawler: Any) -> None:
        from scrapy import signals  # the other benches do without Scrapy's objects

        self.stats = crawler.stats
        crawler.signals.connect(self.opened, signals.spider_opened)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> CpuTime:
        return cls(crawler)

    @staticmethod
    def _times() -> dict[str, float]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        queued = int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9  # ready to run, but no CPU was free
        times = {"user": used.ru_utime, "system": used.ru_stime, "queued": queued}
        return times | {"cpu": time.process_time(), "wall": time.monotonic()}

    def opened(self) -> None:
        self._start = self._times()

    def closed(self) -> None:
        for name, value in self._times().items():
            self.stats.set_value(f"bench/{name}", value - self._start[name])
        self.stats.set_value("bench/peak_memory", memory("VmHWM"))


def crawl(settings: dict[str, Any], spider: str = WEB_SPIDER, **arguments: str) -> Stats:
    """Crawl in a separate process; returns the stats, including those of `CpuTime`.

    Raises ``subprocess.CalledProcessError`` on failure.
    """
    extensions = {"testbed.crawl.CpuTime": 0} | settings.get("EXTENSIONS", {})
    return stats_of(
        "testbed.crawl", json.dumps([settings | {"EXTENSIONS": extensions}, spider, arguments], default=str)
    )


def stats_of(module: str, *arguments: str) -> Stats:
    """The stats that ``module``, run in a separate process, prints at its end as a line of JSON.

    Raises ``subprocess.CalledProcessError`` on failure.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=True, cwd=ROOT
    )
    stats: Stats = json.loads(done.stdout.strip().splitlines()[-1])
    return stats


class Crawled(NamedTuple):
    """The result of one crawl of an emulated web."""

    web: Web
    records: list[Record]
    #: (seconds, share of the quality of all pages) for each page, from the first connection on.
    curve: list[tuple[float, float]]
    stats: Stats

    @property
    def seconds(self) -> float:
        """From the first connection to the last page."""
        return self.curve[-1][0] if self.curve else 0.0


def crawl_web(policy: str, spec: WebSpec, sessions: int = 64, **settings: Any) -> Crawled:
    """Crawl the web of ``spec`` with ``policy``, by default without politeness; quality is known on discovery."""
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        scores = Path(folder) / "scores.tsv"
        web.web.write_scores(scores)
        given = {"FRONTIER_POLICY": policy, "FRONTIER_MAX_SESSIONS": sessions, "FRONTIER_QUALITY": "scores"}
        given |= {"FRONTIER_QUALITY_FILE": str(scores), "FRONTIER_MAX_DELAY": 60, "ROBOTSTXT_OBEY": True}
        stats = crawl(WEB | given | settings, seeds=",".join(web.seeds))
        records = web.records()
        return Crawled(web.web, records, quality_over_time(records, web.web), stats)


def crawl_command(seeds: Iterable[str], settings: Mapping[str, Any]) -> list[str]:
    """The command line of ``scrapy crawl web`` with these settings."""
    command = [sys.executable, "-m", "scrapy", "crawl", "web", "-a", f"seeds={','.join(seeds)}"]
    return command + [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]


def area(curve: list[tuple[float, float]], until: float) -> float:
    """Mean height of a rising step curve from 0 to ``until``. O(n)."""
    total, height, now = 0.0, 0.0, 0.0
    for moment, value in [*curve, (until, 1.0)]:
        total += height * (min(moment, until) - now)
        height, now = value, min(moment, until)
    return total / until


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
