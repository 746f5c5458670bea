"""Scrapy's downloader without delays: the frontier enforces them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

from crawlproject.clock import CLOCK
from crawlproject.compat import UNLIMITED, SlotDownloader, closes_lane
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.lane.downloading import Downloading
from crawlproject.download.timing import Timing
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.meta import TIMING
from crawlproject.urls.server_key import host_of, server_key, slot_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Spider
    from scrapy.core.downloader import Slot
    from scrapy.core.downloader.handlers import DownloadHandlers
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

_HTTP = ("http", "https")

#: Settings by which a project controls jitter.
_JITTER = ("DOWNLOAD_DELAY_JITTER", "RANDOMIZE_DOWNLOAD_DELAY")


class ActiveRequests(set[Request]):
    """Requests in progress; remembers which have ended, so that nobody needs to look for them.

    ``ended`` is called with each.
    """

    def __init__(self, ended: Callable[[Request], None]) -> None:
        super().__init__()
        self._tell_ended = ended
        self._ended: list[Request] = []

    def discard(self, request: object) -> None:
        if isinstance(request, Request) and request in self:
            self.remove(request)

    def remove(self, request: Request) -> None:
        super().remove(request)
        self._ended.append(request)
        self._tell_ended(request)

    def take_ended(self) -> list[Request]:
        """Requests that have ended since the last call."""
        ended = self._ended
        if ended:
            self._ended = []
        return ended


def _measures(handler: object) -> bool:
    return getattr(handler, "measures", False)


def _is_of_project(handler: type | str | None) -> bool:
    try:
        return handler is not None and not _measures(load_object(handler))
    except (ImportError, NameError, ValueError):
        return False  # Scrapy logs it


class MeasuredHandlers:
    """Scrapy's ``handlers``; measures requests for the frontier if a project has one of its own for http or https.

    This project's does so itself, in more detail.  Without measurements servers would never rest.
    """

    def __init__(self, handlers: DownloadHandlers, crawler: Crawler) -> None:
        self._all = handlers
        self._crawler = crawler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all, name)

    async def download_request_async(self, request: Request) -> Response:
        scheme = request.url.partition(":")[0]
        frontier = frontier_of(self._crawler)
        if scheme not in _HTTP or frontier is None or _measures(self._all._get_handler(scheme)):
            return await self._all.download_request_async(request)
        timing = request.meta[TIMING] = Timing(started=CLOCK(), connection_requests=1)
        try:
            response = await self._all.download_request_async(request)
        except BaseException:
            timing.fail(CLOCK())
            raise
        else:
            timing.end(CLOCK())
        finally:
            frontier.request_ended(server_key(request.url), CLOCK(), timing.fetch_time)
        return response


class FrontierDownloader(SlotDownloader):
    """Ignores ``DOWNLOAD_DELAY``, which would occupy a connection while a server rests: the frontier enforces it.

    With a project's own handler for http or https it also applies here, to requests that bypass the frontier, such as
    those of media pipelines.  Delays in ``DOWNLOAD_SLOTS``, also enforced by the frontier, have jitter only if the
    project sets it.

    Scrapy's default of ``CONCURRENT_REQUESTS`` is no limit: that is ``FRONTIER_MAX_SESSIONS``.  The setting keeps its
    value, since others read it (scrapy-playwright: pages open at once).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.active = ActiveRequests(self._ended)
        self.per_slot_settings = {slot_name(host): slot for host, slot in self.per_slot_settings.items()}
        self.handlers: Any = MeasuredHandlers(self.handlers, crawler)
        handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
        if not any(_is_of_project(handlers.get(scheme)) for scheme in _HTTP):
            self._delay = 0.0
        if (crawler.settings.getpriority("CONCURRENT_REQUESTS") or 0) <= SETTINGS_PRIORITIES["default"]:
            self.total_concurrency = UNLIMITED
        if not any(crawler.settings.getpriority(name) for name in _JITTER):
            self.leave_out_jitter()
        self._is_fast = FrontierOptions.of(crawler).fast_lane and closes_lane() is None
        self._fast: Downloading | None = None

    def _ended(self, request: Request) -> None:
        """All middlewares have seen what became of ``request``."""
        if TIMING in request.meta and (frontier := frontier_of(self.crawler)) is not None:  # else it is recorded
            frontier.not_recorded(server_key(request.url))

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        if not self._is_fast:
            return super().fetch(request)
        self.active.add(request)
        return deferred_from_coro(self._to_end(request)).addBoth(self._fetched, request)

    def _fetched(self, result: Any, request: Request) -> Any:
        """The engine gets ``result`` right after this: it must not find the request done a turn of the loop before."""
        self.active.remove(request)
        return result

    @property
    def direct(self) -> Callable[[Request], Awaitable[Response | Request]] | None:
        """What ``fetch`` does, for a caller that adds the request to ``active`` and removes it itself; None if a
        subclass has another ``fetch``."""
        is_ours = getattr(self.fetch, "__func__", None) is FrontierDownloader.fetch
        return self._to_end if is_ours else None

    async def _to_end(self, request: Request) -> Response | Request:
        if self._fast is None:  # not before all middlewares are there
            self._fast = Downloading(self)
        return await self._fast.download(request)

    async def _download(self, slot: Slot, request: Request) -> Response:
        return await (super()._download(slot, request) if self._fast is None else self._fast.transfer(slot, request))

    def get_slot_key(self, request: Request) -> str:
        """The slot of ``request``: chosen by the spider, else its host."""
        slot: str | None = request.meta.get(self.DOWNLOAD_SLOT)
        if slot is not None:
            return slot
        try:
            return super().get_slot_key(request) if self.ip_concurrency else host_of(server_key(request.url))
        except ValueError:  # no host
            return super().get_slot_key(request)
