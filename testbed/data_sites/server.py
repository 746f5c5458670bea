"""Serves generated sites on loopback, each at an address of its own, and counts what is asked for."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import web

from testbed.data_sites.site import PLAIN, REDIRECT, Site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from typing import TextIO


class Visits(NamedTuple):
    """What a crawler has fetched of a site."""

    requests: int
    #: Real pages that were not fetched.
    lost: list[str]
    #: Requests beyond one for each real page.
    beyond: int
    #: Addresses that were asked for more than once, and how often.
    repeated: list[tuple[str, int]]


class DataWeb:
    """Answers for all sites; ``requests`` counts the paths asked for, by site; robots.txt does not count."""

    def __init__(self, sites: Mapping[str, Site], log: TextIO | None = None) -> None:
        self.sites = sites
        self.addresses = {name: f"127.42.{at // 250}.{at % 250 + 1}" for at, name in enumerate(sites)}
        self.requests: dict[str, Counter[str]] = {name: Counter() for name in sites}
        self._names = {address: name for name, address in self.addresses.items()}
        self._log = log

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The page at the address and path of a request."""
        assert request.transport is not None
        name, path = self._names[request.transport.get_extra_info("sockname")[0]], request.raw_path
        page = self.sites[name].render(path)
        if path != "/robots.txt":
            self.requests[name][path] += 1
        status = 404 if page is None else 302 if page.startswith(REDIRECT) else 200
        if self._log is not None:
            self._log.write(json.dumps([name, path, status]) + "\n")
        if page is None or page.startswith(REDIRECT):
            headers = {} if page is None else {"Location": page.removeprefix(REDIRECT)}
            return web.Response(status=status, text="Not found", headers=headers)
        kind = "text/plain" if page.startswith(PLAIN) else "text/html"
        return web.Response(text=page.removeprefix(PLAIN), content_type=kind, charset="utf-8")

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[dict[str, str]]:
        """Serve all sites on one port until the end of the block; the URL of each home page by name."""
        runner = web.ServerRunner(web.Server(self.answer))
        await runner.setup()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(runner.cleanup)
            for address in self.addresses.values():
                await web.TCPSite(runner, address, port).start()
                port = port or runner.addresses[0][1]
            yield {name: f"http://{address}:{port}/" for name, address in self.addresses.items()}

    def visits(self, name: str) -> Visits:
        """What was fetched of a site so far."""
        site, asked = self.sites[name], self.requests[name]
        fetched = {site.page_of(path) for path in asked} & site.real
        repeated = [(path, count) for path, count in asked.most_common(3) if count > 1]
        return Visits(asked.total(), sorted(site.real - fetched), asked.total() - len(fetched), repeated)
