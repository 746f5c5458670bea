"""The JSON API and the page: routes, arguments, streams."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from crawlproject.monitor.console.access import access_middleware, add_headers
from crawlproject.monitor.console.order_book import ActionError, UnavailableError
from crawlproject.monitor.console.page_files import page_file

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from crawlproject.monitor.console.access import Access

    #: Path -> what answers with a JSON value, given the parameters of the URL; None: the server is unknown.
    Views = Mapping[str, Callable[[Mapping[str, str]], Any]]
    #: Path -> action, and the names of its arguments. Each raises ValueError, ActionError or UnavailableError.
    Actions = Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]]

#: Bytes of a request's body: whatever is in it, it is parsed within 10 ms.
MAX_BODY = 100_000

#: Pages that are open at a time: each is a stream.
MAX_STREAMS = 32

#: Seconds that a browser may take to read what a stream has written, and between two events.
STREAM_TIMEOUT, TICK = 20.0, 1.0

KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}

#: Files of the page. Nothing else is served.
FILES = (
    *("index.html", "console.css", "uPlot.css", "uPlot.js"),
    *("console.js", "format.js", "overview.js", "urls.js", "charts.js", "tables.js"),
)


class Hub:
    """The open pages: an event is made once for all of them."""

    def __init__(self, event: Callable[[], dict[str, Any]]) -> None:
        self._figures = event
        self._event = b""
        self._tick = asyncio.Event()
        self.is_closing = False
        self.streams = 0

    def publish(self) -> None:
        """Make the next event and wake the streams, if a page is open. O(stats)."""
        if self.streams:
            self._event = _event("figures", self._figures())
            self._wake()

    def close(self) -> None:
        """End all streams: the crawl ends."""
        self.is_closing = True
        self._wake()

    async def serve(self, response: web.StreamResponse) -> None:
        """Write events until the crawl ends. Raises ConnectionError or TimeoutError if the page does not read them.

        A slow page is not served faster than it reads: it misses events, and nothing piles up.
        """
        self.publish()
        while not self.is_closing:
            tick = self._tick
            await asyncio.wait_for(response.write(self._event), STREAM_TIMEOUT)
            if not self.is_closing:
                await tick.wait()
        await asyncio.wait_for(response.write(_event("end", self._figures())), STREAM_TIMEOUT)

    def _wake(self) -> None:
        self._tick.set()
        self._tick = asyncio.Event()


def application(views: Views, actions: Actions, access: Access, hub: Hub) -> web.Application:
    app = web.Application(middlewares=[access_middleware(access)], client_max_size=MAX_BODY)
    app.on_response_prepare.append(add_headers)
    for name in FILES:
        app.router.add_get("/" if name == "index.html" else f"/{name}", _file(name))
    for path, view in views.items():
        app.router.add_get(f"/api/{path}", _view(view))
    app.router.add_get("/api/stream", _stream(hub))
    for path, (action, names) in actions.items():
        app.router.add_post(f"/api/{path}", _action(action, names))
    return app


def _file(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    text, kind = page_file(name), KINDS[name.rpartition(".")[2]]

    async def serve(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type=kind, charset="utf-8")

    return serve


def _view(view: Callable[[Mapping[str, str]], Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        found = view(request.query)
        found = await found if asyncio.iscoroutine(found) else found
        if found is None:
            raise web.HTTPNotFound(reason="this server is not known here")
        return _json(found)

    return handle


def _stream(hub: Hub) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Server-sent events: ``figures`` once a second, ``end`` when the crawl ends."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if hub.streams >= MAX_STREAMS:
            raise web.HTTPServiceUnavailable(reason=f"{MAX_STREAMS} pages are open already")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        hub.streams += 1
        try:
            await response.prepare(request)
            await hub.serve(response)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            hub.streams -= 1
        return response

    return handle


def _action(action: Callable[..., Any], names: tuple[str, ...]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """A handler that calls ``action`` with the members ``names`` of the JSON body, all of which are required."""

    async def handle(request: web.Request) -> web.Response:
        try:
            given = json.loads(await request.read() or b"{}")
        except web.HTTPRequestEntityTooLarge:
            reason = f"the body is longer than {MAX_BODY} bytes: send seeds in several requests"
            raise web.HTTPRequestEntityTooLarge(MAX_BODY, 0, reason=reason) from None
        except (ValueError, RecursionError):
            raise ValueError("the body is not JSON") from None
        if not isinstance(given, dict) or given.keys() - set(names):
            raise ValueError(f"the body must be an object with {', '.join(names) or 'nothing in it'}")
        if missing := [name for name in names if name not in given]:
            raise ValueError(f"{missing[0]} is missing")
        try:
            done = action(*(given[name] for name in names))
            return _json(await done if asyncio.iscoroutine(done) else done)
        except ActionError as error:
            raise web.HTTPConflict(reason=str(error)) from None
        except UnavailableError as error:
            raise web.HTTPServiceUnavailable(reason=str(error)) from None

    return handle


def _json(value: Any) -> web.Response:
    return web.json_response(value, dumps=_dumps)


def _dumps(value: Any) -> str:
    try:
        return json.dumps(value, default=str, separators=(",", ":"), allow_nan=False)
    except ValueError:  # rare, as of a stat of the spider's own: no browser reads such numbers
        plain = json.loads(json.dumps(value, default=str), parse_constant=lambda _: None)
        return json.dumps(plain, separators=(",", ":"))


def _event(name: str, value: Any) -> bytes:
    return f"event: {name}\ndata: {_dumps(value)}\n\n".encode()
