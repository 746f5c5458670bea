"""The spider ``web``: how a crawl without pages ends."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from scrapy.exceptions import CloseSpider
from scrapy.utils.test import get_crawler

from crawlproject.spiders.web import NO_SEED_FETCHED, SEEDS_AT_ONCE, WebSpider, _in_iso


@pytest.mark.parametrize(
    ("stat", "ends"),
    [
        (None, True),
        ("frontier/pages", False),
        ("frontier/resumed", False),
        ("workers/pages", False),
        ("frontier/links/sent", True),
    ],
)
def test_a_crawl_without_pages_ends_with_a_reason_of_its_own(stat: str | None, ends: bool) -> None:
    """If no worker of the crawl has fetched one; URLs that were only sent to others are no pages."""
    crawler = get_crawler(WebSpider)
    spider = WebSpider(seeds="http://a.example/")
    spider.crawler = crawler
    assert crawler.stats is not None
    if stat is not None:
        crawler.stats.set_value(stat, 1)
    if not ends:
        spider._end_without_pages()
        return
    with pytest.raises(CloseSpider) as error:
        spider._end_without_pages()
    assert error.value.reason == NO_SEED_FETCHED


@pytest.mark.parametrize("milliseconds", [0, 7, 999, 1_000, 1_790_000_000_050, 4_102_444_799_999])
def test_time_of_an_item_is_written_as_by_isoformat(milliseconds: int) -> None:
    time = datetime.fromtimestamp(milliseconds // 1000, UTC) + timedelta(milliseconds=milliseconds % 1000)
    assert _in_iso(milliseconds) == time.isoformat(timespec="milliseconds")


def test_many_seeds_are_read_in_steps() -> None:
    """100,000 of them held the event loop for 0.5 s."""
    hosts = [f"http://s{number}.example/" for number in range(3 * SEEDS_AT_ONCE)]
    spider = WebSpider(seeds=",".join(hosts))

    async def steps_of_others() -> int:
        steps = 0

        async def count() -> None:
            nonlocal steps
            while True:
                await asyncio.sleep(0)
                steps += 1

        other = asyncio.create_task(count())
        assert [links.hrefs async for links in spider.start()] == [hosts]
        other.cancel()
        return steps

    assert asyncio.run(steps_of_others()) >= 2
