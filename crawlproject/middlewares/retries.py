"""Retries of requests: an unreachable server costs none of its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.retry import RetryMiddleware

from crawlproject.crawl_frontier import frontier_of
from crawlproject.requests.failures import is_unreached
from crawlproject.requests.meta import UNSENT

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class ServerRetryMiddleware(RetryMiddleware):
    """Replaces Scrapy's ``RetryMiddleware`` (downloader), with the same settings and stats.

    A request whose last try found no connection to a server that has answered before returns to the frontier: it waits
    until the server answers or is given up.  Otherwise a server with few URLs would lose them within seconds, and one
    with many not before it is given up.
    """

    def process_exception(  # type: ignore[override]
        self, request: Request, exception: Exception
    ) -> Request | Response | None:
        """Retry, or return the request itself to the frontier."""
        most = request.meta.get("max_retry_times")
        most = self.max_retry_times if most is None else most
        if 0 < most <= request.meta.get("retry_times", 0) and is_unreached(exception) and self._waits(request):
            request.meta[UNSENT] = True
            return request
        return super().process_exception(request, exception)

    def _waits(self, request: Request) -> bool:
        """Whether ``request`` may be sent again, and only its server can be at fault."""
        frontier = frontier_of(self.crawler)
        is_free = not request.meta.get("dont_retry") and not request.meta.get("proxy")
        return is_free and frontier is not None and frontier.is_server_down(request)
