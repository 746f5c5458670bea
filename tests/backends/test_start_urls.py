"""The order of reading, queueing and removing start URLs; by hand, without Redis."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from scrapy import Request, Spider
from scrapy.settings import Settings

from crawlproject.backends import start_urls
from crawlproject.backends.start_urls import MAX_LOGGED, StartUrls
from crawlproject.options.redis import RedisOptions
from tests.backends.worker import crawler_of


class Old(Spider):
    """What it has in common with one of scrapy-redis."""

    name = "old"
    spider_idle_start_time = 0

    def make_request_from_data(self, data: bytes) -> Any:
        return [Request(url) for url in data.decode().split()]


class Key:
    """A list in Redis, the cuts that Redis has confirmed, and what was queued."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, elements: Sequence[bytes], **settings: Any) -> None:
        crawler = crawler_of(Old)
        options = RedisOptions.from_settings(Settings(settings))
        self.elements = list(elements)
        self.cuts: int | None = 0
        self.leaves = False
        self.is_running = True
        self.error: Exception | None = None
        self.queued: list[str] = []
        self.spider: Any = crawler.spider
        assert crawler.stats is not None
        self.stats = crawler.stats
        monkeypatch.setattr(start_urls, "engine_of", lambda _: self)
        self.reader = StartUrls(crawler, crawler.spider, self.commands, self, options)

    def confirmed(self, partition: int) -> int | None:
        return self.cuts

    def is_leaving(self, partition: int) -> bool:
        return self.leaves

    def goes_on(self) -> bool:
        return self.is_running

    def crawl(self, request: Request) -> None:
        self.queued.append(request.url)

    async def commands(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self.error is not None:
            raise self.error
        answers: list[Any] = []
        for name, _, *arguments in commands:
            if name == "LLEN":
                answers.append(len(self.elements))
            elif name == "LRANGE":
                answers.append(self.elements[arguments[0] : arguments[1] + 1])
            else:
                assert (name, arguments[0]) == ("LREM", 1)
                self.elements.remove(arguments[1])
                answers.append(1)
        return answers

    def move(self) -> bool:
        return asyncio.run(self.reader.move())


def urls(count: int) -> list[bytes]:
    return [b"http://a.example/%d" % number for number in range(count)]


def test_removed_when_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queued once, however often it is asked; then the next batch."""
    monkeypatch.setattr(start_urls, "BATCH", 2)
    key = Key(monkeypatch, urls(3))
    assert key.move()
    assert key.move()
    assert (len(key.queued), len(key.elements)) == (2, 3)
    key.cuts = 1
    assert key.move()
    assert (len(key.queued), len(key.elements)) == (3, 1)
    key.cuts = 2
    assert not key.move()
    assert key.elements == []
    assert [url.encode() for url in key.queued] == urls(3)


def test_lost_with_the_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who owns it reads; the others only know whether any wait."""
    key = Key(monkeypatch, urls(1))
    key.move()
    key.cuts = None
    assert key.move()
    assert key.elements == urls(1)
    key.cuts = 7
    key.move()
    assert len(key.queued) == 2
    key.cuts = 8
    assert not key.move()


def test_removed_before_the_partition_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the next owner would queue them again, and requests with ``dont_filter`` would be fetched twice."""
    monkeypatch.setattr(start_urls, "BATCH", 2)
    key = Key(monkeypatch, urls(3))
    key.move()
    key.leaves = True
    assert key.move()
    assert key.reader.are_pending
    key.cuts = 1
    assert key.move()
    assert not key.reader.are_pending
    assert (len(key.queued), key.elements) == (2, urls(3)[2:])
    assert key.move()
    assert len(key.queued) == 2


def test_repeated_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither lost nor queued twice."""
    key = Key(monkeypatch, urls(2))
    key.move()
    key.cuts = 1
    key.error = RedisConnectionError("away")
    with pytest.raises(RedisConnectionError):
        key.move()
    key.error = None
    assert not key.move()
    assert (len(key.queued), key.elements) == (2, [])


def test_key_that_becomes_another(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """One error; the crawl goes on without it, and with it when it is a list again."""
    key = Key(monkeypatch, urls(1))
    key.error = ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")
    assert not key.move()
    assert not key.move()
    assert caplog.text.count("REDIS_START_URLS_KEY='old:start_urls' is not a list") == 1
    key.error = None
    assert key.move()


def test_only_some_bad_ones_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    bad = [b"\xff", b"no address", b"", b"http://a.example/ two", *[b"bad %d" % number for number in range(200)]]
    monkeypatch.setattr(start_urls, "BATCH", 1_000)
    key = Key(monkeypatch, bad)
    for cut in range(9):
        key.cuts = cut
        key.move()
    assert key.stats.get_value("workers/start_urls/bad") == 204
    assert key.stats.get_value("workers/start_urls") is None
    assert key.queued == []
    assert caplog.text.count("Start URL cannot be used") == MAX_LOGGED
    assert key.elements == []
