"""No request is sent to a server that must be left alone now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.crawl_frontier import frontier_of
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.requests.meta import UNSENT

if TYPE_CHECKING:
    from scrapy import Request


class PolitenessMiddleware(CrawlerMiddleware):
    """Sends a request back whose server was contacted since it was handed out (downloader, after RobotsMiddleware).

    That is what fetching robots.txt does: then the page has to wait for its turn, and it does so in the
    frontier, not in a place of the downloader.
    """

    def process_request(self, request: Request) -> Request | None:
        """None: go on. The request itself: back to the frontier."""
        frontier = frontier_of(self._crawler)
        if frontier is None or frontier.may_start(request):
            return None
        request.meta[UNSENT] = True
        return request
