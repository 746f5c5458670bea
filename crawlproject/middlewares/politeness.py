"""Holds back requests to servers that are resting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.pool import SessionAbandoned
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.requests.meta import UNSENT

if TYPE_CHECKING:
    from scrapy import Request


class PolitenessMiddleware(CrawlerMiddleware):
    """Returns a request if its server was contacted since the hand-out (downloader, after RobotsMiddleware).

    Fetching robots.txt is such a contact.  The page then waits in the frontier, and does not block a slot of the
    downloader.  A request whose session was abandoned returns there as well.
    """

    def process_request(self, request: Request) -> Request | None:
        """None: continue. The request itself: return it to the frontier."""
        frontier = frontier_of(self._crawler)
        if frontier is None or frontier.may_start(request):
            return None
        request.meta[UNSENT] = True
        return request

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Return an abandoned request: this worker, or the next owner of its server, fetches it again."""
        frontier = frontier_of(self._crawler)
        if not isinstance(exception, SessionAbandoned) or frontier is None or not frontier.handed_out(request):
            return None
        request.meta[UNSENT] = True
        return request
