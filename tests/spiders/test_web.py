"""The spider ``web``: how a crawl without pages ends."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.exceptions import CloseSpider
from scrapy.utils.test import get_crawler

from crawlproject.links import Links
from crawlproject.spiders import web
from crawlproject.spiders.web import NO_SEED_FETCHED, SEEDS_AT_ONCE, WebSpider


@pytest.mark.parametrize(
    ("known", "counts", "ends"),
    [
        ({}, {}, True),
        ({"pages": 1}, {}, False),
        ({"is_resumed": True}, {}, False),
        ({"pages_elsewhere": lambda: 1}, {}, False),
        ({}, {"sent": 1}, True),
        ({}, {"seen": 1}, False),
        ({}, {"seen": 1, "new": 1}, True),
    ],
)
def test_a_crawl_without_pages_ends_with_a_reason_of_its_own(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, Any], counts: dict[str, int], ends: bool
) -> None:
    """If no worker of the crawl has fetched one; URLs that were only sent to others are no pages."""
    intake = SimpleNamespace(links_counted=lambda name: counts.get(name, 0))
    facts = {"pages": 0, "is_resumed": False, "pages_elsewhere": lambda: 0, **known}
    store = SimpleNamespace(pages_elsewhere=facts.pop("pages_elsewhere"))
    crawl = SimpleNamespace(intake=intake, store=store, frontier=SimpleNamespace(servers=()), **facts)
    monkeypatch.setattr(web, "frontier_of", lambda _: crawl)
    spider = WebSpider(seeds="http://a.example/")
    spider.crawler = get_crawler(WebSpider)
    if not ends:
        spider._end_without_pages()
        return
    with pytest.raises(CloseSpider) as error:
        spider._end_without_pages()
    assert error.value.reason == NO_SEED_FETCHED


def outputs(seeds: str) -> tuple[list[Links], int]:
    """What the spider's ``start`` yields, and how often something else ran meanwhile."""

    async def gather() -> tuple[list[Links], int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        other = asyncio.create_task(count())
        found = [links async for links in WebSpider(seeds=seeds).start()]
        other.cancel()
        return found, turns

    return asyncio.run(gather())


def test_many_seeds_are_read_in_steps() -> None:
    """And queued in steps, so that they are not kept: 100,000 of them held the event loop for 0.5 s."""
    hosts = [f"http://s{number}.example/" for number in range(3 * SEEDS_AT_ONCE)]
    found, turns = outputs(",".join(hosts))
    assert [len(links.hrefs) for links in found] == [SEEDS_AT_ONCE] * 3
    assert [url for links in found for url in links.hrefs] == hosts
    assert turns >= 2


def test_seeds_with_a_quality_are_queued_the_best_first(tmp_path: Path) -> None:
    """Each quality was queued by itself, all in one step of the event loop: 20,000 different ones took 1.4 s."""
    count = 2 * SEEDS_AT_ONCE
    lines = [f"http://s{number}.example/ {number * 7919 % count}" for number in range(count)]
    file = tmp_path / "seeds.txt"
    file.write_text("\n".join([*lines, "http://unrated.example/"]))
    found, turns = outputs(str(file))
    rated = [pair for links in found[:-1] for pair in zip(links.quality, links.hrefs, strict=True)]
    assert rated == sorted(((float(line.split()[1]), line.split()[0]) for line in lines), reverse=True)
    assert len(found) == 3
    assert turns >= 3
    assert (found[-1].hrefs, found[-1].quality) == (["http://unrated.example/"], None)
