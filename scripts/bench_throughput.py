#!/usr/bin/env python3
"""CPU per page of the web spider and of stock Scrapy, measured in turns on the same fast web on loopback.

    scripts/bench_throughput.py [--pages 1000] [--rounds 3] [--cases stock,web] [--servers 20] [--page-bytes 19000]

Pages of 19 kB with 40 links, on servers that answer at once.  CPU seconds (user + system) of the crawling process
from the opening to the closing of the spider, so that start-up does not count; the best of the rounds.

The last columns show the highest mean lag of the event loop in a second, and the monitor's lowest limit on sessions.

stock      Scrapy without changes: its scheduler, LinkExtractor, a Request per link
ordinary   the same spider with only the add-on switched on
web        this project's spider: selectolax, links in bulk
no-near    the same without near-duplicates (pages of nothing but text are their worst case)
disk       web with a JOBDIR
redis      web as the only worker of a crawl over Redis; the CPU time of Redis is not included
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Spider
from scrapy.linkextractors import LinkExtractor

from testbed.bench import ADDON, QUIET, WEB, WEB_SPIDER, Stats, best_of, command_line, crawl, fast_web
from testbed.redis_server import RunningRedis
from testbed.web import running_web

STOCK = "scripts.bench_throughput.StockSpider"
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "stock": (STOCK, QUIET | {"CONCURRENT_REQUESTS": 64}),
    "ordinary": (STOCK, QUIET | ADDON),
    "web": (WEB_SPIDER, WEB),
    "no-near": (WEB_SPIDER, WEB | {"DUPLICATES_NEAR": False}),
    "disk": (WEB_SPIDER, WEB),
    "redis": (WEB_SPIDER, WEB | {"FRONTIER_BACKEND": "redis"}),
}


class StockSpider(Spider):
    """An ordinary spider in stock Scrapy."""

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


def measure_case(case: str, seeds: str) -> Stats:
    """The stats of one crawl, with whatever its backend needs."""
    spider, settings = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        if case == "disk":
            return crawl(settings | {"JOBDIR": folder}, spider, seeds=seeds)
        if case != "redis":
            return crawl(settings, spider, seeds=seeds)
        with RunningRedis(aof=True) as redis:
            stats = crawl(settings | {"REDIS_URL": redis.url}, spider, seeds=seeds)
            return stats | {"bench/redis": redis.cpu_time()}


def main() -> None:
    """Print a row per case."""
    defaults = {"pages": 1000, "rounds": 3, "cases": "stock,ordinary,web,no-near", "servers": 20, "page_bytes": 19_000}
    args = command_line(__doc__, **defaults).parse_args()
    with running_web(replace(fast_web(args.pages, args.page_bytes), servers=args.servers)) as web:

        def measure(case: str) -> Stats:
            return measure_case(case, ",".join(web.seeds))

        best = best_of(args.cases.split(","), measure, args.rounds)
    costs = {case: stats["bench/cpu"] / stats["item_scraped_count"] for case, stats in best.items()}
    print(
        f"{'case':10} {'pages':>6} {'CPU ms/page':>12} {'pages/CPU s':>12} {'pages/s':>8}"
        f" {'of stock':>9} {'lag s':>6} {'throttled to':>13}"
    )
    for case, stats in best.items():
        pages, cost = stats["item_scraped_count"], costs[case]
        print(
            f"{case:10} {pages:>6} {cost * 1e3:>12.2f} {1 / cost:>12.0f} {pages / stats['bench/wall']:>8.0f}"
            f" {cost / costs.get('stock', float('nan')):>9.2f} {stats.get('monitor/lag/max', 0):>6.3f}"
            f" {stats.get('monitor/session_limit/lowest', 'never'):>13}"
        )


if __name__ == "__main__":
    main()
