"""Which requests go to the network at all."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from cachetools import LRUCache
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.address_guard import AddressGuard, AddressRefused
from crawlproject.download.lookup import NameLookupError
from crawlproject.download.resolver import crawl_resolver
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.limits import LimitOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.requests.meta import GIVEN_UP, PAGE_LIMIT, SERVER_GIVEN_UP, UNSENT
from crawlproject.urls.link_filter import LinkFilter
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

#: Why a request fails without being sent, in words.
_UNSENT = {
    SERVER_GIVEN_UP: "its server was given up: too many failures in a row "
    "(FRONTIER_MAX_FAILURES, ROBOTSTXT_MAX_FAILURES)",
    PAGE_LIMIT: "its server is full (FRONTIER_MAX_PAGES_PER_SERVER, FRONTIER_MAX_PAGES_PER_DOMAIN)",
}

#: Those of requests that are judged.
_ANY_SCHEME = frozenset(("http", "https", "ftp"))

#: Servers whose refusal is remembered, so that it is logged once.
REFUSALS_REMEMBERED = 10_000


class AdmissionMiddleware(CrawlerMiddleware):
    """Before a server is contacted for the first time, robots.txt included (downloader, before RobotsMiddleware).

    A request to a server given up or full fails without being sent, and so does one to a server that is denied
    (``FRONTIER_DENY_FILE``) or to an address that is not allowed (``ALLOWED_NETWORKS``; the addresses of names are
    known later: to the download handler).  Where politeness goes by address, the server's is looked up, and the
    request waits in the frontier while another server there has a connection.
    Stats: ``frontier/denied``, ``guard/refused/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._guard = AddressGuard(NetworkOptions.of(crawler).allowed_networks)
        denied = LimitOptions.of(crawler).denied
        self._denied = LinkFilter(denied=denied, schemes=_ANY_SCHEME) if denied else None
        self._refused: LRUCache[str, bool] = LRUCache(REFUSALS_REMEMBERED)

    async def process_request(self, request: Request) -> Request | None:
        """None: go on. The request itself: back to the frontier."""
        reason = request.meta.pop(GIVEN_UP, None)
        if reason is not None:
            raise IgnoreRequest(_UNSENT.get(reason, reason))
        self._check_denied(request)
        try:
            key = server_key(request.url)
        except ValueError as error:  # no server; the scheduler has counted it
            if "redirect_times" in request.meta:
                raise IgnoreRequest(str(error)) from error
            return None  # the download fails, as in plain Scrapy
        self._guard.check_url(request.url)
        if request.url[:4].lower() == "ftp:":  # its handler resolves names by itself
            await self._check_name(request.url)
        frontier = frontier_of(self._crawler)
        if frontier is None or not frontier.by_ip:
            return None
        address = await self._address(host_of(key))
        if address is None or frontier.join_group(request, address):
            return None
        request.meta[UNSENT] = True
        return request

    def _check_denied(self, request: Request) -> None:
        """Raise IgnoreRequest where the server is not to be contacted, wherever the URL came from."""
        if self._denied is None:
            return
        with suppress(ValueError):  # no server in its URL: the download will say so
            if self._denied.denies(server_key(request.url)):
                self._stats.inc_value("frontier/denied")
                raise IgnoreRequest("its server is denied (FRONTIER_DENY_FILE)")

    async def _address(self, host: str) -> str | None:
        """IP address of ``host``, None if it has none (the download will say so)."""
        try:
            return (await crawl_resolver(self._crawler).addresses(host))[0]
        except OSError:
            return None

    async def _check_name(self, url: str) -> None:
        """Raise AddressRefused if the server has an address that may not be contacted."""
        key = server_key(url)
        with suppress(NameLookupError):
            for address in await crawl_resolver(self._crawler).addresses(host_of(key)):
                refusal = self._guard.refusal(address)
                if refusal is not None:
                    raise AddressRefused(key, refusal)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count what was refused, here or in the download handler; a line for each server, an error for a seed's."""
        if not isinstance(exception, AddressRefused):
            return
        self._stats.inc_value(f"guard/refused/{exception.kind}")
        if exception.server not in self._refused:
            self._refused[exception.server] = True
            meta = request.meta
            by_page = meta.get("depth") or "redirect_times" in meta or request.callback is NO_CALLBACK  # robots.txt
            logger.log(logging.WARNING if by_page else logging.ERROR, "Refused: %s", exception)
