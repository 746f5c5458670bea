"""Spiders of somebody's own for single domains: alone under plain Scrapy, and several in one crawl."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import CloseSpider, DropItem
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

from crawlproject.links import Links


class _OnSite(Spider):
    """A spider that is told the origins of the servers."""

    def __init__(self, sites: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.origins = sites.split(",")


class ShopSpider(_OnSite):
    """Lists and books: callbacks by reference, ``meta``, ``cb_kwargs``, errbacks, a form, a status that it handles."""

    name = "shop"
    allowed_domains = ["127.4.0.1"]
    handle_httpstatus_list = [404]
    custom_settings = {
        "USER_AGENT": "shop-agent",
        "RETRY_ENABLED": False,
        "ITEM_PIPELINES": {"tests.crawl.several_spiders.Marked": 100},
    }

    def __init__(self, category: str = "all", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.category = category
        self.is_closed = False

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.origins[0]}/list?c={self.category}", meta={"from": "start"})
        yield FormRequest(f"{self.origins[0]}/search", formdata={"q": "x"}, callback=self.parse_found)
        yield Request(f"{self.origins[0]}/broken", callback=self.parse_book, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"case": "list", "url": response.url, "from": response.meta.get("from")}
        for number, href in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(href, self.parse_book, cb_kwargs={"number": number}, errback=self.failed)

    def parse_book(self, response: Response, number: int = -1) -> Iterator[Any]:
        agent = response.request.headers[b"User-Agent"].decode()
        yield {"case": "book", "url": response.url, "number": number, "status": response.status, "agent": agent}

    def parse_found(self, response: Response) -> Iterator[Any]:
        yield {"case": "found", "text": response.text}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"case": "failed", "url": failure.request.url}

    def closed(self, reason: str) -> None:
        self.logger.info("closed: %s", reason)


class NewsSpider(CrawlSpider):
    """Rules, whose links to other sites plain Scrapy drops."""

    name = "news"
    allowed_domains = ["127.4.0.2"]
    rules = (
        Rule(LinkExtractor(allow="/list"), follow=True),
        Rule(LinkExtractor(allow="/item/"), callback="parse_item", cb_kwargs={"kind": "news"}),
        Rule(LinkExtractor(allow="/book/"), callback="parse_item", cb_kwargs={"kind": "offsite"}),
    )

    def __init__(self, sites: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{sites.split(',')[1]}/"]

    def parse_item(self, response: Response, kind: str) -> Iterator[Any]:
        yield {"case": kind, "url": response.url, "title": response.css("title::text").get()}


class MapSpider(SitemapSpider):
    """Pages of a sitemap."""

    name = "map"
    allowed_domains = ["127.4.0.3"]
    sitemap_rules = [("/a/", "parse_a"), ("/b/", "parse_b")]

    def __init__(self, sites: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sitemap_urls = [f"{sites.split(',')[2]}/sitemap.xml"]

    def parse_a(self, response: Response) -> Iterator[Any]:
        yield {"case": "a", "url": response.url}

    def parse_b(self, response: Response) -> Iterator[Any]:
        yield {"case": "b", "url": response.url}


class LinksSpider(_OnSite):
    """``Links``, some with a callback; the quality of a link."""

    name = "links"

    def __init__(self, domains: str = "127.4.0.1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.allowed_domains = [domains]

    async def start(self) -> AsyncIterator[Any]:
        yield Links(None, [f"{self.origins[0]}/"])

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"case": "parsed", "url": response.url, "quality": response.meta["quality"]}
        yield Links(response, response.css("a.more::attr(href)").getall())
        yield Links(response, response.css("a.item::attr(href)").getall(), callback=self.parse_item)

    def parse_item(self, response: Response) -> Iterator[Any]:
        yield {"case": "item", "url": response.url}

    @staticmethod
    def quality_of(url: str) -> float:
        return float(len(url.rpartition("/")[2]))


class BadInit(_OnSite):
    name = "bad_init"
    allowed_domains = ["127.4.0.1"]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        raise RuntimeError("no such category")


class BadStart(_OnSite):
    name = "bad_start"
    allowed_domains = ["127.4.0.1"]

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.origins[0]}/")
        raise RuntimeError("start fails")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"case": "bad start", "url": response.url}


class BadPages(_OnSite):
    name = "bad_pages"
    allowed_domains = ["127.4.0.2"]

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.origins[1]}/")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        raise RuntimeError("parse fails")


class Endless(_OnSite):
    """Ends itself after some pages; until then its ``start`` never ends."""

    name = "endless"
    allowed_domains = ["127.4.0.3"]

    async def start(self) -> AsyncIterator[Any]:
        number = 0
        while True:
            number += 1
            yield Request(f"{self.origins[2]}/{number}")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"case": "endless", "url": response.url}
        if response.url.endswith("/3"):
            raise CloseSpider("seen enough")

    def closed(self, reason: str) -> None:
        self.logger.info("closed: %s", reason)


class Limited(_OnSite):
    """Ends after three pages."""

    name = "limited"
    allowed_domains = ["127.4.0.1"]
    custom_settings = {"CLOSESPIDER_PAGECOUNT": 3, "DOWNLOAD_DELAY": 0.01, "CONCURRENT_REQUESTS": 1}

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.origins[0]}/")

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"case": "limited", "url": response.url}
        yield Links(response, response.css("a::attr(href)").getall())


class SameDomain(_OnSite):
    name = "same_domain"
    allowed_domains = ["*.127.4.0.1.", "other.example"]


class NoDomain(_OnSite):
    name = "no_domain"


class Refused(_OnSite):
    name = "refused"
    allowed_domains = ["127.4.0.1"]
    custom_settings = {"DOWNLOAD_DELAY": 1, "LOG_LEVEL": "ERROR", "SCHEDULER": "x"}


class Marked:
    """A pipeline of one spider; it is told the spider as older ones are."""

    def process_item(self, item: Any, spider: Spider) -> Any:
        item["marked"] = spider.name
        return item


class Named:
    """A pipeline of the project."""

    def process_item(self, item: Any, spider: Spider) -> Any:
        if isinstance(item, dict):
            if item.get("case") == "dropped":
                raise DropItem
            item["spider"] = spider.name
        return item
