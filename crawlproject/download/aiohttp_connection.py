"""Connections by aiohttp, for requests that need more than a plain GET: by a proxy, with a body, with unusual URLs.

Its import takes 6 MB and 0.1 s, so it is imported for the first such request.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import aiohttp

from crawlproject.clock import CLOCK
from crawlproject.download.answer_repair import MAX_HEAD, MAX_HEADERS
from crawlproject.download.base_connection import Connection
from crawlproject.download.protocol import AnswerProtocol
from crawlproject.download.timing import Exchange, correct_lag, kernel_times, tls_protocols

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Iterable
    from types import SimpleNamespace

    from aiohttp.abc import AbstractResolver
    from aiohttp.connector import Connection as AiohttpSocket

    from crawlproject.download.guarded_socket import GuardedSockets
    from crawlproject.download.resolver import CachingResolver
    from crawlproject.download.timing import Timing


class AiohttpConnection(Connection):
    """A connection by aiohttp; ``on_unsolicited`` is called when unsolicited data arrives."""

    is_direct = False

    def __init__(
        self,
        tls: ssl.SSLContext,
        resolver: CachingResolver,
        sockets: GuardedSockets,
        on_unsolicited: Callable[[], None],
        local_address: tuple[str, int] | None,
    ) -> None:
        super().__init__(sockets, local_address)
        connector = aiohttp.TCPConnector(
            limit=1,
            ssl=tls,
            resolver=cast("AbstractResolver", resolver),
            use_dns_cache=False,  # the shared resolver caches
            keepalive_timeout=3600.0,  # the session decides, not the pool
            local_addr=local_address,
            socket_factory=sockets,
        )
        protocols: partial[Any] = partial(AnswerProtocol, asyncio.get_running_loop(), on_unsolicited)
        connector._factory = protocols  # there is no public API
        self.client = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            response_class=TimedResponse,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            trace_configs=[_TRACE],
            max_line_size=MAX_HEAD,  # AnswerProtocol limits the whole head
            max_field_size=MAX_HEAD,
            max_headers=MAX_HEADERS,
        )
        self.client._retry_connection = False  # Scrapy retries, and counts retries

    async def _close_now(self) -> None:
        await self.client.close()


class TimedResponse(aiohttp.ClientResponse):
    """A response that inspects its socket when the headers have arrived."""

    transport: asyncio.Transport | None = None
    peername: tuple[str, int] | None = None
    kernel: tuple[float, float] | None = None
    ssl_object: Any = None
    #: Called with the size of each piece of the body: what to await before reading on, or None. Set by the handler.
    pace: Callable[[int], Awaitable[None] | None]

    async def start(self, connection: AiohttpSocket) -> aiohttp.ClientResponse:
        """Save what is not available once the connection has been released."""
        transport = connection.transport
        await super().start(connection)
        if transport is not None:
            self.transport = transport
            self.peername = transport.get_extra_info("peername")
            self.ssl_object = transport.get_extra_info("ssl_object")
            self.kernel = kernel_times(transport.get_extra_info("socket"))
        return self

    def correct(self, timing: Timing, now: float) -> None:
        """Remove the event loop's lag from ``timing``; called when the headers have arrived."""
        info = self.request_info
        asked = partial(_asked, info)
        tls = tls_protocols(self.ssl_object)
        timing.exchange = Exchange(info.url.raw_path_qs, asked, self.reason, self.raw_headers, tls)
        if self.kernel is None:
            return
        _, round_trip = self.kernel
        correct_lag(timing, self.kernel, now)
        if timing.connect_time is not None and self.ssl_object is not None:
            handshake = min(round_trip, timing.connect_time)
            timing.connect_time, timing.tls_time = handshake, timing.connect_time - handshake


def _asked(info: aiohttp.RequestInfo) -> Iterable[tuple[bytes, bytes]]:
    return ((name.encode(), value.encode("utf-8", "surrogateescape")) for name, value in info.headers.items())


def _timing(context: SimpleNamespace) -> Timing:
    timing: Timing = context.trace_request_ctx
    return timing


async def _dns_start(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).dns_time = -CLOCK()


async def _dns_end(_session: object, context: SimpleNamespace, _params: object) -> None:
    timing = _timing(context)
    timing.dns_time = CLOCK() + (timing.dns_time or 0.0)
    timing.connect_started = CLOCK()


async def _connect_start(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).connect_started = CLOCK()


async def _connect_end(_session: object, context: SimpleNamespace, _params: object) -> None:
    timing = _timing(context)
    timing.reused = False
    timing.connect_time = CLOCK() - timing.connect_started
    if timing.dns_time is None:
        timing.dns_time = 0.0  # an address, not a name


async def _reused(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).reused = True


async def _headers_sent(_session: object, context: SimpleNamespace, _params: object) -> None:
    _timing(context).sent = CLOCK()


def _build_trace() -> aiohttp.TraceConfig:
    """Fills in the ``Timing`` given as ``trace_request_ctx``."""
    trace = aiohttp.TraceConfig()
    trace.on_dns_resolvehost_start.append(_dns_start)
    trace.on_dns_resolvehost_end.append(_dns_end)
    trace.on_connection_create_start.append(_connect_start)
    trace.on_connection_create_end.append(_connect_end)
    trace.on_connection_reuseconn.append(_reused)
    trace.on_request_headers_sent.append(_headers_sent)
    trace.freeze()
    return trace


_TRACE = _build_trace()
