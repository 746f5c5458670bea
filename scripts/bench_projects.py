"""CPU of the spiders that projects have, with Scrapy alone and with the add-on; and of this project's own spider.

    scripts/bench projects [--pages 3000] [--servers 300] [--rounds 5] [--cases follow,project,crawlspider,web]

300 servers on loopback that answer at once: pages of 18 kB with 40 different links.  CPU seconds (user + system) of the
crawling process from the opening to the closing of the spider.  Each case is measured with Scrapy alone ("stock") and
with the add-on ("addon"), in turns; the figures are medians of the rounds, the ratios those of one run.

Cases:
follow        a spider that yields an item and ``response.follow`` for each link; no cookies, no pipeline, no feed
project       the same in a project as ``scrapy startproject`` makes it (cookies, CONCURRENT_REQUESTS_PER_DOMAIN = 1,
              without its DOWNLOAD_DELAY = 1), with an item pipeline and a feed of JSON lines
crawlspider   a CrawlSpider with a LinkExtractor in the same project
web           the spider ``web`` of this project, with the add-on only; its ratio is to the stock spider ``follow``
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from testbed.bench import ADDON, QUIET, WEB, WEB_SPIDER, Stats, command_line, crawl, fast_web, in_turns
from testbed.web import running_web

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

HERE = "scripts.bench_projects"


class Seeded(Spider):
    """Gets its start URLs as the argument ``seeds``."""

    def __init__(self, seeds: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = seeds.split(",")

    def item(self, response: Response) -> dict[str, Any]:
        """The item of a page."""
        return {"url": response.url, "title": response.css("title::text").get()}


class FollowSpider(Seeded):
    """An item and a request for each link."""

    name = "follow"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        """See the class."""
        yield self.item(response)
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)


class RulesSpider(Seeded, CrawlSpider):
    """Follows all links by a rule."""

    name = "rules"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Iterator[Any]:
        """An item."""
        yield self.item(response)


class CleaningPipeline:
    """What most pipelines do: look at an item, change it, pass it on."""

    def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        """Strip the title."""
        item["title"] = (item["title"] or "").strip()
        return item


PROJECT: dict[str, Any] = QUIET | {
    "COOKIES_ENABLED": True,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "FEED_EXPORT_ENCODING": "utf-8",
    "ROBOTSTXT_OBEY": True,
    "ITEM_PIPELINES": {f"{HERE}.CleaningPipeline": 300},
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "follow": (f"{HERE}.FollowSpider", QUIET),
    "project": (f"{HERE}.FollowSpider", PROJECT),
    "crawlspider": (f"{HERE}.RulesSpider", PROJECT),
    "web": (WEB_SPIDER, WEB),
}


def measure(case: str, seeds: list[str]) -> Stats:
    """The stats of one crawl; ``case``: its name and, after a slash, ``stock`` or ``addon``."""
    name, _, way = case.partition("/")
    spider, settings = CASES[name]
    if way == "addon":
        settings = settings | ADDON
    with tempfile.TemporaryDirectory() as folder:
        if "ITEM_PIPELINES" in settings:
            settings = settings | {"FEEDS": {f"{folder}/items.jsonl": {"format": "jsonlines"}}}
        return crawl(settings, spider, seeds=",".join(seeds))


def main() -> None:
    defaults = {"pages": 3000, "servers": 300, "rounds": 5, "cases": ",".join(CASES)}
    args = command_line(__doc__, **defaults).parse_args()
    names = args.cases.split(",")
    cases = [f"{name}/{way}" for name in names for way in ("stock", "addon") if (name, way) != ("web", "stock")]
    with running_web(replace(fast_web(args.pages, 18_000, links=46), servers=args.servers, local_share=0.2)) as web:
        results = in_turns(cases, lambda case: measure(case, web.seeds), args.rounds)
    costs = {case: median(stats["bench/cpu"] for stats in found) for case, found in results.items()}
    print(f"{'case':18} {'items':>6} {'CPU s':>7} {'from':>6} {'to':>6} {'of stock':>9} {'ms/page':>8}")
    for case, found in results.items():
        cpu = [stats["bench/cpu"] for stats in found]
        name, _, way = case.partition("/")
        stock = costs.get("follow/stock" if name == "web" else f"{name}/stock", float("nan"))
        items = median(stats.get("item_scraped_count", 0) for stats in found)
        ratio = "" if way == "stock" else f"{costs[case] / stock:.3f}"
        print(
            f"{case:18} {items:>6.0f} {costs[case]:>7.2f} {min(cpu):>6.2f} {max(cpu):>6.2f} {ratio:>9} "
            f"{costs[case] / max(items, 1) * 1e3:>8.2f}"
        )


if __name__ == "__main__":
    main()
