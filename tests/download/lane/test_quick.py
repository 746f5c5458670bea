"""The quick methods do what those of Scrapy's middlewares do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.http import Request, Response
from scrapy.settings import Settings
from scrapy.spidermiddlewares.referer import RefererMiddleware
from scrapy.utils.request import request_httprepr
from scrapy.utils.test import get_crawler

from crawlproject.download.lane.quick import quick, quick_process, size_of_request
from crawlproject.middlewares.compression import OffLoopCompressionMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

REQUESTS = [
    Request("http://a.example"),
    Request("https://a.example/?"),
    Request("http://a.example:8080/a/b?c=d&e#fragment"),
    Request("http://a.example//a//b"),
    Request("http://a.example/a;b/c;d?e"),
    Request("http://a.example/a;"),
    Request("http://A.Example/?x"),
    Request("http://user:word@a.example/"),
    Request("http://[::1]:80/a"),
    Request("http://a.example/\u00e4?\u00f6"),
    Request("http://a.example/", method="HEAD"),
    Request("http://a.example/", method="POST", body="x=1"),
    Request("http://a.example/", headers={"x-a": ["1", "2"], "User-Agent": "me", "Accept": ""}),
    Request("http://a.example/", headers={"X": "\u00e4"}, encoding="latin-1"),
    Request("http://a.example/", headers={"accept-encoding": "br"}),
]
RESPONSES = [
    Response("http://a.example/"),
    Response("http://a.example/", status=404, body=b"gone", headers={"Set-Cookie": ["a=1", "b=2"], "Server": "x"}),
    Response("http://a.example/", status=299, headers={"X": []}),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_size_of_a_request(request_: Request) -> None:
    assert size_of_request(request_) == len(request_httprepr(request_))


def test_stats_are_those_of_scrapy() -> None:
    def counted(method: Callable[[Any], Callable[..., Any]]) -> dict[str, Any]:
        middleware = DownloaderStats.from_crawler(get_crawler())
        sends, receives = method(middleware.process_request), method(middleware.process_response)
        for request in REQUESTS:
            assert sends(request=request) is None
        for response in RESPONSES:
            assert receives(request=REQUESTS[0], response=response) is response
        return middleware.stats.get_stats()

    assert counted(_quick) == counted(lambda method: method)


def test_headers_are_those_of_scrapy() -> None:
    def sent(method: Callable[[Any], Callable[..., Any]]) -> list[Any]:
        settings = {
            "USER_AGENT": "bot",
            "DEFAULT_REQUEST_HEADERS": {"accept": "text/*", "ACCEPT": "image/*", "X-Both": "\u00e4", "X-N": None},
        }
        crawler = get_crawler(settings_dict=settings)
        kinds = (DefaultHeadersMiddleware, UserAgentMiddleware, HttpCompressionMiddleware, OffLoopCompressionMiddleware)
        requests = [request.copy() for request in REQUESTS]
        for request in requests:
            for middleware in [kind.from_crawler(crawler) for kind in kinds]:
                assert method(middleware.process_request)(request=request) is None
        requests[0].headers.appendlist("Accept", "image/*")  # what one request changes is its own
        return [list(request.headers.items()) for request in requests]

    assert sent(_quick) == sent(lambda method: method)


@pytest.mark.parametrize("policy", ["scrapy-default", "no-referrer-when-downgrade", "same-origin", "no-referrer"])
@pytest.mark.parametrize("header", [None, "origin", "nonsense"])
@pytest.mark.filterwarnings("ignore:Could not load referrer policy")
def test_referrers_are_those_of_scrapy(policy: str, header: str | None) -> None:
    middleware = RefererMiddleware(Settings({"REFERRER_POLICY": policy}))
    process = quick_process(middleware)
    assert process is not None
    urls = ["http://a.example:80/b?c#d", "https://u:p@a.example/", "file:///etc/hosts", "https://other.example/a;b?"]
    targets = [*REQUESTS, Request("ftp://a.example/"), Request("https://a.example/x", headers={"Referer": "mine"})]
    targets += [Request("http://a.example/y", meta={"referrer_policy": "origin"})]
    for url in urls:
        response = Response(url, headers={} if header is None else {"Referrer-Policy": header})
        for target in targets:
            ours, theirs = target.copy(), target.copy()
            assert process(ours, response) is ours
            middleware.get_processed_request(theirs, response)
            assert ours.headers == theirs.headers, (url, target)


def test_a_subclass_may_do_anything() -> None:
    class Other(UserAgentMiddleware):
        pass

    assert quick(Other().process_request) is None
    assert quick_process(object()) is None


def _quick(method: Any) -> Callable[..., Any]:
    found = quick(method)
    assert found is not None
    return found
