"""Retries of requests: an unreachable server costs none of its pages."""

from __future__ import annotations

from typing import TypeVar

from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.http import Request, Response

from crawlproject.crawl_frontier import frontier_of, note_end
from crawlproject.requests.ends import AGAIN
from crawlproject.requests.failures import is_unreached
from crawlproject.requests.meta import UNSENT

Result = TypeVar("Result")


class ServerRetryMiddleware(RetryMiddleware):
    """Replaces Scrapy's ``RetryMiddleware`` (downloader), with the same settings and stats.

    A request whose last try found no connection to a server that has answered before returns to the frontier: it waits
    until the server answers or is given up.  Otherwise a server with few URLs would lose them within seconds, and one
    with many not before it is given up.
    """

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        return self._noted(request, super().process_response(request, response))

    def process_exception(  # type: ignore[override]
        self, request: Request, exception: Exception
    ) -> Request | Response | None:
        """Retry, or return the request itself to the frontier."""
        most = request.meta.get("max_retry_times")
        most = self.max_retry_times if most is None else most
        if 0 < most <= request.meta.get("retry_times", 0) and is_unreached(exception) and self._waits(request):
            request.meta[UNSENT] = True
            return request
        return self._noted(request, super().process_exception(request, exception))

    def _noted(self, request: Request, result: Result) -> Result:
        """``result``; if it is another try, the URL of ``request`` has not ended."""
        if isinstance(result, Request):
            note_end(self.crawler, request, AGAIN)
        return result

    def _waits(self, request: Request) -> bool:
        """Whether ``request`` may be sent again, and only its server can be at fault."""
        frontier = frontier_of(self.crawler)
        is_free = not request.meta.get("dont_retry") and not request.meta.get("proxy")
        return is_free and frontier is not None and frontier.is_server_down(request)
