"""CPU per page of whole crawls: of spiders that projects have, with Scrapy and with the add-on, and of ``web``.

    scripts/bench throughput [--web keep-alive] [--pages 1000] [--rounds 1] [--cases stock,web,bare] [--pin]

CPU seconds (user + system) of the crawling process from the opening to the closing of the spider, so that start-up
does not count, and divided by the pages fetched; the web's servers are a process of their own.  The cases are measured
in turns; each figure is the median of the rounds.  ``--pin``: the crawl has a CPU of its own, the web the others.

Webs:
keep-alive  20 servers that answer at once and keep their connections: pages of 19 kB with 40 links
many        300 servers that answer at once: pages of 18 kB with 40 links
real        500 servers with delays and connection limits as in the paper, robots.txt on all of them; pages of 20 kB
            with 40 links, 30% of them compressed; redirects, dead links and errors

Cases; "+addon" after the first five: the same with the add-on switched on:
stock         Scrapy without changes: its scheduler, LinkExtractor, a Request per link
follow        an item and ``response.follow`` for each link; no cookies, no pipeline, no feed
project       the same in a project as ``scrapy startproject`` makes it (cookies, CONCURRENT_REQUESTS_PER_DOMAIN = 1,
              without its DOWNLOAD_DELAY = 1), with an item pipeline and a feed of JSON lines
crawlspider   a CrawlSpider with a LinkExtractor in the same project
tuned         stock with the settings of Scrapy's page on broad crawls
scrapy-redis  stock with the scheduler and the dupefilter of scrapy-redis; the CPU of Redis is not included
web           this project's spider: selectolax, links in bulk
no-near       web without near-duplicates (pages of nothing but text are their worst case)
no-lane       web without the fast lane
disk          web with a JOBDIR
repository    web with a FRONTIER_REPOSITORY_DIR
all           web with both
redis         web as the only worker of a crawl over Redis; the CPU of Redis is not included
bare          a loop of aiohttp and selectolax (testbed/bench_bare.py): no robots.txt, no politeness, no ranks

"of stock" is the ratio to the same spider without the add-on, and of ``web`` to that of stock or else of follow.  The
last columns: pages per second, peak memory, the highest mean lag of the event loop in a second, and the lowest limit
on sessions that the monitor set.
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
from scrapy.spiders import CrawlSpider, Rule

from testbed.bench import command_line, fast_web, in_turns, real_web
from testbed.crawl import ADDON, QUIET, WEB, WEB_SPIDER, Stats, crawl, stats_of
from testbed.redis_server import RunningRedis
from testbed.web import running_web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from testbed.web import WebSpec

HERE = "scripts.bench_throughput"
STOCK, FOLLOW, RULES = (f"{HERE}.{name}" for name in ("StockSpider", "FollowSpider", "RulesSpider"))
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
PROJECT: dict[str, Any] = QUIET | {
    "COOKIES_ENABLED": True,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "FEED_EXPORT_ENCODING": "utf-8",
    "ROBOTSTXT_OBEY": True,
    "ITEM_PIPELINES": {f"{HERE}.CleaningPipeline": 300},
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "stock": (STOCK, PLAIN),
    "follow": (FOLLOW, QUIET),
    "project": (FOLLOW, PROJECT),
    "crawlspider": (RULES, PROJECT),
    "tuned": (STOCK, BROAD),
    "scrapy-redis": (STOCK, SCRAPY_REDIS),
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


class Seeded(Spider):
    """Gets its start URLs as the argument ``seeds``."""

    def __init__(self, seeds: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")

    def item(self, response: Response) -> dict[str, Any]:
        return {"url": response.url, "title": response.css("title::text").get()}


class StockSpider(Seeded):
    """An ordinary spider in stock Scrapy."""

    name = "stock"
    extractor = LinkExtractor()

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield self.item(response)
        for link in self.extractor.extract_links(response):
            yield response.follow(link)


class FollowSpider(Seeded):
    """An item and a request for each link."""

    name = "follow"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield self.item(response)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)


class RulesSpider(Seeded, CrawlSpider):
    """Follows all links by a rule."""

    name = "rules"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Iterator[Any]:
        yield self.item(response)


class CleaningPipeline:
    """What most pipelines do: look at an item, change it, pass it on."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        item["title"] = (item["title"] or "").strip()
        return item


def measure(case: str, seeds: list[str], common: dict[str, Any]) -> Stats:
    """The stats of one crawl, with whatever its settings need."""
    if case == "bare":
        return stats_of("testbed.bench_bare", *seeds)
    name, _, addon = case.partition("+")
    spider, settings = CASES[name]
    settings = settings | common | (ADDON if addon else {})
    with ExitStack() as stack:
        for option in WITH_FOLDER.get(name, ()):
            settings |= {option: stack.enter_context(tempfile.TemporaryDirectory())}
        if "ITEM_PIPELINES" in settings:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            settings |= {"FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines"}}}
        if name in IN_REDIS:
            settings |= {"REDIS_URL": stack.enter_context(RunningRedis(aof=True)).url}
        return crawl(settings, spider, seeds=",".join(seeds))


def web_of(name: str, pages: int, servers: int, page_bytes: int) -> tuple[WebSpec, dict[str, Any]]:
    """The web ``name``, and the settings of all crawls of it. 0: the web's own number."""
    if name == "real":
        return real_web(pages, page_bytes or 20_000, servers=servers or 500), POLITE
    if name == "many":
        return replace(fast_web(pages, page_bytes or 18_000, 46), servers=servers or 300, local_share=0.2), {}
    return replace(fast_web(pages, page_bytes or 19_000), servers=servers or 20), {}


def pin(*, crawls: bool) -> None:
    """Give this process, and those that it starts from now on, the first CPU (``crawls``) or all others."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        os.sched_setaffinity(0, cpus[:1] if crawls else cpus[1:])


def cost_of(stats: Stats) -> float:
    """CPU milliseconds per page."""
    return float(stats["bench/cpu"] / stats["item_scraped_count"] * 1e3)


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
        results = in_turns(args.cases.split(","), lambda case: measure(case, web.seeds, common), args.rounds)
    costs = {case: median(map(cost_of, found)) for case, found in results.items()}
    print(
        f"{'case':18} {'pages':>6} {'CPU ms/page':>12} {'from':>6} {'to':>6} {'of stock':>9} {'of bare':>8} "
        f"{'pages/s':>8} {'MB':>5} {'lag s':>6} {'throttled to':>13}"
    )
    for case, found in results.items():
        own = case.partition("+")[0]
        base = own if CASES.get(own, ("",))[0] in (FOLLOW, RULES) else "stock"
        unknown = float("nan")
        of = costs[case] / costs.get(base, costs.get("follow", unknown)), costs[case] / costs.get("bare", unknown)
        speed = median(stats["item_scraped_count"] / stats["bench/wall"] for stats in found)
        pages, memory = (median(stats[name] for stats in found) for name in ("item_scraped_count", "bench/peak_memory"))
        print(
            f"{case:18} {pages:>6.0f} {costs[case]:>12.2f} {min(map(cost_of, found)):>6.2f} "
            f"{max(map(cost_of, found)):>6.2f} {of[0]:>9.3f} {of[1]:>8.2f} {speed:>8.0f} {memory:>5.0f} "
            f"{max(stats.get('monitor/lag/max', 0) for stats in found):>6.3f} "
            f"{min((stats.get('monitor/session_limit/lowest', 'never') for stats in found), key=str):>13}"
        )


if __name__ == "__main__":
    main()
