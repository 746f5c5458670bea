"""The way of a request to its response: what Scrapy's downloader does, in one coroutine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.http import Request, Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from crawlproject.download.lane.calls import awaited, calls_of
from crawlproject.download.receivers import Receivers
from crawlproject.engine import stats_of, used_now
from crawlproject.options.project_rules import NO_LIMIT

if TYPE_CHECKING:
    from scrapy.core.downloader import Downloader, Slot

#: What a middleware may return; anything else is awaited first.
_RESULTS = (Response, Request)
_RESULT = "Response or Request"
_MAYBE = "None, Response or Request"


class Downloading:
    """Calls the downloader middlewares and the download handler, and keeps the slots, as Scrapy's downloader does."""

    def __init__(self, downloader: Downloader) -> None:
        self._downloader = downloader
        self._count = stats_of(downloader.crawler).inc_value
        self._reached, self._downloaded, self._left = (
            Receivers(downloader.crawler, signal)
            for signal in (
                signals.request_reached_downloader,
                signals.response_downloaded,
                signals.request_left_downloader,
            )
        )
        self._process_request, self._process_response, self._process_exception = (
            calls_of(downloader.middleware, f"process_{what}") for what in ("request", "response", "exception")
        )

    async def download(self, request: Request) -> Response | Request:
        """The response, or the request that a middleware returned. Raises what they and the download raise."""
        self._count("lane/requests")
        result: Any = None
        try:
            for call in self._process_request:
                result = call(request=request)
                if result is not None:
                    if not isinstance(result, _RESULTS):
                        result = await awaited(result, call, _RESULTS, _MAYBE)
                    if result:
                        break
            else:
                result = await self._enqueue(request)
        except Exception as error:  # noqa: BLE001 - the middlewares decide
            result = await self._recover(request, error)
        if isinstance(result, Request):
            return result
        for call in self._process_response:
            response = call(request=request, response=result)
            if response is result:
                continue
            result = response if isinstance(response, _RESULTS) else await awaited(response, call, _RESULTS, _RESULT)
            if isinstance(result, Request):
                return result
        found: Response = result
        return found

    async def _recover(self, request: Request, error: Exception) -> Any:
        """The result of the first middleware that handles ``error``; raises it if none does."""
        for call in self._process_exception:
            result = call(request=request, exception=error)
            if result is not None and not isinstance(result, _RESULTS):
                result = await awaited(result, call, _RESULTS, _MAYBE)
            if result:
                return result
        raise error

    async def _enqueue(self, request: Request) -> Response:
        downloader = self._downloader
        key, slot = downloader._get_slot(request)
        request.meta[downloader.DOWNLOAD_SLOT] = key
        slot.active.add(request)
        try:
            self._reached.send(request=request)
            if slot.delay or slot.queue or slot.latercall or slot.free_transfer_slots() <= 0:
                turn: Deferred[Response] = Deferred()
                slot.queue.append((request, turn))
                downloader._process_queue(slot)
                return await maybe_deferred_to_future(turn)
            used_now(slot)
            if slot.concurrency < NO_LIMIT:
                await asyncio.sleep(0)  # Scrapy counts a request from then on: of those that come at once all are sent
            return await self.transfer(slot, request)
        finally:
            slot.active.remove(request)

    async def transfer(self, slot: Slot, request: Request) -> Response:
        """The answer to ``request``, now."""
        slot.transferring.add(request)
        try:
            response = await self._downloader.handlers.download_request_async(request)
            self._downloaded.send(response=response, request=request)
            return response
        finally:
            slot.transferring.remove(request)
            if slot.queue:
                self._downloader._process_queue(slot)
            self._left.send(request=request)
