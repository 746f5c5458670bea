"""A spider that tells what its requests carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from crawlproject.spiders.site import SiteSpider


class Rendered(SiteSpider):
    """Yields the table ``render`` of each page."""

    name = "rendered"

    def __init__(self, sites: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "render": response.meta["render"]}
        yield from super().parse(response)
