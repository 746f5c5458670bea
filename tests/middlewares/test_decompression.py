"""Bodies are decompressed off the event loop; a failure is counted and leaves no memory in use."""

from __future__ import annotations

import asyncio
import gzip
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import brotli
import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils._compression import zstd  # type: ignore[attr-defined]
from scrapy.utils.test import get_crawler

from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.compressed_parts import MAX_PARTS
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import Crawl
from crawlproject.middlewares import compression
from crawlproject.middlewares.compression import ON_LOOP, OffLoopCompressionMiddleware

SIZE = 200 * LARGE


@pytest.mark.parametrize(("layers", "encodings"), [(2, "gzip, gzip"), (1, "gzip")])
def test_decompression_bomb_leaves_no_memory_in_use(layers: int, encodings: str) -> None:
    """The error has no frames of the decompressor, which would hold up to the whole limit."""
    crawler = get_crawler(settings_dict={"DOWNLOAD_MAXSIZE": SIZE // 2})
    assert crawler.stats is not None
    middleware = OffLoopCompressionMiddleware.from_crawler(crawler)
    # a single layer is decompressed off the loop if it is large
    body = gzip.compress(bytes(SIZE), 9 if layers > 1 else 0)
    for _ in range(layers - 1):
        body = gzip.compress(body)
    request = Request("http://a.example/")
    answer = Response(request.url, headers={"Content-Encoding": encodings}, body=body)

    async def process() -> None:
        result = middleware.process_response(request, answer)
        assert isinstance(result, Awaitable)
        await result

    with pytest.raises(IgnoreRequest) as raised:
        asyncio.run(process())
    cause = raised.value.__cause__
    assert cause is not None
    names = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert not [name for name in names if "gunzip" in name or "decode" in name], names
    assert crawler.stats.get_value("httpcompression/too_large") == 1
    assert Crawl.of(crawler).part(BodyBudget).total == 0


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstd.compress)]
)
@pytest.mark.parametrize(("size", "is_on_loop"), [(1000, True), (ON_LOOP + 1, False)])
def test_small_body_with_much_content_is_decompressed_off_the_loop(
    monkeypatch: pytest.MonkeyPatch, encoding: str, compress: Callable[[bytes], bytes], size: int, is_on_loop: bool
) -> None:
    """1,617 bytes of brotli hold 1 GiB, which takes 2.5 s."""
    calls = []

    async def counted(*args: Any) -> Any:
        calls.append(args)
        return await off_loop(*args)

    monkeypatch.setattr(compression, "off_loop", counted)
    body = compress(bytes(size))
    assert len(body) < LARGE
    request = Request("http://a.example/")
    answer = Response(request.url, headers={"Content-Encoding": encoding}, body=body)

    async def process() -> Any:
        result = OffLoopCompressionMiddleware.from_crawler(get_crawler()).process_response(request, answer)
        assert isinstance(result, Awaitable)
        return await result

    assert asyncio.run(process()).body == bytes(size)
    assert (not calls) == is_on_loop


@pytest.mark.parametrize("encodings", ["gzip", "x-gzip", "zstd", "gzip, br", "zstd, gzip"])
@pytest.mark.parametrize("parts", [100, MAX_PARTS + 1])
def test_the_parts_of_a_body_are_bounded(encodings: str, parts: int) -> None:
    """Each part costs time: 3 million of 10 bytes took a minute, for which all other large pages waited."""
    pack: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}
    first, *others = encodings.removeprefix("x-").split(", ")
    body = pack[first](b"a") * parts
    for encoding in others:
        body = pack[encoding](body)
    crawler = get_crawler()
    middleware = OffLoopCompressionMiddleware.from_crawler(crawler)
    request = Request("http://a.example/")
    answer = Response(request.url, headers={"Content-Encoding": encodings}, body=body)

    async def process() -> Any:
        return await middleware.process_response(request, answer)  # type: ignore[misc]

    assert crawler.stats is not None
    if parts <= MAX_PARTS:
        assert asyncio.run(process()).body == b"a" * parts
    else:
        with pytest.raises(IgnoreRequest, match="parts"):
            asyncio.run(process())
    assert crawler.stats.get_value("httpcompression/broken", 0) == (parts > MAX_PARTS)
