"""The console's web server without a crawl, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web

from crawlproject.monitor.console.access import Access
from crawlproject.monitor.console.api import Hub, application
from crawlproject.options.monitor import ConsoleOptions
from testbed.children import free_port

if TYPE_CHECKING:
    from crawlproject.monitor.console.api import Actions, Views

T = TypeVar("T")

OPTIONS = ConsoleOptions(6080, "127.0.0.1", "", None)


class FakeRoom:
    """A crawl with a hostile spider name; its one action is counted."""

    def __init__(self) -> None:
        self.paused = 0

    def state(self) -> dict[str, Any]:
        return {"spider": "<script>alert(1)</script>"}

    event = state

    async def servers(self, given: Mapping[str, str]) -> dict[str, Any]:
        raise ValueError(f"wrong:\n{dict(given)}")

    async def workers(self, _: Mapping[str, str]) -> dict[str, Any]:
        raise RuntimeError("secret of the program")

    def views(self) -> Views:
        return {
            "state": lambda _: self.state(),
            "history": lambda _: self.state(),
            "servers": self.servers,
            "server": lambda _: None,
            "workers": self.workers,
            "stats": lambda _: {"own": float("inf"), "list": [1.5, float("nan")]},
            "log": lambda _: {"lines": []},
        }

    def actions(self) -> Actions:
        return {"pause": (self.pause, ()), "block": (lambda name: {"name": name}, ("name",))}

    def pause(self) -> dict[str, Any]:
        self.paused += 1
        return {"done": "paused"}


class Served:
    """The console of ``room`` in a thread of its own."""

    def __init__(self, room: FakeRoom | None = None) -> None:
        self.room, self.access, self.port = room or FakeRoom(), Access(OPTIONS), free_port()
        self.hub = Hub(self.room.event)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Served:
        self._thread.start()
        self.run(self._start())
        return self

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``, in the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def buffered(self) -> int:
        """Bytes that wait in this process until clients read. To be called in the server's loop."""
        server = self._runner.server
        assert server is not None
        return sum(each.transport.get_write_buffer_size() for each in server.connections if each.transport is not None)

    async def close(self) -> None:
        self.hub.close()
        await self._runner.cleanup()

    async def _start(self) -> None:
        app = application(self.room.views(), self.room.actions(), self.access, self.hub)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=60)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()

    def __exit__(self, *exc: object) -> None:
        self.run(self.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
