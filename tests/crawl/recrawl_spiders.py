"""Spiders whose pages are fetched again."""

from __future__ import annotations

from typing import Any

from scrapy import FormRequest, Spider
from scrapy.http import Response

from crawlproject.spiders.web import WebSpider


class OrdinarySpider(Spider):
    """Ordinary requests: a start URL, links with all attributes of a request, a form."""

    name = "ordinary"

    def __init__(self, site: str, handles: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [site]
        if handles:
            self.handle_httpstatus_list = [int(handles)]

    def parse(self, response: Response) -> Any:
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(
                link,
                callback=self.parse_numbered,
                headers={"X-Number": str(number)},
                meta={"tag": "t"},
                cb_kwargs={"number": number},
            )
        yield FormRequest(response.urljoin("/form"), formdata={"a": "b"}, callback=self.ignore)

    def parse_numbered(self, response: Response, number: int) -> Any:
        yield {"url": response.url, "number": number, "tag": response.meta["tag"], "status": response.status}

    def ignore(self, response: Response) -> None:
        """Yields nothing."""


class FailingSpider(WebSpider):
    """Fails to parse if an argument says so."""

    name = "failing"
    fail = ""

    def parse(self, response: Response, **kwargs: Any) -> Any:
        if self.fail:
            raise ValueError("as told")
        return super().parse(response, **kwargs)
