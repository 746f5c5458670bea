"""Bodies are decompressed off the event loop; a failure is counted and leaves no memory in use."""

from __future__ import annotations

import asyncio
import gzip
import traceback
from collections.abc import Awaitable

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.download.body_budget import crawl_budget
from crawlproject.download.off_loop import LARGE
from crawlproject.middlewares.compression import OffLoopCompressionMiddleware

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
    assert crawl_budget(crawler).total == 0
