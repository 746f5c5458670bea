"""A project for tests of ``scrapy workers``: spiders that stand in for workers, and tell of themselves as workers do.

With ``FRONTIER_BACKEND=memory`` each crawls by itself; what it tells goes to the Redis of ``REDIS_URL``.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

from redis import Redis
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.settings import BaseSettings

from crawlproject.addon import FrontierAddon

ADDONS = {"tests.commands.worker_project.StandInAddon": 300}
COMMANDS_MODULE = "crawlproject.commands"
SPIDER_MODULES = ["tests.commands.worker_project"]
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
#: Pages that each worker says it has fetched.
PAGES = 7


class StandInAddon(FrontierAddon):
    """The add-on with a backend that needs no Redis, whatever the command line says."""

    def update_settings(self, settings: BaseSettings) -> None:
        settings.set("FRONTIER_BACKEND", "memory", "cmdline")
        super().update_settings(settings)


class Waiting(Spider):
    """Tells of itself, yields an item and waits until it is stopped; ``ends``: it ends by itself."""

    name = "waiting"

    def __init__(self, ends: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._ends = bool(ends)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Waiting:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        yield {"pid": os.getpid()}
        figures = {"host": socket.gethostname(), "pid": os.getpid(), "pages": PAGES, "urls": 3, "servers": 2}
        client = Redis.from_url(self.settings["REDIS_URL"])
        client.hset("{waiting}:info", f"worker {os.getpid()}", json.dumps({**figures, "sessions": 1, "partitions": 4}))
        client.close()

    def idle(self) -> None:
        if not self._ends:
            raise DontCloseSpider


class Closing(Waiting):
    """Ends at once, for ``reason``."""

    name = "closing"

    async def start(self) -> AsyncIterator[Any]:
        yield {}

    def idle(self) -> None:
        raise CloseSpider(self.reason)  # type: ignore[attr-defined]


class Broken(Spider):
    """Does not even open."""

    name = "broken"

    def __init__(self, **arguments: Any) -> None:
        raise ValueError("this spider cannot be made")
