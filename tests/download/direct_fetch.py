"""Requests over a connection, without a crawl."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.request_head import Proxy, destination
from crawlproject.download.session_connection import Connection
from crawlproject.download.timing import Timing
from crawlproject.download.transfer import Limits, Transfer


class SystemNames:
    """Resolves names as the system does."""

    async def resolve(self, host: str) -> tuple[str, ...]:
        """The addresses of ``host``."""
        found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        return tuple(each[4][0] for each in found)


class Silent:
    """Signals of bodies that nobody receives."""

    def look(self) -> None:
        """Nothing to find."""

    def headers(self, *_: Any) -> None:
        """Nobody stops it."""

    def received(self, *_: Any) -> None:
        """Nobody stops it."""


async def fetch_directly(
    connection: Connection,
    url: str,
    timing: Timing,
    on_lost: Callable[[], None],
    may_send: Callable[[], bool] = lambda: True,
    via: Proxy | None = None,
) -> Response:
    """The answer to a GET."""
    request = Request(url)
    budget = BodyBudget(1 << 24, lambda: None, lambda: None, set)
    transfer = Transfer(
        request,
        timing,
        budget.share(),
        Limits(0, 0, fails_on_loss=True),
        Silent(),  # type: ignore[arg-type]
        to=destination(url),
        via=via,
        last=False,
        noted=partial(connection.noted, timing, on_lost),
        left=lambda: None,
    )
    await connection.fetch(transfer, budget, timing, 30.0, may_send)
    return transfer.response(address=connection.address, certificate=None)
