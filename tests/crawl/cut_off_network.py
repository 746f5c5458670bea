"""Extensions that break the crawl's own machine: its network, and its limit on open files."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable
from typing import Any, Self

from scrapy.crawler import Crawler

from crawlproject.download import outages


class NoNetwork:
    """From the connection ``after`` on, the next ``count`` connections fail with the error ``code``.

    Setting ``TEST_NO_NETWORK``: these three, addresses to which all connections fail, if any (``dead``), and an
    address, if only connections to it are counted (``of``).
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        setting = crawler.settings.getdict("TEST_NO_NETWORK")
        after, count, dead = setting["after"], setting["count"], setting.get("dead", ())
        of = setting.get("of")
        error = getattr(errno, setting["code"])
        outages.PAUSE = outages.NO_FILES_PAUSE = 0.02
        loop_class: Any = asyncio.selector_events.BaseSelectorEventLoop
        connect = loop_class.sock_connect
        begun = 0

        def sock_connect(loop: Any, sock: Any, address: Any) -> Awaitable[None]:
            nonlocal begun
            begun += of in (None, address[0])
            if of not in (None, address[0]):
                return connect(loop, sock, address)  # type: ignore[no-any-return]
            if after < begun <= after + count or address[0] in dead:
                raise OSError(error, os.strerror(error))
            result: Awaitable[None] = connect(loop, sock, address)
            return result

        loop_class.sock_connect = sock_connect
        return cls()
