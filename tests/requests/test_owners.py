"""Whose page it is, among several spiders."""

from collections.abc import Iterator
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.spiders import CrawlSpider

from crawlproject.requests.owners import Owner, Owners
from crawlproject.urls.fates import Reason


class Shop(Spider):
    name = "shop"

    def parse_book(self, response: Any) -> Iterator[Any]:
        yield response

    def failed(self, failure: Any) -> None:
        """An errback."""


class News(CrawlSpider):
    name = "news"


SHOP, NEWS = Shop(), News()
BOOK, OTHER, NONE = "https://books.shop.example/1", "https://news.example/", "https://a.test/"


@pytest.fixture
def owners() -> Owners:
    owners = Owners()
    owners.put(
        Owner("shop", SHOP, frozenset(("shop.example",)), meta={"dont_retry": True}, headers={"User-Agent": "x"})
    )
    owners.put(Owner("news", NEWS, frozenset(("news.example", "news.shop.example"))))
    return owners


def prepared(owners: Owners, request: Request) -> Request:
    found = owners.prepared(request)
    assert isinstance(found, Request)
    return found


def test_the_longest_domain_wins(owners: Owners) -> None:
    """Whatever the port and the spelling of the host."""
    places = {
        BOOK: "shop",
        "http://SHOP.example:8080/": "shop",
        "http://a.news.shop.example/": "news",
        NONE: None,
        "http://myshop.example/": None,
        "mailto:x": None,
    }
    for url, name in places.items():
        assert getattr(owners.of(url), "name", None) == name


def test_a_callback_stays_but_for_offsite_pages_of_none(owners: Owners) -> None:
    """Those are the crawl's own spider's; so are all links of a CrawlSpider to other sites."""
    for url in (BOOK, OTHER):
        request = prepared(owners, Request(url, SHOP.parse_book, errback=SHOP.failed))
        assert (request.callback, request.errback) == (SHOP.parse_book, SHOP.failed)
    assert prepared(owners, Request(NONE, SHOP.parse_book, errback=SHOP.failed)).callback is None
    for stays in (
        Request(NONE, SHOP.parse_book, dont_filter=True),
        Request(NONE, SHOP.parse_book, meta={"allow_offsite": 1}),
    ):
        assert prepared(owners, stays).callback == SHOP.parse_book
    assert prepared(owners, Request(OTHER, NEWS._callback)).callback == NEWS._callback
    assert prepared(owners, Request(BOOK, NEWS._callback)).callback is None


def test_requests_have_what_their_spider_sets_until_they_lead_elsewhere(owners: Owners) -> None:
    """What a request says itself comes first."""
    request = prepared(owners, Request(BOOK, headers={"User-Agent": "own"}))
    assert (request.headers[b"User-Agent"], request.meta["dont_retry"]) == (b"own", True)
    redirected = prepared(owners, prepared(owners, Request(BOOK)).replace(url=OTHER))
    assert "dont_retry" not in redirected.meta
    assert b"User-Agent" not in redirected.headers


def test_requests_of_a_spider_that_has_ended_are_dropped_and_counted(owners: Owners) -> None:
    """Links to its pages, too."""
    shop = owners.get("shop")
    assert shop is not None
    owners.end(shop, "enough")
    assert owners.prepared(Request(BOOK)) is Reason.SPIDER_ENDED
    assert owners.prepared(Request(OTHER, SHOP.parse_book)) is Reason.SPIDER_ENDED
    assert isinstance(owners.prepared(Request(OTHER)), Request)
    assert shop.dropped == 2


def test_a_spider_that_was_replaced_hands_its_callbacks_on(owners: Owners) -> None:
    """By name; one that the new class has not becomes ``parse``."""
    new = Shop()
    owners.put(Owner("shop", new, frozenset(("shop.example",)), pages=7))
    request = prepared(owners, Request(BOOK, SHOP.parse_book, errback=SHOP.failed))
    assert (request.callback, request.errback) == (new.parse_book, new.failed)
    assert len(owners) == 2


def test_two_spiders_cannot_have_one_domain(owners: Owners) -> None:
    """Both are named."""
    with pytest.raises(ValueError, match=r"the spiders shop and b have the same domain: shop\.example"):
        owners.put(Owner("b", Spider("b"), frozenset(("shop.example",))))


def test_a_hundred_thousand_domains() -> None:
    """Of one spider."""
    owners = Owners()
    owners.put(Owner("shop", SHOP, frozenset(f"{number}.example" for number in range(100_000))))
    assert all(owners.of(f"http://www.{number}.example/") for number in range(0, 100_000, 100))
    assert owners.of("http://100000.example/") is None
