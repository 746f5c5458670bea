"""Broken and hostile servers on the fast lane, on Scrapy's own way, and with Scrapy alone: the same pages and errors.

Where they differ from Scrapy's, the reason is listed.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.crawl.crawling import Crawl, crawl
from tests.crawl.nasty_answers import CASES
from tests.crawl.nasty_server import running
from tests.crawl.test_bad_input import SETTINGS

pytestmark = pytest.mark.long

SPIDER = "tests.crawl.hostile_spiders.TricksSpider"

NO_TEXT = "the codec is no charset: the page is read as UTF-8, Scrapy raises an error, or decodes for seconds"
NO_CODING = "an answer that cannot be decompressed costs a stat, not an exception of the decompressor"
NO_TARGET = "the answer is kept (an error status); Scrapy raises an error, or looks up a name that cannot exist"
EARLY = "ended at a bound; Scrapy reads on until the time-out, or to the limit of a body"

#: Trick -> why it does not end as with Scrapy.
DIFFERENT = {
    **dict.fromkeys(("charset_hex", "charset_in_page", "charset_slow", "charset_undefined"), NO_TEXT),
    **{f"{name}_garbage": NO_CODING for name in ("br", "deflate", "gzip", "zstd")},
    **dict.fromkeys(("encoding_latin1", "gzip_nothing"), NO_CODING),
    **{
        f"redirect_{name}": NO_TARGET
        for name in (
            "dots", "escape", "ipv6", "long_host", "no_host", "port", "port_text", "space", "to_script", "zone",
            "zone_raw",
        )
    },
    **dict.fromkeys(("base_ipv6", "refresh_ipv6"), "the page is kept; Scrapy raises an error"),
    **dict.fromkeys(("endless_1xx", "endless_headers"), EARLY),
    "chunk_huge": "what follows a chunk's invalid size is no part of the body",
    "keep_alive": "response.headers has the headers of the connection, too",
    "refresh_to_itself": "fetched again, then kept; Scrapy's dupefilter loses it",
    "status_9999": "a status has three digits",
    "utf16_without_mark": "the headers of its link are written in UTF-16: Twisted refuses them, others send them",
}  # fmt: skip

#: These may end in two ways, as the machine is quick enough or not.
TIMED = {"endless_body"}


def _crawl(way: str) -> dict[str, list[str]]:
    """Trick -> its items, sorted; addresses are names."""
    with running({name: case.answers for name, case in CASES.items()}) as roots:
        ours = {**SETTINGS, "ROBOTSTXT_OBEY": False}
        settings: dict[str, Any] = {name: value for name, value in ours.items() if not name.startswith("FRONTIER_")}
        if way != "stock":
            settings = {**ours, "FRONTIER_FAST_LANE": way}
        crawled: Crawl = crawl(SPIDER, settings=settings, addon=way != "stock", roots=json.dumps(roots))
    assert crawled.stat("finish_reason") == "finished", crawled.log
    assert (crawled.stat("lane/pages") > 100) == (way == "auto")
    text = json.dumps(crawled.items)
    for name, root in sorted(roots.items(), key=lambda each: -len(each[1])):
        text = text.replace(root, name)
    items: dict[str, list[str]] = {name: [] for name in CASES}
    for item in json.loads(text):
        items[item["trick"]].append(json.dumps(item, sort_keys=True))
    return {name: sorted(each) for name, each in items.items()}


@pytest.fixture(scope="module")
def crawled() -> dict[str, dict[str, list[str]]]:
    ways = ("auto", "off", "stock")
    with ThreadPoolExecutor(3) as pool:
        return dict(zip(ways, pool.map(_crawl, ways), strict=True))


def test_both_ways_are_the_same(crawled: dict[str, dict[str, list[str]]]) -> None:
    """To the byte: bodies, texts, encodings, headers, flags, redirects and errors."""
    assert crawled["auto"] == crawled["off"]


@pytest.mark.parametrize("trick", sorted(set(CASES) - TIMED))
def test_tricks_end_as_with_scrapy(crawled: dict[str, dict[str, list[str]]], trick: str) -> None:
    """Unless there is a reason; all listed ones do differ."""
    if trick in DIFFERENT:
        assert crawled["auto"][trick] != crawled["stock"][trick]
    else:
        assert crawled["auto"][trick] == crawled["stock"][trick]
