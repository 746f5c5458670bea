"""Ordinary spiders that use the engine, ``response.meta`` or settings; they do not depend on this project."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.engine import get_engine_status

from tests.crawl.ordinary_spiders import SiteSpider

MEASURED = (
    "dns_time",
    "connect_time",
    "tls_time",
    "response_time",
    "connection_reused",
    "connection_requests",
    "download_latency",
)


class MeasuringSpider(SiteSpider):
    """Two pages of each server, one after the other, with their measured times."""

    name = "measuring"

    async def start(self) -> AsyncIterator[Any]:
        for server in range(1, len(self.sites) + 1):
            yield self.request(f"{server}/first", callback=self.first, cb_kwargs={"server": server})

    def first(self, response: Response, server: int) -> Any:
        yield from self.measured(response)
        yield self.request(f"{server}/second", callback=self.measured)

    def measured(self, response: Response) -> Any:
        yield {
            "url": response.url,
            "meta": {name: response.meta[name] for name in MEASURED if name in response.meta},
            "certificate": response.certificate is not None,
        }


class EngineSpider(SiteSpider):
    """Looks for what wakes the engine, and at what Scrapy's telnet console shows of it."""

    name = "engine"

    def parse(self, response: Response, **kwargs: Any) -> Any:
        slot = getattr(self.crawler.engine, "_slot", None)
        schedule = getattr(getattr(slot, "nextcall", None), "schedule", None)
        status = dict(get_engine_status(self.crawler.engine))
        broken = [name for name, now in status.items() if "exception" in str(now)]
        yield {"callable": callable(schedule), "broken": broken}

    async def start(self) -> AsyncIterator[Any]:
        yield self.request("1/")


class InlineSpider(SiteSpider):
    """Follows the links of its first pages; downloads those with "inline" in their URL within the callback."""

    name = "inline"

    def __init__(self, sites: str, start: str = "1/", **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.places = start.split(",")

    async def start(self) -> AsyncIterator[Any]:
        for place in self.places:
            yield self.request(place)

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:
        for link in response.css("a::attr(href)").getall():
            if "inline" in link:
                yield await self.download(response.urljoin(link))
            else:
                yield response.follow(link, callback=self.note)

    async def download(self, url: str) -> dict[str, Any]:
        try:
            answer = await self.crawler.engine.download_async(Request(url))
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes an item
            return {"case": "inline", "url": url, "error": repr(error)}
        return {"case": "inline", "url": answer.url, "status": answer.status, "text": answer.text}

    def note(self, response: Response) -> Any:
        yield {"case": "page", "url": response.url}


class FilesSpider(SiteSpider):
    """One item with five files on another server, for Scrapy's pipeline."""

    name = "files"

    async def start(self) -> AsyncIterator[Any]:
        yield self.request("1/")

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url, "file_urls": [self.url(f"2/{number}") for number in range(5)]}


class PostingSpider(SiteSpider):
    """Eight items of a page, for ``PostingPipeline``."""

    name = "posting"

    async def start(self) -> AsyncIterator[Any]:
        yield self.request("1/")

    def parse(self, response: Response, **kwargs: Any) -> Any:
        for number in range(8):
            yield {"number": number}


class PostingPipeline:
    """Sends each item to an API, the second server, and notes its answer."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        spider = self.crawler.spider
        assert isinstance(spider, SiteSpider)
        assert self.crawler.engine is not None
        request = spider.request("2/items", method="POST", body=str(item["number"]))
        answer = await self.crawler.engine.download_async(request)
        return {**item, "status": answer.status}


class ProxySpider(SiteSpider):
    """Reaches servers of any name through a proxy, its last site; ``hosts`` are their origins."""

    name = "proxy"

    def __init__(self, sites: str, hosts: str, count: str = "1", **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.hosts = hosts.split(",")
        self.count = int(count)

    async def start(self) -> AsyncIterator[Any]:
        for number in range(self.count):
            for host in self.hosts:
                yield Request(f"{host}/{number}", meta={"proxy": self.sites[-1]})

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url, "text": response.text}


class RotatingSpider(SiteSpider):
    """Tries pages of two servers by one proxy after another, the last of which is its site; the first by that one."""

    name = "rotating"

    def __init__(self, sites: str, dead: str, **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.proxies = [*dead.split(","), self.sites[0]]

    async def start(self) -> AsyncIterator[Any]:
        yield self.through(-1, "http://a.test/0")
        for page in ("http://a.test/1", "http://a.test/2", "http://b.test/1"):
            yield self.through(0, page)

    def through(self, number: int, url: str) -> Request:
        meta = {"proxy": self.proxies[number], "dont_retry": True}
        return Request(url, errback=self.failed, meta=meta, cb_kwargs={"number": number}, dont_filter=True)

    def parse(self, response: Response, number: int) -> Any:
        yield {"url": response.url}

    def failed(self, failure: Any) -> Any:
        request = failure.request
        if request.cb_kwargs["number"] + 1 < len(self.proxies):
            yield self.through(request.cb_kwargs["number"] + 1, request.url)
