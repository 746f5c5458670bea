"""The way of a request to its response: what Scrapy's downloader does, in one coroutine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.downloader import Downloader
from scrapy.http import Request, Response

from crawlproject.download.receivers import Connections, Receivers
from crawlproject.middlewares.lane.neutral import (
    REQUEST_SIGNALS,
    direct,
    unknown_receiver,
    why_not_download,
    why_not_handler,
)
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from scrapy.core.downloader.handlers import DownloadHandlerProtocol
    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler

#: Signals that have receivers in the lane, with their arguments: those of components that the lane knows, and others
#: that were connected while a request was under way.
_SENT = {
    signals.response_downloaded: ("response", "request"),
    signals.request_left_downloader: ("request",),
    signals.response_received: ("response", "request"),
}
_SIGNALS = tuple(REQUEST_SIGNALS)

#: What a middleware may return at once; anything else is awaited.
_RESULTS = (Response, Request)


class Downloading:
    """Calls the downloader middlewares and the download handler as Scrapy's downloader does."""

    def __init__(self, crawler: Crawler, engine: ExecutionEngine) -> None:
        self._crawler = crawler
        downloader = engine.downloader
        self._handlers = downloader.handlers
        self._slots = downloader.per_slot_settings
        self._receivers = {signal: Receivers(crawler, signal) for signal in _SIGNALS}
        self._downloaded = self._receivers[signals.response_downloaded]
        self._left = self._receivers[signals.request_left_downloader]
        self._received = self._receivers[signals.response_received]
        self._why_not = why_not_download(engine, downloader)
        methods = downloader.middleware.methods if self._why_not is None else {}
        self._process_request = [direct(method) for method in methods.get("process_request", ())]
        self._process_response = [direct(method) for method in methods.get("process_response", ())]
        self._process_exception = [direct(method) for method in methods.get("process_exception", ())]
        self._why_not_heard: str | None = None
        self._connections = Connections(crawler, _SIGNALS)
        self._by_scheme: dict[str, tuple[DownloadHandlerProtocol | None, str | None]] = {}

    def why_not(self, request: Request) -> str | None:
        """The reason why no request of this scheme can take this way now; None if they can. O(1)."""
        if self._why_not is None:
            self._look_who_listens()
        return self._why_not or self._why_not_heard or self._handler(request.url)[1]

    def takes(self, request: Request) -> bool:
        """Whether nothing in ``request`` needs Scrapy's own way. O(1)."""
        meta = request.meta
        if request.method != "GET" or request.body or "proxy" in meta or "bindaddress" in meta:
            return False
        slot = meta.get(Downloader.DOWNLOAD_SLOT)
        if slot is not None or self._slots:
            own = _own_slots(request)
            if not own.isdisjoint(self._slots) or (slot is not None and slot not in own):
                return False
        return self._handler(request.url)[0] is not None

    async def download(self, request: Request) -> Response | Request:
        """The response, or the request that a middleware returned. Raises what they and the download raise."""
        result: Any = None
        try:
            for method in self._process_request:
                result = method(request=request)
                if result is not None:
                    if not isinstance(result, _RESULTS):
                        result = await result
                    if result is not None:
                        break
            else:
                result = await self._send(request)
        except Exception as error:  # noqa: BLE001 - the middlewares decide
            result = await self._recover(request, error)
        if isinstance(result, Request):
            return result
        response: Response = result
        for method in self._process_response:
            result = method(request=request, response=response)
            if result is response:
                continue
            if not isinstance(result, _RESULTS):
                result = await result
            if isinstance(result, Request):
                return result
            response = result
        if response.request is None:
            response.request = request
        self._look_who_listens()
        self._received.send(response=response, request=response.request)
        return response

    async def _recover(self, request: Request, error: Exception) -> Any:
        """The result of the first middleware that handles ``error``; raises it if none does."""
        for method in self._process_exception:
            result = method(request=request, exception=error)
            if result is not None and not isinstance(result, _RESULTS):
                result = await result
            if result is not None:
                return result
        raise error

    async def _send(self, request: Request) -> Response:
        handler, _ = self._handler(request.url)
        assert handler is not None
        request.meta.setdefault(Downloader.DOWNLOAD_SLOT, host_of(server_key(request.url)))
        try:
            response = await handler.download_request(request)
            self._look_who_listens()
            self._downloaded.send(response=response, request=request)
        except BaseException:
            self._look_who_listens()
            raise
        finally:
            self._left.send(request=request)
        return response

    def _handler(self, url: str) -> tuple[DownloadHandlerProtocol | None, str | None]:
        """This project's handler of the URL's scheme; else None, and the one of the project that is used instead."""
        scheme = url.partition(":")[0]
        if scheme not in ("http", "https"):
            return None, None
        if scheme not in self._by_scheme:
            handler = self._handlers._get_handler(scheme)
            why_not = why_not_handler(handler, scheme)
            self._by_scheme[scheme] = (handler if why_not is None else None, why_not)
        return self._by_scheme[scheme]

    def _look_who_listens(self) -> None:
        if not self._connections.have_changed():
            return
        reasons = []
        for signal, known in REQUEST_SIGNALS.items():
            receivers = self._receivers[signal]
            receivers.read(_SENT.get(signal, ()))
            reasons.append(unknown_receiver(receivers, known, signal))
        self._why_not_heard = next((reason for reason in reasons if reason is not None), None)


def _own_slots(request: Request) -> set[str]:
    """The slots that a request has by its URL, or by the one that redirected to it. Any other belongs to the spider."""
    urls = [request.url, *request.meta.get("redirect_urls", ())[:1]]
    return {host_of(server_key(url)) for url in urls}
