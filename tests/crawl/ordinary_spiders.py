"""Ordinary spiders: they do not depend on this project."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from scrapy import FormRequest, Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class SiteSpider(Spider):
    """Gets the origins of the servers to crawl as an argument."""

    name = "site"

    def __init__(self, sites: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sites = sites.split(",")

    def url(self, place: str) -> str:
        """The URL of ``"1/path"``."""
        return self.sites[int(place[0]) - 1] + place[1:]

    def request(self, place: str, **kwargs: Any) -> Request:
        """A request for ``"1/path"``."""
        return Request(self.url(place), **kwargs)

    def parse(self, response: Response, **kwargs: Any) -> Any:
        """The page's address, and its links."""
        yield {"url": response.url}
        yield from response.follow_all(css="a")


class StartUrlsSpider(SiteSpider):
    """The simplest: ``start_urls`` and links."""

    name = "start_urls"

    def __init__(self, sites: str, start: str = "1/", **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.start_urls = [self.url(place) for place in start.split(",")]


class RulesSpider(CrawlSpider):
    """Follows lists, takes items, leaves the rest."""

    name = "rules"
    rules = (
        Rule(LinkExtractor(allow="/list", deny="/list/secret"), follow=True),
        Rule(LinkExtractor(allow="/item"), callback="parse_item", cb_kwargs={"kind": "item"}, errback="failed"),
    )

    def __init__(self, sites: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{site}/" for site in sites.split(",")]

    def parse_start_url(self, response: Response, **kwargs: Any) -> Any:
        return {"case": "start", "url": response.url}

    def parse_item(self, response: Response, kind: str) -> Any:
        yield {"case": kind, "url": response.url, "text": response.css("title::text").get()}

    def failed(self, failure: Any) -> Any:
        yield {"case": "failed", "url": failure.request.url}


class EverydaySpider(SiteSpider):
    """Many common practices of spiders, each a separate case, in one crawl."""

    name = "everyday"

    async def start(self) -> AsyncIterator[Any]:
        for requests in (self.retries, self.redirects, self.sessions, self.callbacks, self.elsewhere):
            for request in requests():
                yield request

    def case(self, case: str, place: str, **kwargs: Any) -> Request:
        kwargs = {"callback": self.page, "errback": self.failed, "cb_kwargs": {"case": case}} | kwargs
        return self.request(place, **kwargs)

    def page(self, response: Response, case: str) -> Any:
        yield {
            "case": case,
            "url": response.url,
            "status": response.status,
            "text": response.text,
            "type": type(response).__name__,
            "address": str(response.ip_address),
            "protocol": response.protocol,
            "meta": {
                name: response.meta.get(name) for name in ("depth", "retry_times", "redirect_times", "download_slot")
            },
        }

    def failed(self, failure: Any) -> Any:
        request = failure.request
        yield {"case": request.cb_kwargs["case"], "url": request.url, "error": type(failure.value).__name__}

    def retries(self) -> Iterator[Request]:
        yield self.case("retry", "1/twice")
        yield self.case("retry", "1/never")
        yield self.case("retry", "7/reset")
        yield self.case("retry", "8/dead")
        yield self.case("slow", "1/slow", meta={"download_timeout": 0.2, "dont_retry": True})

    def redirects(self) -> Iterator[Request]:
        for place in ("2/moved", "2/found", "2/refresh", "2/back", "3/seen", "2/spelling", "2/loop"):
            yield self.case("redirect", place)
        for place in ("2/wait", "2/itself"):
            yield self.case("wait", place, dont_filter=True)
        for place in ("2/sent", "2/posted"):
            yield self.case("wait", place, method="POST", body="x")
        yield self.case("fragment", "3/part#two")
        yield self.case("fragment", "2/moved/part#two")
        yield self.case("wall", "9/wall")
        yield self.case("please wait", "2/please-wait")
        yield self.case("please wait", "2/cookie-wall")
        yield self.case("please wait", "2/login-wall")
        for number in range(5):
            yield self.case("please wait", f"1/always-waits{number}")
        yield self.case("kept", "2/kept", meta={"dont_redirect": True, "handle_httpstatus_list": [302]})

    def sessions(self) -> Iterator[Request]:
        yield self.request("4/login", callback=self.logged_in)
        for word in ("ink", "pen", "ink"):
            yield FormRequest(
                self.url("5/search"), formdata={"q": word}, callback=self.page, cb_kwargs={"case": "form"}
            )
        yield self.case("bound", "5/bound", meta={"bindaddress": "127.7.7.7"})
        yield self.case("bound", "5/bound/port", meta={"bindaddress": ("127.7.7.8", 0)})
        yield self.case("unbound", "5/unbound")
        yield self.case("empty post", "5/empty", method="POST")
        yield self.case("head", "5/head", method="HEAD")

    def logged_in(self, response: Response) -> Any:
        yield FormRequest.from_response(
            response, formdata={"user": "me"}, callback=self.page, cb_kwargs={"case": "login"}
        )
        yield self.case("cookie", "4/private")
        yield self.case("copied meta", "3/copied", meta=response.meta)
        yield self.case("own meta", "9/own", meta={"quality": "high"})

    def callbacks(self) -> Iterator[Request]:
        yield self.case("again", "6/again")
        yield self.case("again", "6/again", dont_filter=True)
        yield self.case("again", "6/again")
        yield self.case("missing", "6/missing", meta={"handle_httpstatus_list": [404]})
        yield self.case("gone", "6/gone")
        yield self.case("silent", "6/silent", callback=self.nothing)
        yield self.case("async", "6/async", callback=self.waits)
        yield self.case("async", "6/async/list", callback=self.waits_and_returns)
        yield self.case("raises", "6/raises", callback=self.raises)

    def nothing(self, response: Response, case: str) -> None:
        """Yields nothing."""

    async def waits(self, response: Response, case: str) -> AsyncIterator[Any]:
        await asyncio.sleep(0.01)
        yield {"case": case, "url": response.url}
        yield self.case(case, "6/async/next")

    async def waits_and_returns(self, response: Response, case: str) -> list[Any]:
        await asyncio.sleep(0)
        return [{"case": case, "url": response.url}]

    def raises(self, response: Response, case: str) -> Any:
        yield {"case": case, "url": response.url}
        raise ValueError("a bug of the spider")

    def elsewhere(self) -> Iterator[Request]:
        for url in ("data:,hello", "data:,world", f"file://{__file__}"):
            yield Request(url, callback=self.local, errback=self.failed, cb_kwargs={"case": "local"})
        for case, url in (
            ("refused", "http://127.4.0.99:9/"),
            ("unsupported", "unheard-of://server/"),
            ("no host", "http://"),
        ):
            yield Request(url, errback=self.failed, cb_kwargs={"case": case}, meta={"dont_retry": True})

    def local(self, response: Response, case: str) -> Any:
        yield {"case": case, "url": response.url, "length": len(response.body)}


class LazySpider(SiteSpider):
    """Yields its 30 requests and 3 items one by one, waiting in between."""

    name = "lazy"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(30):
            yield self.request(f"{number % 3 + 1}/{number}")
            await asyncio.sleep(0)
            if number % 10 == 0:
                yield {"url": f"item {number}"}
                await asyncio.sleep(0.05)


class PatientSpider(LazySpider):
    """Yields its requests when the scheduler is empty, as in Scrapy's documentation."""

    name = "patient"

    async def start(self) -> AsyncIterator[Any]:
        async for output in super().start():
            if self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            yield output


class ToldSpider(StartUrlsSpider):
    """Follows all links; wants to know whenever nothing is queued."""

    name = "told"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.nothing_queued, signals.scheduler_empty)
        return spider

    def nothing_queued(self) -> None:
        """It does nothing with it."""


class SpellingsSpider(SiteSpider):
    """Requests one page in many spellings."""

    name = "spellings"

    async def start(self) -> AsyncIterator[Any]:
        for spelling in ("/~me?a=1", "/%7Eme?a=1", "/./~me?a=1&utm_source=x", "/~me?a=1#top", "/x/../~me?a=1"):
            yield self.request(f"1{spelling}")
        yield self.request("1/other")


class FencedSpider(StartUrlsSpider):
    """Stays on its first server."""

    name = "fenced"
    allowed_domains = ["127.4.0.1"]
