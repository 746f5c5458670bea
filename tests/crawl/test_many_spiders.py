"""Ten spiders, ten rule files and a hundred other servers in one crawl."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from testbed.web import RunningWeb, WebSpec, overlaps, running_web
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.many_spiders import COUNT

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.many_spiders"
OTHERS = 100
SPEC = WebSpec(servers=2 * COUNT + OTHERS, pages=1200, time_scale=0, seed_count=2 * COUNT + OTHERS)

RULES = """
seeds = ["{url}/"]
domains = ["{host}"]
[records.page]
pages = ["/"]
[records.page.fields]
title = "title"
"""


def run(web: RunningWeb, folder: Path, **settings: Any) -> Crawl:
    for number in range(COUNT, 2 * COUNT):
        rules = RULES.format(url=web.web.base(number), host=SPEC.address(number))
        (folder / f"rules{number}.toml").write_text(rules, encoding="utf-8")
    names = [f"spider{number}" for number in range(COUNT)]
    ports = {f"{name}.port": str(web.web.port) for name in names}
    seeds = ",".join(f"{web.web.base(number)}/" for number in range(2 * COUNT, SPEC.servers))
    own: dict[str, Any] = {"SPIDER_MODULES": [SPIDERS], **settings}
    return crawl(WEB, settings={**IMPOLITE, **own}, spiders=",".join(names), rules=str(folder), seeds=seeds, **ports)


def test_items_of_each_are_those_of_each_alone(tmp_path: Path) -> None:
    """Of the spiders under stock Scrapy; all other pages have the records of their rules, or ``web``'s items."""
    with running_web(SPEC) as web:
        alone: Counter[tuple[str, ...]] = Counter()
        for number in range(COUNT):
            stock = crawl(f"{SPIDERS}.Spider{number}", addon=False, port=str(web.web.port))
            alone.update(tuple(item.values()) for item in stock.items)
        before = len(web.records())
        ours = run(web, tmp_path)
        records = web.records()[before:]
    assert ours.stat("finish_reason") == "finished", ours.log
    assert Counter(tuple(item.values()) for item in ours.items if "spider" in item) == alone
    assert len({name for name, *_ in alone}) == COUNT
    by_rules = sorted(item["url"] for item in ours.items if "record" in item)
    by_web = sorted(item["url"] for item in ours.items if "status" in item)
    of_spiders = sorted(url for _, url, _ in alone)
    assert len(by_rules) == len(set(by_rules)) > COUNT
    assert sorted(by_rules + by_web + of_spiders) == sorted(web.web.expected_urls())
    ruled = {web.web.base(number) for number in range(COUNT, 2 * COUNT)}
    assert {url.rsplit("/", url.count("/") - 2)[0] for url in by_rules} == ruled
    assert overlaps(records) == []
