"""Callbacks, errbacks and components of every kind, for one page each; they do not depend on this project."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem, IgnoreRequest, StopDownload
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from twisted.internet.defer import Deferred

from tests.crawl.ordinary_spiders import SiteSpider


class KindsSpider(SiteSpider):
    """A page of each server, which yields items and requests; those of a dead link by the errback.

    ``kind``: the callback of the first server's page, then of the second's; ``failing``: the errbacks.
    """

    name = "kinds"

    def __init__(self, sites: str, kind: str = "generator", failing: str = "generator", **kwargs: Any) -> None:
        super().__init__(sites, **kwargs)
        self.kinds, self.failing = kind.split(","), failing.split(",")

    async def start(self) -> AsyncIterator[Any]:
        for number in range(max(len(self.kinds), len(self.failing))):
            kind = self.kinds[min(number, len(self.kinds) - 1)]
            yield self.ask(f"{number + 1}/", callback=getattr(self, f"as_{kind}"))

    def ask(self, place: str, **kwargs: Any) -> Request:
        failing = self.failing[min(int(place[0]), len(self.failing)) - 1]
        return self.request(place, **({"errback": getattr(self, f"failed_{failing}")} | kwargs))

    def near(self, url: str, path: str) -> str:
        """The place of a path on the server of ``url``."""
        return f"{self.sites.index(url[: url.index('/', 8)]) + 1}{path}"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield self.item(response)

    def item(self, response: Response, number: int = 0) -> dict[str, Any]:
        method = response.request.method if response.request is not None else None
        return {"url": response.url, "number": number, "method": method, "depth": response.meta.get("depth")}

    def outputs(self, response: Response) -> list[Any]:
        paths = ("/a", "/gone", "/a", "/moved", "/later", "/broken")
        asked = [self.ask(self.near(response.url, path)) for path in paths]
        posted = self.ask(self.near(response.url, "/p"), method="POST", body="x=1")
        return [self.item(response, 1), *asked[:3], None, self.item(response, 2), *asked[3:], posted]

    # callbacks

    def as_generator(self, response: Response) -> Iterator[Any]:
        yield from self.outputs(response)

    def as_list(self, response: Response) -> list[Any]:
        return self.outputs(response)

    def as_item(self, response: Response) -> dict[str, Any]:
        return self.item(response)

    def as_nothing(self, response: Response) -> None:
        pass

    async def as_coroutine(self, response: Response) -> list[Any]:
        await asyncio.sleep(0.01)
        return self.outputs(response)

    async def as_coroutine_of_one(self, response: Response) -> Any:
        return self.ask(self.near(response.url, "/a"))

    async def as_async_generator(self, response: Response) -> AsyncIterator[Any]:
        for output in self.outputs(response):
            yield output

    async def as_awaiting(self, response: Response) -> AsyncIterator[Any]:
        for output in self.outputs(response):
            yield output
            await asyncio.sleep(0.001)
        answer = await self.crawler.engine.download_async(self.request(self.near(response.url, "/b")))
        yield self.item(answer, 3)

    async def as_waiting_for_its_item(self, response: Response) -> AsyncIterator[Any]:
        scraped = asyncio.Event()

        def told(item: Any) -> None:
            scraped.set()

        self.crawler.signals.connect(told, signals.item_scraped)
        yield self.item(response, 1)
        await scraped.wait()
        yield self.item(response, 2)

    def as_raising(self, response: Response) -> Iterator[Any]:
        yield from self.outputs(response)
        raise ValueError("no")

    def as_raising_at_once(self, response: Response) -> Iterator[Any]:
        raise ValueError("no")

    async def as_raising_coroutine(self, response: Response) -> Any:
        raise ValueError("no")

    async def as_raising_async_generator(self, response: Response) -> AsyncIterator[Any]:
        yield self.item(response)
        await asyncio.sleep(0)
        raise ValueError("no")

    def as_closing(self, response: Response) -> Iterator[Any]:
        yield self.item(response)
        raise CloseSpider("enough")

    def as_ignoring(self, response: Response) -> Iterator[Any]:
        yield self.item(response)
        raise IgnoreRequest("no")

    def as_wrong(self, response: Response) -> int:
        return 7

    def as_many(self, response: Response) -> Iterator[Any]:
        for number in range(1000):
            yield self.ask(f"1/a#{number}")
        yield self.item(response)

    def as_blocking(self, response: Response) -> Iterator[Any]:
        for output in self.outputs(response):
            time.sleep(0.1)
            yield output

    def as_turning(self, response: Response) -> Iterator[Any]:
        """Many items, and how often the event loop has had its turn meanwhile."""
        turns = 0

        def turn() -> None:
            nonlocal turns
            turns += 1
            timer[0] = loop.call_soon(turn)

        loop = asyncio.get_running_loop()
        timer = [loop.call_soon(turn)]
        for number in range(1000):
            yield self.item(response, number)
        timer[0].cancel()
        yield {"url": response.url, "turns": turns}

    # errbacks

    def again(self, request: Request) -> str:
        return self.near(request.url, f"/c?{urlsplit(request.url).path[1:]}")

    def failed_generator(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "error": type(failure.value).__name__}
        yield self.request(self.again(failure.request), errback=None)

    def failed_nothing(self, failure: Any) -> None:
        pass

    def failed_failure(self, failure: Any) -> Any:
        return failure

    def failed_raising(self, failure: Any) -> Any:
        raise KeyError("in the errback")

    def failed_raising_later(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "error": type(failure.value).__name__}
        raise KeyError("in the errback")

    async def failed_coroutine(self, failure: Any) -> list[Any]:
        await asyncio.sleep(0)
        return [{"url": failure.request.url, "error": type(failure.value).__name__}]

    async def failed_async_generator(self, failure: Any) -> AsyncIterator[Any]:
        yield {"url": failure.request.url, "error": type(failure.value).__name__}
        await asyncio.sleep(0)
        yield self.request(self.again(failure.request), errback=None)


class Marking:
    """A downloader middleware; subclasses answer, redirect, drop, fail and recover, each in one place."""

    def process_request(self, request: Request) -> Any:
        return None

    def process_response(self, request: Request, response: Response) -> Any:
        return response.replace(flags=[*response.flags, "seen"])


class Async(Marking):
    async def process_request(self, request: Request) -> Any:
        await asyncio.sleep(0)
        if request.url.endswith("/gone"):
            return Response(request.url, body=b"made")
        return None

    async def process_response(self, request: Request, response: Response) -> Any:
        await asyncio.sleep(0)
        return super().process_response(request, response)


class Failing(Marking):
    def process_request(self, request: Request) -> Any:
        if request.url.endswith("/gone"):
            raise IgnoreRequest("not this")
        if request.url.endswith("/moved"):
            raise ValueError("no")
        return request.replace(url=f"{request.url}?2") if request.url.endswith("/b") else None


class FailingLater(Marking):
    def process_response(self, request: Request, response: Response) -> Any:
        if request.url.endswith("/a"):
            raise ValueError("no")
        return response


class Recovering(Marking):
    async def process_exception(self, request: Request, exception: Exception) -> Any:
        if request.url.endswith("/broken"):
            return Response(request.url, body=b"recovered")
        return None


class OldStyle:
    """Methods that want the spider."""

    def process_request(self, request: Request, spider: Any) -> None:
        spider.crawler.stats.inc_value("old/requests")

    def process_response(self, request: Request, response: Response, spider: Any) -> Response:
        spider.crawler.stats.inc_value("old/responses")
        return response


class Seeing(BaseSpiderMiddleware):
    """A spider middleware that looks at one output at a time."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        request.meta["seen"] = True
        return None if request.url.endswith("/later") else request

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        return None if item.get("number") == 2 else {**item, "seen": True}


class Generating:
    """One that sees all outputs, and adds some."""

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        yield {"url": response.url, "number": -1}
        async for output in result:
            yield output
        await asyncio.sleep(0)
        yield {"url": response.url, "number": -2}


class Breaking(Generating):
    """One that fails amid the outputs."""

    async def process_spider_output(self, response: Response, result: Any) -> AsyncIterator[Any]:
        async for output in result:
            yield output
            if isinstance(output, dict):
                raise ValueError("no")


class Catching(Generating):
    """One that recovers what fails nearer to the spider."""

    def process_spider_exception(self, response: Response, exception: Exception) -> Any:
        found: list[Any] = [{"url": response.url, "caught": repr(exception)}]
        return found if "caught" in response.url else [*found, Request(f"{response.url}?caught")]


class Refusing:
    def process_spider_input(self, response: Response) -> None:
        if response.url.endswith("/a"):
            raise ValueError("no")


class Piping:
    """A pipeline that is done at once."""

    def process_item(self, item: Any) -> Any:
        return {**item, "piped": True}


class AsyncPiping(Piping):
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.01)
        if item.get("number") == 1:
            raise DropItem("no")
        return {**item, "piped": True}


class OldPiping:
    def process_item(self, item: Any, spider: Any) -> Any:
        return {**item, "by": spider.name}


class Dropping(Piping):
    def process_item(self, item: Any) -> Any:
        if item.get("number") == 1:
            raise DropItem("no")
        if item.get("number") == 2:
            raise ValueError("no")
        return item


class Closing(Piping):
    def process_item(self, item: Any) -> Any:
        raise CloseSpider("of a pipeline")


class Fetching:
    """A pipeline that fetches a page of its own for each item."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Fetching:
        return cls(crawler)

    async def process_item(self, item: dict[str, Any]) -> dict[str, Any]:
        spider = self.crawler.spider
        assert isinstance(spider, SiteSpider)
        answer = await self.crawler.engine.download_async(spider.request("1/b"))
        return {**item, "fetched": answer.status}


class Receiving:
    """An extension with receivers: ``RECEIVED``, kind -> names of signals."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.receivers = []
        for kind, names in crawler.settings["RECEIVED"].items():
            for name in names:
                receiver = getattr(self, kind)(name)
                self.receivers.append(receiver)  # signals hold them weakly
                crawler.signals.connect(receiver, getattr(signals, name))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Receiving:
        return cls(crawler)

    def count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"told/{name}")

    def plain(self, name: str) -> Any:
        return lambda: self.count(name)

    def asynchronous(self, name: str) -> Any:
        async def told(**values: Any) -> None:
            await asyncio.sleep(0)
            self.count(f"{name}/{','.join(sorted(values))}")

        return told

    def raising(self, name: str) -> Any:
        def told() -> None:
            self.count(name)
            raise ValueError("no")

        return told

    def raising_later(self, name: str) -> Any:
        async def told() -> None:
            await asyncio.sleep(0)
            self.count(name)
            raise ValueError("no")

        return told

    def ignoring(self, name: str) -> Any:
        def told(request: Request) -> None:
            self.count(name)
            if request.url.endswith("/a"):
                raise IgnoreRequest

        return told

    def stopping(self, name: str) -> Any:
        def told() -> None:
            raise StopDownload(fail=False)

        return told

    def lasting(self, name: str) -> Any:
        times = iter(range(3))

        def told() -> None:
            if next(times, None) is not None:
                raise DontCloseSpider

        return told


class Diary(logging.Handler):
    """An extension that writes what happens to each URL, in order: signals, lines of the engine's and scraper's log."""

    SIGNALS = (
        "request_scheduled",
        "request_dropped",
        "request_reached_downloader",
        "response_downloaded",
        "request_left_downloader",
        "response_received",
        "item_scraped",
        "item_dropped",
        "item_error",
        "spider_error",
    )

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(logging.DEBUG)
        self.crawler = crawler
        self.events: list[str] = []
        self.receivers = [self.receiver(name) for name in self.SIGNALS]
        for name in ("engine", "scraper"):
            log = logging.getLogger(f"scrapy.core.{name}")
            log.setLevel(logging.DEBUG)
            log.addHandler(self)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Diary:
        return cls(crawler)

    def receiver(self, name: str) -> Any:
        def told(**values: Any) -> None:
            about = values.get("item") or values.get("request") or values.get("response")
            url = about["url"] if isinstance(about, dict) else getattr(about, "url", about)
            number = about.get("number", "") if isinstance(about, dict) else ""
            self.events.append(f"{url} signal {name} {number}")

        self.crawler.signals.connect(told, getattr(signals, name))
        return told

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().replace("\n", " ")
        urls = [word.strip("<>'\"(),") for word in text.split() if "http://" in word]
        self.events.append(f"{urls[0] if urls else '-'} log {record.levelname} {text[:200]}")

    def closed(self) -> None:
        self.crawler.stats.set_value("diary", self.events)


class NeverEnding:
    """A pipeline that never ends with the second item."""

    async def process_item(self, item: Any) -> Any:
        if item.get("number") == 2:
            await asyncio.get_running_loop().create_future()
        return item


class OwnDownloader(Downloader):
    """A downloader of a project."""

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        self.crawler.stats.inc_value("own/downloader")
        return super().fetch(request)


class OwnProcessor(ItemPipelineManager):
    """What a project has instead of Scrapy's pipelines."""

    async def process_item_async(self, item: Any) -> Any:
        await asyncio.sleep(0)
        self.crawler.stats.inc_value("own/processor")
        return {**item, "processed": True}
