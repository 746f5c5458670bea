"""The quick referrer is that of Scrapy's middleware."""

from __future__ import annotations

import pytest
from scrapy.http import Request, Response
from scrapy.settings import Settings
from scrapy.spidermiddlewares.referer import RefererMiddleware

from crawlproject.download.lane.calls import quick_process

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
    class Other(RefererMiddleware):
        pass

    assert quick_process(Other(Settings())) is None
