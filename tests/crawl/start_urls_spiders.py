"""Spiders whose start URLs come from Redis: of this project, and of scrapy-redis without any change."""

from __future__ import annotations

from typing import Any

from scrapy import Spider
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider


class PushedSpider(Spider):
    """Has no start URLs of its own."""

    name = "pushed"

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url, "meta": response.meta.get("mark"), "method": response.request.method}
        yield from response.follow_all(css="a")


class OldSpider(RedisSpider):  # type: ignore[misc]  # no types
    """As scrapy-redis's documentation shows it."""

    name = "old"

    def parse(self, response: Response, **kwargs: Any) -> Any:
        yield {"url": response.url, "meta": response.meta.get("mark"), "method": response.request.method}
        yield from response.follow_all(css="a")


class OldRulesSpider(RedisCrawlSpider):  # type: ignore[misc]
    """With rules."""

    name = "old_rules"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_page(self, response: Response) -> Any:
        yield {"url": response.url}
