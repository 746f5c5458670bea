"""Large pages are parsed off the event loop, once, with all that anybody will ask for."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from crawlproject.discovery import page_reading
from crawlproject.discovery.page_reading import LargePageMiddleware, read_page
from crawlproject.middlewares.page_types import BY_TYPE
from crawlproject.off_loop import LARGE


@pytest.mark.parametrize("status", [200, 203])
@pytest.mark.parametrize(
    "settings", [{}, {"DUPLICATES_NEAR": False}, {"DUPLICATES_NEAR": False, "GUARD_ENABLED": False}]
)
def test_a_large_page_is_parsed_once_off_the_loop(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], status: int
) -> None:
    """With its text where duplicates or the guard of traps want it; whatever status the spider is given."""
    threads: list[str] = []
    extract = page_reading.extract

    def noted(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread().name)
        return extract(*args, **kwargs)

    monkeypatch.setattr(page_reading, "extract", noted)
    request = Request("http://a.example/", meta={BY_TYPE: True})
    body = b"<p>" + b"word " * LARGE
    page = HtmlResponse(request.url, status, {"Content-Type": "text/html"}, body, request=request)
    middleware = LargePageMiddleware.from_crawler(get_crawler(settings_dict=settings))
    answer = asyncio.run(middleware.process_response(request, page))
    is_text_wanted = settings.get("GUARD_ENABLED", True)
    assert (read_page(answer, with_text=is_text_wanted).text is None) is not is_text_wanted
    assert len(threads) == 1
    assert threads[0] != threading.main_thread().name
