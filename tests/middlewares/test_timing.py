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


@pytest.mark.parametrize(
    "request_", MESSAGES, ids=lambda request: f"{request.method} {request.url} {len(request.headers)}"
)
def test_requests_count_as_with_scrapy(request_: Request) -> None:
    (ours, our_stats), (scrapys, scrapy_stats) = _counted(QuickDownloaderStats), _counted(DownloaderStats)
    ours.process_request(request_)
    scrapys.process_request(request_)
    assert our_stats == scrapy_stats


@pytest.mark.parametrize("headers", HEADERS, ids=str)
@pytest.mark.parametrize("status", [200, 404, 999])
def test_answers_count_as_with_scrapy(status: int, headers: dict[str, object]) -> None:
    (ours, our_stats), (scrapys, scrapy_stats) = _counted(QuickDownloaderStats), _counted(DownloaderStats)
    request = Request("http://h.test/")
    response = Response(request.url, status=status, headers=headers, body=b"12345")
    assert ours.process_response(request, response) is response
    scrapys.process_response(request, response)
    assert our_stats == scrapy_stats


def test_they_can_be_switched_off() -> None:
    with pytest.raises(NotConfigured):
        _counted(QuickDownloaderStats, {"DOWNLOADER_STATS": False})
