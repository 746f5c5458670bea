"""A spider and a middleware with which URLs end in all ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from crawlproject.requests.meta import KEEP
from crawlproject.spiders.web import WebSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

#: Nobody listens there; the second one is given up because of its robots.txt.
CLOSED, DEAD = "http://127.5.9.9:1", "http://127.5.9.8:1"


class FateSpider(WebSpider):
    """Follows links, and yields some requests; ``slow``: the root of a server that never answers."""

    name = "fates"

    def __init__(self, slow: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.slow = slow

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        path = urlsplit(response.url).path
        if path == "/crash":
            raise ZeroDivisionError
        if path == "/kept":
            response.meta[KEEP] = True
            return
        yield from super().parse(response, **kwargs)
        if path != "/" or response.meta.get("depth"):
            return
        yield self.request(f"{self.slow}/", meta={"download_timeout": 0.5})
        yield self.request(response.urljoin("/by-proxy"), meta={"proxy": CLOSED})
        yield self.request("http://denied.example/request")
        yield self.request("http://offsite.example/request")
        yield self.request("http:?nowhere")
        yield self.request(f"{CLOSED}/request", meta={"dont_obey_robotstxt": True})
        yield self.request(f"{DEAD}/request")
        yield self.request("http://nowhere.invalid/request")

    def request(self, url: str, **kwargs: Any) -> Request:
        """One whose failure is expected."""
        return Request(url, callback=self.parse, errback=self.failed, **kwargs)

    def failed(self, failure: Any) -> None:
        """Called by Scrapy."""


class Meddler:
    """A middleware of a project."""

    def process_request(self, request: Request) -> Request | None:
        """Refuses, replaces, and fails."""
        path = urlsplit(request.url).path
        if path == "/ignored":
            raise IgnoreRequest
        if path == "/error":
            raise RuntimeError
        return request.replace(url=request.url + "-instead") if path == "/replaced" else None
