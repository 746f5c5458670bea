"""Spiders whose start URLs come from Redis: of this project, and of scrapy-redis without any change."""

from __future__ import annotations

from typing import Any

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider, RedisSpider

from crawlproject.backends import redis
from crawlproject.storage.errors import StoreError


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


class LateSpider(PushedSpider):
    """Redis becomes unusable between the look at the crawl and the start of the worker."""

    name = "late"

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> LateSpider:
        def refuse(*_: object) -> str:
            raise StoreError("REDIS_URL=redis://a", "has gone")

        redis.join_crawl = refuse  # in this process only
        return super().from_crawler(crawler, *args, **kwargs)
