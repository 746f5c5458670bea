#!/usr/bin/env python3
"""CPU per page of the web spider and of stock Scrapy, measured in turns on the same fast web on loopback.

    scripts/bench_throughput.py [--pages 1000] [--rounds 3]

Pages of 19 kB with 40 links, on 20 servers that answer at once.  CPU seconds (user + system) of the crawling
process between the opening and the closing of the spider, so that start-up does not count; the best of the rounds.

Last columns: the highest mean lag of the event loop in a second, and to how many sessions the monitor went down.

stock      Scrapy as it comes: its scheduler, LinkExtractor, a Request per link
ordinary   the same spider with only the add-on switched on
web        this project's spider: selectolax, links in bulk
no-near    the same without looking for near-duplicates (pages of nothing but text are their worst case)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy import Spider, signals
from scrapy.linkextractors import LinkExtractor

from testbed.web import WebSpec, running_web

QUIET: dict[str, Any] = {
    "LOG_LEVEL": "INFO",
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "EXTENSIONS": {"scripts.bench_throughput.CpuTime": 0},
    "COOKIES_ENABLED": False,
}
ADDON: dict[str, Any] = {
    "ADDONS": {"crawlproject.addon.FrontierAddon": 300},
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MAX_DELAY": 0,
    "ALLOWED_NETWORKS": "127.0.0.0/8",
    "MONITOR_INTERVAL": 1,
}
STOCK = "scripts.bench_throughput.StockSpider"
WEB = "crawlproject.spiders.web.WebSpider"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "stock": (STOCK, QUIET | {"CONCURRENT_REQUESTS": 64}),
    "ordinary": (STOCK, QUIET | ADDON),
    "web": (WEB, QUIET | ADDON | {"CONCURRENT_ITEMS": 1}),
    "no-near": (WEB, QUIET | ADDON | {"CONCURRENT_ITEMS": 1, "DUPLICATES_NEAR": False}),
}


class StockSpider(Spider):
    """What one writes with Scrapy alone."""

    name = "stock"

    def __init__(self, seeds: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")
        self.extractor = LinkExtractor()

    def parse(self, response: Any, **kwargs: Any) -> Any:
        """An item and a request for each link."""
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in self.extractor.extract_links(response):
            yield response.follow(link)


class CpuTime:
    """Extension: prints the CPU seconds and pages between opening and closing of the spider."""

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Any) -> CpuTime:
        """Listen to both signals."""
        extension = cls(crawler)
        crawler.signals.connect(extension.opened, signals.spider_opened)
        crawler.signals.connect(extension.closed, signals.spider_closed)
        return extension

    def opened(self) -> None:
        """Start."""
        self._cpu, self._wall = time.process_time(), time.monotonic()

    def closed(self) -> None:
        """Stop and tell."""
        cpu, wall = time.process_time() - self._cpu, time.monotonic() - self._wall
        pages = self._crawler.stats.get_value("item_scraped_count", 0)
        stats = self._crawler.stats
        lag, limit = stats.get_value("monitor/lag/max", 0.0), stats.get_value("monitor/session_limit/lowest", 0)
        print(json.dumps({"cpu": cpu, "wall": wall, "pages": pages, "lag": lag, "limit": limit}), flush=True)


def run_one(case: str, seeds: str) -> None:
    """Crawl in this process."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    spider, settings = CASES[case]
    process = AsyncCrawlerProcess(settings)
    process.crawl(load_object(spider), seeds=seeds)
    process.start()


def measure(case: str, seeds: list[str]) -> dict[str, float]:
    """Crawl in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--case", case, "--seeds", ",".join(seeds)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Print a row per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        run_one(args.case, args.seeds)
        return
    spec = WebSpec(
        servers=20,
        pages=args.pages,
        time_scale=0,
        page_bytes=19_000,
        links_per_page=40,
        links_sigma=0,
        keep_alive_limit=100,
    )
    best: dict[str, dict[str, float]] = {}
    with running_web(spec) as web:
        for _ in range(args.rounds):
            for case in args.cases.split(","):
                result = measure(case, web.seeds)
                if case not in best or result["cpu"] < best[case]["cpu"]:
                    best[case] = result
    stock = best.get("stock")
    print(
        f"{'case':10} {'pages':>6} {'CPU ms/page':>12} {'pages/CPU s':>12} {'pages/s':>8}"
        f" {'of stock':>9} {'lag s':>6} {'throttled to':>13}"
    )
    for case, result in best.items():
        per_page = result["cpu"] / result["pages"]
        ratio = per_page / (stock["cpu"] / stock["pages"]) if stock else float("nan")
        print(
            f"{case:10} {result['pages']:>6} {per_page * 1e3:>12.2f} {1 / per_page:>12.0f}"
            f" {result['pages'] / result['wall']:>8.0f} {ratio:>9.2f}"
            f" {result['lag']:>6.3f} {result['limit'] or 'never':>13}"
        )


if __name__ == "__main__":
    main()
