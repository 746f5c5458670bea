"""Decompresses bodies off the event loop, within the memory budget for bodies; counts failures."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from scrapy.utils._compression import _DecompressionMaxSizeExceeded

from crawlproject.crawl_frontier import note_end
from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.compressed_parts import DAMAGED, check_parts, content_of, is_cut
from crawlproject.download.off_loop import LARGE, ON_LOOP, off_loop
from crawlproject.engine import Crawl
from crawlproject.requests.answers import has_header
from crawlproject.requests.meta import CUT
from crawlproject.urls.fates import Ending, Reason

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

#: What decompressors raise for invalid data; UnicodeError is for a ``Content-Encoding`` that is not ASCII.
_BROKEN = (*DAMAGED, UnicodeError)

#: Encodings of one response that are decoded, the limit of curl: each may take as long as a whole body.
MAX_ENCODINGS = 5


class _Decoded(NamedTuple):
    """A decompressed body, or the error; None if no encoding of it is known."""

    body: bytes | Exception | None
    #: The compressed data ends too early.
    is_cut: bool = False


class OffLoopCompressionMiddleware(HttpCompressionMiddleware):
    """Decompresses within the memory budget, and large bodies off the event loop; counts failures.

    Stats: ``httpcompression/broken`` and ``httpcompression/too_large`` (the response is ignored),
    ``httpcompression/truncated`` (the part received is kept, flagged ``dataloss``).
    """

    #: The body of the current response; see ``_Decoded``.
    _decoded: bytes | Exception | None = None

    def __init__(self, stats: StatsCollector | None = None, *, crawler: Crawler | None = None) -> None:
        super().__init__(stats, crawler=crawler)
        self._of = crawler
        self._budget = None if crawler is None else Crawl.of(crawler).part(BodyBudget)

    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response | Awaitable[Request | Response]:
        """Decompress within the budget: the result may be a thousand times as large as the input."""
        if not has_header(response.headers, b"Content-Encoding"):
            return response
        if self._budget is None:
            return super().process_response(request, response)
        return self._in_turn(self._budget, request, response)

    async def _in_turn(self, budget: BodyBudget, request: Request, response: Response) -> Request | Response:
        with budget.resumed(response) as share:
            await budget.wait(share)
            decoded = await self._decompress(request, response) if request.method != "HEAD" else _Decoded(None)
            answer = self._replace(request, response, decoded)
            if isinstance(answer, Response):
                share.grow(len(answer.body) - share.size)
                budget.hold(answer, share)
        return answer

    async def _decompress(self, request: Request, response: Response) -> _Decoded:
        encodings = response.headers.getlist(b"Content-Encoding")
        layers, _ = self._split_encodings(encodings)
        if not layers:
            return _Decoded(None)
        if len(layers) > MAX_ENCODINGS:
            return _Decoded(OSError(f"more than {MAX_ENCODINGS} encodings"))
        max_size = request.meta.get("download_maxsize", self._max_size)
        decode = partial(self._decode_layers, response.body, encodings, layers)
        if len(layers) == 1 and len(response.body) <= LARGE:
            least = min(max_size, ON_LOOP) if max_size > 0 else ON_LOOP
            decoded = decode(least)
            if not isinstance(decoded.body, _DecompressionMaxSizeExceeded) or 0 < max_size <= ON_LOOP:
                return decoded
        return await off_loop(decode, max_size)

    def _decode_layers(self, body: bytes, encodings: list[bytes], layers: list[bytes], max_size: int) -> _Decoded:
        """Decompress in any thread; ``layers``: the known ones of ``encodings``, the last one first."""
        last = layers[0].decode("latin-1")
        content = content_of(body, last, max_size if max_size > 0 else sys.maxsize) if len(layers) == 1 else None
        if content is not None:
            return _Decoded(content)
        try:
            return _Decoded(super()._handle_encoding(body, encodings, max_size)[0], is_cut(body, last))
        except (*_BROKEN, _DecompressionMaxSizeExceeded) as error:
            # its frames hold the decompressed data, up to the size limit
            return _Decoded(error.with_traceback(None), isinstance(error, EOFError))

    def _replace(self, request: Request, response: Response, decoded: _Decoded) -> Request | Response:
        is_truncated = decoded.is_cut and "download_stopped" not in response.flags
        if is_truncated:
            request.meta[CUT] = True
        self._decoded = decoded.body
        try:
            answer = super().process_response(request, response)
        except _BROKEN as error:
            self._count("broken")
            note_end(self._of, request, Ending(Reason.UNDECODABLE))
            raise IgnoreRequest(f"cannot decompress {response}: {error}") from error
        except IgnoreRequest as error:
            if isinstance(error.__cause__, _DecompressionMaxSizeExceeded):
                self._count("too_large")
                note_end(self._of, request, Ending(Reason.TOO_LARGE))
            raise
        finally:
            self._decoded = None
        if is_truncated:
            self._count("truncated")
        if is_truncated and isinstance(answer, Response) and "dataloss" not in answer.flags:
            answer = answer.replace(flags=[*answer.flags, "dataloss"])
        return answer

    def _handle_encoding(self, body: bytes, content_encoding: list[bytes], max_size: int) -> tuple[bytes, list[bytes]]:
        if isinstance(self._decoded, Exception):
            raise self._decoded
        if self._decoded is None:
            return super()._handle_encoding(body, content_encoding, max_size)
        return self._decoded, self._split_encodings(content_encoding)[1]

    @staticmethod
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        check_parts(body, encoding.decode("latin-1"))
        return HttpCompressionMiddleware._decode(body, encoding, max_size)

    def _count(self, what: str) -> None:
        assert self.stats is not None
        self.stats.inc_value(f"httpcompression/{what}")
