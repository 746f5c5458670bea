"""Requests over a direct connection, without a crawl."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.connection import DirectConnection
from crawlproject.download.direct import Link
from crawlproject.download.request_head import destination
from crawlproject.download.timing import Timing
from crawlproject.download.transfer import Limits, Transfer


class Silent:
    """Signals of bodies that nobody receives."""

    def look(self) -> None:
        """Nothing to find."""

    def headers(self, *_: Any) -> None:
        """Nobody stops it."""

    def received(self, *_: Any) -> None:
        """Nobody stops it."""


async def fetch_directly(
    connection: DirectConnection,
    url: str,
    timing: Timing,
    on_lost: Callable[[], None],
    may_send: Callable[[], bool] = lambda: True,
) -> Response:
    """The answer to a GET."""
    request, opening = Request(url), connection._opening
    to = destination(request)
    assert to is not None
    link = Link(to.host, to.port, opening.ssl if to.is_https else None, opening.resolver, 10.0)
    budget = BodyBudget(1 << 24, lambda: None, lambda: None, set)
    transfer = Transfer(
        request,
        timing,
        budget.share(),
        Limits(0, 0, fails_on_loss=True),
        Silent(),  # type: ignore[arg-type]
        to=to,
        last=False,
        noted=partial(connection.noted, timing, on_lost),
        left=lambda: None,
    )
    await connection.fetch(transfer, link, budget, timing, 30.0, may_send)
    return transfer.response(address=connection.address, certificate=None)
