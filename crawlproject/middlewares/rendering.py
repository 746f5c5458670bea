"""Renders the pages that need it, after they were fetched as usual."""

from __future__ import annotations

import logging
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from crawlproject import signals
from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.page_reading import is_html
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.download.rendering.need import reason_to_render
from crawlproject.download.rendering.steps import wish
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.rendering import ALWAYS, AUTO, NEVER, RenderOptions
from crawlproject.requests.meta import KEEP, RENDER, UNSENT

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.rendering.renderer import Rendered, Renderer
    from crawlproject.download.rendering.steps import Step

logger = logging.getLogger(__name__)

#: Flag of rendered responses.
RENDERED = "rendered"

#: Response headers that describe the body as received.
_OF_BODY = (b"Content-Encoding", b"Content-Length", b"Transfer-Encoding", b"Content-MD5", b"Digest", b"ETag")


class RenderMiddleware(CrawlerMiddleware):
    """Replaces the body of a page by the DOM that its scripts build (downloader, after decompression).

    Only HTML pages with status 2xx that were fetched by GET.  A page that cannot be rendered is processed as it was
    fetched.  A page whose scripts lead elsewhere becomes a refresh to there, which MetaRefreshMiddleware follows.
    Settings: ``FRONTIER_RENDER`` and others; ``meta["render"]`` for single requests.
    Stats: ``render/...``, see ``Renderer`` and ``Resources``; ``render/auto/<reason>``, ``render/redirects``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._options = RenderOptions.of(crawler)
        self._renderer: Renderer | None = None
        self._is_unavailable = False
        self._follows = crawler.settings.getbool("METAREFRESH_ENABLED")
        crawler.signals.connect(self._closed, scrapy_signals.spider_closed)

    def process_response(self, request: Request, response: Response) -> Response | Awaitable[Request | Response]:
        """The response, rendered if it needs to be; the request, if this machine's network failed meanwhile."""
        if self._options.mode == NEVER and RENDER not in request.meta:
            return response
        return self._rendered(request, response)

    async def _rendered(self, request: Request, response: Response) -> Request | Response:
        if request.callback is NO_CALLBACK or request.method != "GET" or not _is_page(response):
            return response
        steps = await self._steps(request, response)
        renderer = None if steps is None else self._get_renderer()
        if steps is None or renderer is None:
            return response
        return await self._render(renderer, request, response, steps)

    async def _steps(self, request: Request, response: Response) -> tuple[Step, ...] | None:
        """The steps to take on the page; None: it is not rendered."""
        try:
            wanted = wish(request.meta.get(RENDER))
        except ValueError as error:
            self._stats.inc_value("render/bad_meta")
            logger.error("%s: %s", request, error)
            return None
        mode = wanted.mode or self._options.mode
        if mode == AUTO:
            body = response.body
            reason = await off_loop(reason_to_render, body) if len(body) > LARGE else reason_to_render(body)
            if reason is None:
                return None
            self._stats.inc_value(f"render/auto/{reason}")
        return wanted.steps if mode in (ALWAYS, AUTO) else None

    def _get_renderer(self) -> Renderer | None:
        if self._renderer is None and not self._is_unavailable:
            try:
                self._options.check()
            except ValueError as error:
                self._is_unavailable = True
                logger.error("Pages are not rendered: %s", error)
            else:
                from crawlproject.download.rendering.renderer import Renderer

                self._renderer = Renderer(self._crawler, self._options)
        if self._renderer is None:
            self._stats.inc_value("render/failed/browser")
        return self._renderer

    async def _render(
        self, renderer: Renderer, request: Request, response: Response, steps: tuple[Step, ...]
    ) -> Request | Response:
        from crawlproject.download.rendering.job import RenderError

        try:
            rendered = await renderer.render(request, response, steps, partial(self._idle, request))
        except RenderError as error:
            self._stats.inc_value(f"render/failed/{error.kind}")
            logger.info("Not rendered: %s: %s", request.url, error)
            if error.kind == "outage":
                request.meta[UNSENT] = True
                return request
            return response
        if rendered.redirect is not None and self._follows:
            self._stats.inc_value("render/redirects")
            return _replaced(response, _refresh(rendered.redirect))
        self._stats.inc_value("render/pages")
        return await self._keep(request, response, rendered)

    def _idle(self, request: Request, seconds: float) -> None:
        frontier = frontier_of(self._crawler)
        if frontier is not None:
            frontier.server_was_idle(request, seconds)

    async def _keep(self, request: Request, response: Response, rendered: Rendered) -> Response:
        html = rendered.html.encode("utf-8", "replace")
        await self._crawler.signals.send_catch_log_async(
            signals.page_rendered, request=request, response=response, html=html
        )
        if request.meta.get(KEEP):
            raise IgnoreRequest("the record of the rendered page cannot be written")
        return _replaced(response, html)

    async def _closed(self) -> None:
        if self._renderer is not None:
            await self._renderer.close()


def _is_page(response: Response) -> bool:
    return 200 <= response.status < 300 and is_html(response) and "download_stopped" not in response.flags


def _replaced(response: Response, html: bytes) -> Response:
    headers = response.headers.copy()
    for name in _OF_BODY:
        headers.pop(name, None)
    headers[b"Content-Type"] = b"text/html; charset=utf-8"
    flags = [*response.flags, RENDERED]
    return response.replace(body=html, headers=headers, flags=flags, encoding="utf-8")


def _refresh(url: str) -> bytes:
    target = escape(url.replace("'", "%27"))
    return f'<html><head><meta http-equiv="refresh" content="0; url=\'{target}\'"></head></html>'.encode()
