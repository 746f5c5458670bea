"""Requests over a connection, without a crawl; tests in an event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from ipaddress import ip_network
from typing import Any

from scrapy import Request
from scrapy.http import Response

from crawlproject.download.address_guard import AddressGuard
from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.connection import Connection
from crawlproject.download.opening import Opening
from crawlproject.download.request_head import Proxy, Sent, destination
from crawlproject.download.timing import Timing
from crawlproject.download.transfer import Limits, Transfer
from tests.crawl.scripted_site import tls_context

GUARD = AddressGuard([ip_network("127.0.0.0/8")])


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own, for at most a minute."""

    @wraps(test)
    def run(**kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**kwargs), 60))

    return run


async def resolved(host: str) -> tuple[str, ...]:
    """The addresses of ``host``, as the system finds them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    return tuple(each[4][0] for each in found)


@asynccontextmanager
async def serving(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
    *,
    tls: bool = False,
    on_lost: Callable[[Connection], None] = lambda _: None,
    on_unsolicited: Callable[[], None] = lambda: None,
) -> AsyncIterator[tuple[Connection, str]]:
    """A connection to a server of loopback, and its root; any certificate will do."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls_context() if tls else None)
    connection = Connection(Opening(trusting, resolved, GUARD, on_unsolicited=on_unsolicited), None, on_lost)
    try:
        yield connection, f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await connection.close()
        await asyncio.sleep(0)
        server.close()


class Silent:
    """Signals of bodies that nobody receives."""

    def headers(self, *_: Any) -> None:
        """Nobody stops it."""

    def received(self, *_: Any) -> None:
        """Nobody stops it."""


async def fetch_directly(
    connection: Connection,
    url: str,
    timing: Timing,
    may_send: Callable[[], bool] = lambda: True,
    via: Proxy | None = None,
) -> Response:
    """The answer to a GET."""
    budget = BodyBudget(1 << 24, lambda _: None, set)
    sent = Sent(Request(url), destination(url), via)
    limits = Limits(0, 0, fails_on_loss=True)
    transfer = Transfer(sent, timing, budget.share(), limits, Silent())  # type: ignore[arg-type]
    await connection.fetch(transfer, 30.0, may_send)
    return transfer.response(address=connection.address, certificate=None)
