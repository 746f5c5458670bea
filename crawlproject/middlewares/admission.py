"""Decides which requests may use the network, and when."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK

from crawlproject.compat import CannotResolveHostError
from crawlproject.crawl_frontier import frontier_of, note_end
from crawlproject.download.address_guard import AddressGuard, AddressRefused
from crawlproject.download.few_lines import FewLines
from crawlproject.download.lookup import NameLookupError, is_of_name
from crawlproject.download.pool import SessionAbandoned
from crawlproject.download.resolver import CachingResolver
from crawlproject.engine import Crawl
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.limits import LimitOptions
from crawlproject.requests.meta import GIVEN_UP, UNSENT
from crawlproject.urls.fates import Ending, Reason
from crawlproject.urls.link_filter import LinkFilter
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier

logger = logging.getLogger(__name__)

#: ``meta["dont_retry"]`` of a request that fails here, for RetryMiddleware: another try would not be sent either.
_UNSENT_AGAIN = object()

#: Schemes that ``FRONTIER_DENY_FILE`` applies to.
_ANY_SCHEME = frozenset(("http", "https", "ftp"))


class AdmissionMiddleware(CrawlerMiddleware):
    """Rejects requests before any contact with their server, robots.txt included (downloader, before
    RobotsMiddleware).

    Fails a request without sending it if its server is given up, full or denied (``FRONTIER_DENY_FILE``), or if its IP
    address is not allowed (``FRONTIER_ALLOWED_NETWORKS``; for host names the download handler checks this after the
    lookup). With politeness per address it looks up the address; the request waits in the frontier while another server
    at this address has a connection.
    Stats: ``frontier/blocked``, ``frontier/awaited_unsent``, ``guard/refused/<kind>``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._guard = Crawl.of(crawler).part(AddressGuard)
        denied = LimitOptions.of(crawler).denied
        self._denied = LinkFilter(denied=denied, schemes=_ANY_SCHEME) if denied else None
        self._lines = FewLines(logger)

    async def process_request(self, request: Request) -> Request | None:
        """None: continue. The request itself: return it to the frontier."""
        reason = request.meta.pop(GIVEN_UP, None)
        if reason is not None:
            self._fail(request, reason)
        self._check_denied(request)
        try:
            key = server_key(request.url)
        except ValueError as error:  # its URL has no host; the scheduler counted it
            if "redirect_times" in request.meta:
                raise IgnoreRequest(str(error)) from error
            return None  # let the download fail, as in plain Scrapy
        self._guard.check_server(key)
        frontier = frontier_of(self._crawler)
        if frontier is not None and frontier.is_blocked(key):
            return self._wait_or_fail(request, frontier)
        if frontier is not None and frontier.is_given_up(key) and frontier.is_side_request(request):
            self._stats.inc_value("frontier/awaited_unsent")  # the frontier has dropped its own requests
            self._fail(request, Reason.SERVER_GIVEN_UP)
        if request.url[:4].lower() == "ftp:":  # Scrapy's FTP handler resolves names itself
            await self._check_name(request.url)
        if frontier is None or not frontier.by_ip:
            return None
        address = await self._address(host_of(key))
        if address is None or frontier.join_group(request, address):
            return None
        request.meta[UNSENT] = True
        return request

    def _fail(self, request: Request, reason: Reason) -> NoReturn:
        """Raise what the errback of a request that is not sent gets."""
        note_end(self._crawler, request, Ending(reason))
        is_of_server = reason in (Reason.SERVER_GIVEN_UP, Reason.NO_ANSWER, Reason.DNS)
        if is_of_server and (frontier := frontier_of(self._crawler)) is not None:
            error = frontier.last_error(server_key(request.url))
            if error is not None and is_of_name(error):  # spiders know this from Scrapy
                note_end(self._crawler, request, Ending(Reason.DNS))
                if not request.meta.get("dont_retry"):
                    request.meta["dont_retry"] = _UNSENT_AGAIN
                raise CannotResolveHostError(f"its server is not tried again: {error}")
        raise IgnoreRequest(f"{reason.words} ({reason.change})")

    def _wait_or_fail(self, request: Request, frontier: CrawlFrontier) -> Request:
        """Return a request of a blocked server to the frontier; raises IgnoreRequest if it does not come from there."""
        if not frontier.handed_out(request):
            self._stats.inc_value("frontier/blocked")
            raise IgnoreRequest("its server is blocked by the operator")
        request.meta[UNSENT] = True
        return request

    def _check_denied(self, request: Request) -> None:
        if self._denied is None:
            return
        with suppress(ValueError):  # its URL has no host: the download will report it
            if self._denied.denies(server_key(request.url)):
                note_end(self._crawler, request, Ending(Reason.DENIED))
                raise IgnoreRequest("its server is denied (FRONTIER_DENY_FILE)")

    async def _address(self, host: str) -> str | None:
        """First IP address of ``host``; None if there is none: the download will report it."""
        try:
            return (await Crawl.of(self._crawler).part(CachingResolver).addresses(host))[0]
        except OSError:
            return None

    async def _check_name(self, url: str) -> None:
        key = server_key(url)
        with suppress(NameLookupError):
            for address in await Crawl.of(self._crawler).part(CachingResolver).addresses(host_of(key)):
                refusal = self._guard.refusal(address)
                if refusal is not None:
                    raise AddressRefused(key, refusal)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count refusals, made here or in the download handler; log a few of them, and those of seeds as errors."""
        if request.meta.get("dont_retry") is _UNSENT_AGAIN:
            del request.meta["dont_retry"]
        if isinstance(exception, AddressRefused):
            self._stats.inc_value(f"guard/refused/{exception.kind}")
            meta = request.meta
            by_page = meta.get("depth") or "redirect_times" in meta or request.callback is NO_CALLBACK  # robots.txt
            self._lines.log(logging.WARNING if by_page else logging.ERROR, "Refused: %s", exception)


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
