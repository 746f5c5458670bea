"""A running frontier that is connected with nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from crawlproject.backends.protocol import Backend, Host
from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.frontier import Dispatcher
from crawlproject.frontier.live_limits import LiveLimits
from crawlproject.urls.fates import Fates

#: Of a backend that asks nothing of its crawl.
NO_HOST = Host(lambda: None, lambda _: iter(()), lambda _: None, lambda: None, Fates(), lambda: None)


def unconnected(dispatcher: Dispatcher | None = None) -> CrawlFrontier:
    """The frontier of ``dispatcher``, or of none."""
    seen = SimpleNamespace(use_store=lambda _: None)
    store = Backend(*cast("Any", (None, None, None, seen)), NO_HOST)
    given = dispatcher or cast("Any", SimpleNamespace(frontier=SimpleNamespace(servers=()), max_sessions=1))
    intake = cast("Any", None)
    return CrawlFrontier(
        given, intake, store, lambda: None, lambda: None, lambda: 0, Fates(), LiveLimits({}), by_ip=False
    )
