"""CPU per record page of ``scrapy crawl site``, beside and beyond what ``scrapy crawl web`` takes for the same page.

    scripts/bench rules [--turns 3]          # the small pages of the tests
    scripts/bench rules --web DIR            # the documentation sites of scripts/real_web.py

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
from testbed.crawl import ADDON
from testbed.rules import RULES, SITES, localized, pages_of

if TYPE_CHECKING:
    from scrapy import Spider


def spider(spider_class: type[Spider], **arguments: str) -> Any:
    """A spider of a crawler that does not run."""
    crawler = get_crawler(spider_class, ADDON)
    crawler.settings.frozen = False
    crawler.spider = spider_class.from_crawler(crawler, **arguments)
    return crawler.spider


def response(url: str, body: bytes) -> HtmlResponse:
    """As it comes from the downloader; decoded, since both spiders need it."""
    made = HtmlResponse(url, body=body, headers={"Content-Type": "text/html"}, request=Request(url))
    made.text  # noqa: B018
    return made


async def times(site: SiteSpider, web: WebSpider, url: str, body: bytes) -> tuple[float, float, int]:
    """CPU seconds of both spiders for a page, and the number of records."""
    for_site, for_web = response(url, body), response(url, body)
    started = time.process_time()
    for _output in web.parse(for_web):
        pass
    between = time.process_time()
    outputs = [output async for output in site._parse(for_site)]
    return time.process_time() - between, between - started, sum(isinstance(each, dict) for each in outputs)


def main() -> None:
    parser = command_line(__doc__, turns=3)
    parser.add_argument("--web", type=Path, help="a directory made by scripts/real_web.py setup")
    options = parser.parse_args()
    web = spider(WebSpider, seeds="http://web.example/")
    print(f"{'site':12} {'pages':>6} {'kB':>6} {'records':>8} {'added ms':>9} {'median':>7} {'times web':>9}")
    every: list[tuple[float, float, int, int]] = []
    with TemporaryDirectory() as folder:
        for one in SITES:
            rules = Path(folder) / f"{one.name}.toml"
            rules.write_text(localized(RULES / f"{one.name}.toml", one.url), encoding="utf-8")
            site, found = spider(SiteSpider, rules=str(rules)), []
            for url, body in pages_of(one, options.web):
                turns = [asyncio.run(times(site, web, url, body)) for _ in range(options.turns)]
                if records := turns[0][2]:
                    found.append((median(t[0] for t in turns), median(t[1] for t in turns), records, len(body)))
            show(one.name, found)
            every += found
    show("all", every)


def show(name: str, found: list[tuple[float, float, int, int]]) -> None:
    """A line for pages: CPU by the rules and by ``web``, records, bytes of each."""
    if found:
        ours, webs, records, sizes = zip(*found, strict=True)
        added = [1e3 * (one - other) for one, other in zip(ours, webs, strict=True)]
        print(
            f"{name:12} {len(found):>6} {mean(sizes) / 1e3:>6.0f} {sum(records):>8} {mean(added):>9.2f} "
            f"{median(added):>7.2f} {sum(ours) / sum(webs):>9.2f}"
        )


if __name__ == "__main__":
    main()
