"""Spiders that report each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request, Spider

from crawlproject.discovery.page_reading import is_html, read_page
from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure


class OddSpider(Spider):
    """Requests /bad from each of ``roots``; an item has the answer or the failure."""

    name = "odd"

    async def start(self) -> AsyncIterator[Request]:
        for root in self.roots.split(","):
            meta = {"handle_httpstatus_all": True}
            yield Request(f"{root}/bad", self.parse, errback=self.failed, meta=meta)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {
            "host": urlsplit(response.url).netloc,
            "status": response.status,
            "body": response.body.decode("latin-1"),
            "flags": response.flags,
        }

    def failed(self, failure: Failure) -> Iterator[dict[str, Any]]:
        yield {"host": urlsplit(failure.request.url).netloc, "error": failure.type.__name__, "why": str(failure.value)}


class FilesSpider(Spider):
    """Follows ``links``, then yields ``requests`` that are read by type as links are; one item per answer."""

    name = "files"

    async def start(self) -> AsyncIterator[Any]:
        """All links, and the first request."""
        yield Links(None, self.links.split(","))

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        for url in self.requests.split(","):
            yield Request(url, self.parse_file, meta={"links_types": True}, priority=-1)

    def parse_file(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"file": response.url}


class PagesSpider(Spider):
    """Requests ``pages``; one item per answer."""

    name = "pages"

    async def start(self) -> AsyncIterator[Request]:
        for url in self.pages.split(","):
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "size": len(response.body)}


class ReadingSpider(PagesSpider):
    """Requests ``pages``; an item has what this project reads of each as a page."""

    name = "reading"

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        read = read_page(response, with_text=True) if is_html(response) else None
        yield {
            "url": response.url,
            "title": "" if read is None else read.title or "",
            "hrefs": [] if read is None else read.hrefs,
            "words": response.text.split() if read is None else (read.text or "").split(),
            "is_page": read is not None,
        }
