"""CPU per page of whole crawls: of this project, of Scrapy, of scrapy-redis, and of a loop that does nothing else.

    scripts/bench throughput [--web real] [--pages 1000] [--rounds 1] [--cases stock,web,bare] [--pin]

CPU seconds (user + system) of the crawling process from the opening to the closing of the spider, so that start-up
does not count, and divided by the pages fetched; the web's servers are a process of their own.  The cases are measured
in turns; each figure is the median of the rounds.  ``--pin``: the crawl has a CPU of its own, the web the others.

Webs:
keep-alive  20 servers that answer at once and keep their connections: pages of 19 kB with 40 links
real        500 servers with delays and connection limits as in the paper, robots.txt on all of them; pages of 20 kB
            with 40 links, 30% of them compressed; redirects, dead links and errors

Cases:
stock         Scrapy without changes: its scheduler, LinkExtractor, a Request per link
tuned         the same with the settings of Scrapy's page on broad crawls
scrapy-redis  the same with the scheduler and the dupefilter of scrapy-redis; the CPU of Redis is not included
ordinary      the same spider as stock with only the add-on switched on
web           this project's spider: selectolax, links in bulk
no-near       web without near-duplicates (pages of nothing but text are their worst case)
no-lane       web without the fast lane
disk          web with a JOBDIR
repository    web with a FRONTIER_REPOSITORY_DIR
all           web with both
redis         web as the only worker of a crawl over Redis; the CPU of Redis is not included
bare          a loop of aiohttp and selectolax (testbed/bench_bare.py): no robots.txt, no politeness, no ranks

The last columns: pages per second, peak memory, the highest mean lag of the event loop in a second, and the lowest
limit on sessions that the monitor set.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Spider
from scrapy.linkextractors import LinkExtractor

from testbed.bench import (
    ADDON,
    QUIET,
    WEB,
    WEB_SPIDER,
    Stats,
    command_line,
    crawl,
    fast_web,
    in_turns,
    real_web,
    stats_of,
)
from testbed.redis_server import RunningRedis
from testbed.web import running_web

if TYPE_CHECKING:
    from testbed.web import WebSpec

STOCK = "scripts.bench_throughput.StockSpider"
PLAIN: dict[str, Any] = QUIET | {"CONCURRENT_REQUESTS": 64}
#: https://docs.scrapy.org/en/latest/topics/broad-crawls.html, except that redirects are followed and errors retried as
#: by all others.
BROAD: dict[str, Any] = PLAIN | {
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "DOWNLOAD_TIMEOUT": 15,
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
SCRAPY_REDIS: dict[str, Any] = PLAIN | {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "stock": (STOCK, PLAIN),
    "tuned": (STOCK, BROAD),
    "scrapy-redis": (STOCK, SCRAPY_REDIS),
    "ordinary": (STOCK, QUIET | ADDON),
    "web": (WEB_SPIDER, WEB),
    "no-near": (WEB_SPIDER, WEB | {"FRONTIER_DUPLICATES_NEAR": False}),
    "no-lane": (WEB_SPIDER, WEB | {"FRONTIER_FAST_LANE": "off"}),
    "disk": (WEB_SPIDER, WEB),
    "repository": (WEB_SPIDER, WEB),
    "all": (WEB_SPIDER, WEB),
    "redis": (WEB_SPIDER, WEB | {"FRONTIER_BACKEND": "redis"}),
}
IN_REDIS = ("scrapy-redis", "redis")
WITH_FOLDER = {
    "disk": ("JOBDIR",),
    "repository": ("FRONTIER_REPOSITORY_DIR",),
    "all": ("JOBDIR", "FRONTIER_REPOSITORY_DIR"),
}
#: What all crawls of the web ``real`` have in common.
POLITE = {"ROBOTSTXT_OBEY": True, "ROBOTSTXT_USER_AGENT": "bench"}


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


def measure_case(case: str, seeds: list[str], common: dict[str, Any]) -> Stats:
    """The stats of one crawl, with whatever its backend needs."""
    if case == "bare":
        return stats_of("testbed.bench_bare", *seeds)
    spider, settings = CASES[case]
    settings = settings | common
    with ExitStack() as stack:
        for name in WITH_FOLDER.get(case, ()):
            settings |= {name: stack.enter_context(tempfile.TemporaryDirectory())}
        redis = stack.enter_context(RunningRedis(aof=True)) if case in IN_REDIS else None
        if redis is None:
            return crawl(settings, spider, seeds=",".join(seeds))
        stats = crawl(settings | {"REDIS_URL": redis.url}, spider, seeds=",".join(seeds))
        return stats | {"bench/redis": redis.cpu_time()}


def web_of(name: str, pages: int, servers: int, page_bytes: int) -> tuple[WebSpec, dict[str, Any]]:
    """The web ``name``, and the settings of all crawls of it. 0: the web's own number."""
    if name == "real":
        return real_web(pages, page_bytes or 20_000, servers=servers or 500), POLITE
    return replace(fast_web(pages, page_bytes or 19_000), servers=servers or 20), {}


def pin(*, crawls: bool) -> None:
    """Give this process, and those that it starts from now on, the first CPU (``crawls``) or all others."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        os.sched_setaffinity(0, cpus[:1] if crawls else cpus[1:])


def main() -> None:
    defaults = {"web": "keep-alive", "pages": 1000, "rounds": 1, "cases": "stock,web,bare", "servers": 0}
    args = command_line(__doc__, **defaults, page_bytes=0, pin=False).parse_args()
    spec, common = web_of(args.web, args.pages, args.servers, args.page_bytes)
    everything = os.sched_getaffinity(0)
    if args.pin:
        pin(crawls=False)
    with running_web(spec) as web:
        if args.pin:
            os.sched_setaffinity(0, everything)
            pin(crawls=True)
        results = in_turns(args.cases.split(","), lambda case: measure_case(case, web.seeds, common), args.rounds)
    costs = {case: median(map(cost_of, found)) for case, found in results.items()}
    print(
        f"{'case':13} {'pages':>6} {'CPU ms/page':>12} {'from':>6} {'to':>6} {'of stock':>9} {'of bare':>8} "
        f"{'pages/s':>8} {'MB':>5} {'lag s':>6} {'throttled to':>13}"
    )
    for case, found in results.items():
        of = [costs[case] / costs.get(other, float("nan")) for other in ("stock", "bare")]
        speed = median(stats["item_scraped_count"] / stats["bench/wall"] for stats in found)
        pages, memory = (median(stats[name] for stats in found) for name in ("item_scraped_count", "bench/peak_memory"))
        print(
            f"{case:13} {pages:>6.0f} {costs[case]:>12.2f} {min(map(cost_of, found)):>6.2f} "
            f"{max(map(cost_of, found)):>6.2f} {of[0]:>9.3f} {of[1]:>8.2f} {speed:>8.0f} {memory:>5.0f} "
            f"{max(stats.get('monitor/lag/max', 0) for stats in found):>6.3f} "
            f"{min((stats.get('monitor/session_limit/lowest', 'never') for stats in found), key=str):>13}"
        )


def cost_of(stats: Stats) -> float:
    """CPU milliseconds per page."""
    return float(stats["bench/cpu"] / stats["item_scraped_count"] * 1e3)


if __name__ == "__main__":
    main()
