"""Decompresses bodies off the event loop, within the memory budget for bodies; counts failures."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from scrapy.utils._compression import _DecompressionMaxSizeExceeded, brotli, zstd  # type: ignore[attr-defined]

from crawlproject.download.body_budget import crawl_budget
from crawlproject.download.compressed_parts import check_parts
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.requests.answers import has_header

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from crawlproject.download.body_budget import BodyBudget

#: What decompressors raise for invalid data; UnicodeError is for a ``Content-Encoding`` that is not ASCII.
_BROKEN = (OSError, EOFError, zlib.error, brotli.error, zstd.ZstdError, UnicodeError)

#: Encodings of one response that are decoded, the limit of curl: each may take as long as a whole body.
MAX_ENCODINGS = 5

#: Bytes that are decompressed on the event loop: a small body may hold any number of them.
ON_LOOP = 4_000_000

#: Encodings of a response that is compressed once, by gzip.
_GZIP = ([b"gzip"], [b"x-gzip"])


def _gunzip(body: bytes, max_size: int) -> bytes | None:
    """The content of a complete and simple gzip file of at most ``max_size`` > 0 bytes; None of any other.

    Half the time of Python's ``gzip``, which Scrapy uses for all.
    """
    decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        content = decoder.decompress(body, max_size)
    except zlib.error:
        return None
    return content if decoder.eof and not decoder.unused_data else None


class OffLoopCompressionMiddleware(HttpCompressionMiddleware):
    """Decompresses within the memory budget, and large bodies off the event loop; counts failures.

    Stats: ``httpcompression/broken`` and ``httpcompression/too_large`` (the response is ignored),
    ``httpcompression/truncated`` (the part received is kept).
    """

    #: The body of the current response, decompressed, or the error; None if no encoding of it is known.
    _decoded: bytes | Exception | None = None

    def __init__(self, stats: StatsCollector | None = None, *, crawler: Crawler | None = None) -> None:
        super().__init__(stats, crawler=crawler)
        self._budget = None if crawler is None else crawl_budget(crawler)

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
            decoded = await self._decompress(request, response) if request.method != "HEAD" else None
            answer = self._replace(request, response, decoded)
            if isinstance(answer, Response):
                share.grow(len(answer.body) - share.size)
                budget.hold(answer, share)
        return answer

    async def _decompress(self, request: Request, response: Response) -> bytes | Exception | None:
        """See ``_decoded``."""
        encodings = response.headers.getlist(b"Content-Encoding")
        layers, _ = self._split_encodings(encodings)
        if not layers:
            return None
        if len(layers) > MAX_ENCODINGS:
            return OSError(f"more than {MAX_ENCODINGS} encodings")
        max_size = request.meta.get("download_maxsize", self._max_size)
        decode = super()._handle_encoding  # uses no shared state
        try:
            if len(layers) == 1 and len(response.body) <= LARGE:
                least = min(max_size, ON_LOOP) if max_size > 0 else ON_LOOP
                content = _gunzip(response.body, least) if layers in _GZIP else None
                try:
                    return decode(response.body, encodings, least)[0] if content is None else content
                except _DecompressionMaxSizeExceeded:
                    if 0 < max_size <= ON_LOOP:
                        raise
            return (await off_loop(decode, response.body, encodings, max_size))[0]
        except (*_BROKEN, _DecompressionMaxSizeExceeded) as error:
            return error.with_traceback(None)  # its frames hold the decompressed data, up to the size limit

    def _replace(self, request: Request, response: Response, decoded: bytes | Exception | None) -> Request | Response:
        is_gzip = response.headers.getlist(b"Content-Encoding") in _GZIP
        self._decoded = decoded
        try:
            answer = super().process_response(request, response)
        except _BROKEN as error:
            self._count("broken")
            raise IgnoreRequest(f"cannot decompress {response}: {error}") from error
        except IgnoreRequest as error:
            if isinstance(error.__cause__, _DecompressionMaxSizeExceeded):
                self._count("too_large")
            raise
        finally:
            self._decoded = None
        if is_gzip and int.from_bytes(response.body[-4:], "little") != len(answer.body) & 0xFFFFFFFF:
            self._count("truncated")  # RFC 1952 §2.3.1: the last 4 bytes are the length
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
