"""CPU per record page of ``scrapy crawl site``, beyond what ``scrapy crawl web`` takes for the same page.

python scripts/bench_rules.py                  # the small pages of the tests
python scripts/bench_rules.py --web DIR        # the documentation sites of scripts/real_web.py

Each page is parsed by both spiders in turns; nothing is fetched, and links are not queued.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy.http import HtmlResponse, Request
from scrapy.utils.test import get_crawler

from crawlproject.spiders.site import SiteSpider
from crawlproject.spiders.web import WebSpider
from testbed.bench import command_line
from testbed.rules import RULES, SITES, localized, pages_of

if TYPE_CHECKING:
    from scrapy import Spider


def main() -> None:
    parser = command_line(__doc__, turns=5)
    parser.add_argument("--web", type=Path, help="a directory made by scripts/real_web.py setup")
    options = parser.parse_args()
    every: list[float] = []
    with TemporaryDirectory() as folder:
        for site in SITES:
            rules = Path(folder) / f"{site.name}.toml"
            rules.write_text(localized(RULES / f"{site.name}.toml", site.url), encoding="utf-8")
            added, sizes, records = measure(rules, list(pages_of(site, options.web)), options.turns)
            if added:
                print(
                    f"{site.name}: {len(added)} record pages, {mean(sizes) / 1000:.0f} kB, {records} records:"
                    f" mean {1000 * mean(added):.2f} ms, median {1000 * median(added):.2f} ms per page"
                )
                every += added
    print(f"all: {len(every)} record pages: mean {1000 * mean(every):.2f} ms, median {1000 * median(every):.2f} ms")


def measure(rules: Path, pages: list[tuple[str, bytes]], turns: int) -> tuple[list[float], list[int], int]:
    """CPU seconds added by the rules for each record page (median of turns), their sizes, records found."""
    site_spider = spider(SiteSpider, rules=str(rules))
    web_spider = spider(WebSpider, seeds="http://web.example/")
    added, sizes, found = [], [], 0
    for url, body in pages:
        outputs = asyncio.run(site_outputs(site_spider, response(url, body)))
        records = sum(isinstance(output, dict) for output in outputs)
        if not records:
            continue
        found += records
        differences = []
        for _ in range(turns):
            ours, others = response(url, body), response(url, body)
            started = time.process_time()
            for _output in web_spider.parse(others):
                pass
            between = time.process_time()
            asyncio.run(site_outputs(site_spider, ours))
            differences.append(time.process_time() - between - (between - started))
        added.append(median(differences) - idle())
        sizes.append(len(body))
    return added, sizes, found


def idle(cached: list[float] = []) -> float:  # noqa: B006 - measured once
    """CPU seconds of ``asyncio.run`` itself."""
    if not cached:
        times = []
        for _ in range(50):
            started = time.process_time()
            asyncio.run(asyncio.sleep(0))
            times.append(time.process_time() - started)
        cached.append(median(times))
    return cached[0]


def spider(spider_class: type[Spider], **arguments: str) -> Any:
    """A spider of a crawler that does not run."""
    crawler = get_crawler(spider_class, {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}})
    crawler.settings.frozen = False
    crawler.spider = spider_class.from_crawler(crawler, **arguments)
    return crawler.spider


def response(url: str, body: bytes) -> HtmlResponse:
    """As it comes from the downloader."""
    made = HtmlResponse(url, body=body, headers={"Content-Type": "text/html"}, request=Request(url))
    made.text  # noqa: B018 - decoded; both spiders need it
    return made


async def site_outputs(spider: SiteSpider, page: HtmlResponse) -> list[Any]:
    """What the spider yields."""
    return [output async for output in spider.parse(page)]


if __name__ == "__main__":
    main()
