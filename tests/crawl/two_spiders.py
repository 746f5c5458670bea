"""Two spiders, and one that is for no domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy import Spider
from scrapy.http import Response


class One(Spider):
    name = "one"
    allowed_domains = ["127.4.0.1"]

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url}


class Two(One):
    name = "two"
    allowed_domains = ["127.4.0.2"]


class NoDomain(Spider):
    name = "none"
