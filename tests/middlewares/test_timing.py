"""The quick stats of requests and answers, compared with Scrapy's."""

from __future__ import annotations

import pytest
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.timing import QuickDownloaderStats

URLS = [
    "http://h.test",
    "http://h.test/",
    "http://h.test:8080/a/b?c=d&e=%20",
    "https://H.test/a;v=1/b;w=2?x",
    "http://h.test/?",
    "http://h.test/a?#top",
    "http://h.test/a#top",
    "http://h.test?q=1",
    "http://h.test//double//slash",
    "http://user:word@h.test/a",
    "http://[::1]:8080/a",
    "http://[::1]/",
    "http://h.test:/a",
    "http://h.test/ä?ö=ü",
    "http://münchen.test/ü",
    "http://h.test/a%00b",
    "http://h.test/a b?c d",
    "http://h.test/?a=1;b=2",
    "file:///etc/hosts",
    "data:,text",
]
HEADERS = [{}, {"A": "1"}, {"A": ["1", "22"], "Long-Name": "value"}, {"Empty": []}, {"Empty": [], "A": "1"}]
MESSAGES = [
    Request(url, method=method, headers=headers, body=body)
    for url in URLS
    for headers in HEADERS
    for method, body in (("GET", b""), ("post", b"a=1"))
]


def _counted(
    kind: type[DownloaderStats], settings: dict[str, object] | None = None
) -> tuple[DownloaderStats, dict[str, object]]:
    crawler = get_crawler(settings_dict=settings)
    assert crawler.stats is not None
    return kind.from_crawler(crawler), crawler.stats._stats


def test_messages_count_as_with_scrapy() -> None:
    """Requests and answers."""
    (ours, our_stats), (scrapys, scrapy_stats) = _counted(QuickDownloaderStats), _counted(DownloaderStats)
    for request in MESSAGES:
        ours.process_request(request)
        scrapys.process_request(request)
        assert our_stats == scrapy_stats, request
    for status in (200, 404, 999):
        for headers in HEADERS:
            response = Response(request.url, status=status, headers=headers, body=b"12345")
            assert ours.process_response(request, response) is response
            scrapys.process_response(request, response)
            assert our_stats == scrapy_stats, headers


def test_they_can_be_switched_off() -> None:
    with pytest.raises(NotConfigured):
        _counted(QuickDownloaderStats, {"DOWNLOADER_STATS": False})
