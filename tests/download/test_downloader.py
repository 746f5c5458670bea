"""The downloader: what it calls done, and when."""

import asyncio

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.download.downloader import FrontierDownloader

URL = "http://a.example/"
NO_HANDLERS = {"DOWNLOAD_HANDLERS": dict.fromkeys(("data", "file", "ftp", "http", "https", "s3"))}


@pytest.mark.parametrize("fails", [False, True])
def test_a_request_is_in_progress_until_the_engine_has_its_answer(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """Else the engine, woken in between, would find nothing in progress and end the crawl."""

    async def answered(request: Request) -> Response:
        await asyncio.sleep(0)
        if fails:
            raise OSError("no answer")
        return Response(request.url)

    async def fetch() -> None:
        downloader = FrontierDownloader(get_crawler(settings_dict=NO_HANDLERS))
        monkeypatch.setattr(downloader, "_to_end", answered)
        request = Request(URL)
        fetched = downloader.fetch(request)
        results: list[object] = []
        fetched.addBoth(results.append)
        while not results:
            assert request in downloader.active
            await asyncio.sleep(0)
        assert request not in downloader.active
        assert downloader.active.take_ended() == [request]
        assert isinstance(results[0], Response) is not fails

    asyncio.run(fetch())
