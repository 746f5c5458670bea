"""Cookies that Python's module does not accept."""

import pytest
import requests
from scrapy import Request
from scrapy.downloadermiddlewares import cookies
from scrapy.http import Response
from scrapy.utils.test import get_crawler
from tldextract import TLDExtract

from crawlproject.middlewares.cookies import MAX_COOKIE, MAX_COOKIES, TolerantCookiesMiddleware

UNREADABLE = [
    "bad=1; max-age=-" + "9" * 4_000,
    "bad=1; Max-Age=" + "9" * 4_000,
    "bad=1; Expires=Fri, 31 Dec 99999999 23:59:59 GMT",
    "bad=" + "x" * MAX_COOKIE,
]


def sent(*lines: str) -> tuple[bytes | None, int]:
    """The ``Cookie`` header of a request after an answer with these ``Set-Cookie`` lines, and how many were skipped."""
    crawler = get_crawler()
    middleware = TolerantCookiesMiddleware.from_crawler(crawler)
    request = Request("http://a.test/")
    middleware.process_response(request, Response(request.url, headers={"Set-Cookie": list(lines)}))
    following = Request("http://a.test/b")
    middleware.process_request(following)
    assert crawler.stats is not None
    return following.headers.get("Cookie"), crawler.stats.get_value("cookies/skipped", 0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("line", UNREADABLE, ids=["max-age", "huge age", "expires", "length"])
def test_invalid_cookie_costs_no_other_cookie(line: str) -> None:
    """With Python's module it costs all cookies of the answer and a traceback."""
    cookies, _ = sent("a=1", line, "b=2")
    assert cookies is not None
    assert {b"a=1", b"b=2"} <= set(cookies.split(b"; "))


def test_number_of_cookies_per_answer_is_bounded() -> None:
    """Cookies beyond the limit are counted."""
    cookies, skipped = sent(*(f"c{number}=x" for number in range(MAX_COOKIES + 9)))
    assert cookies is not None
    assert (cookies.count(b"="), skipped) == (MAX_COOKIES, 9)


def test_number_of_cookies_per_domain_is_bounded() -> None:
    """The oldest are forgotten: a server that sends other names in each answer gets no endless header."""
    crawler = get_crawler()
    middleware = TolerantCookiesMiddleware.from_crawler(crawler)
    request = Request("http://a.test/")
    for answer in range(3):
        lines = [f"c{answer}-{number}=x; Path=/{'p' * (number % 2)}" for number in range(100)]
        middleware.process_response(request, Response(request.url, headers={"Set-Cookie": lines}))
    following = Request("http://a.test/p")
    middleware.process_request(following)
    cookies = (following.headers.get("Cookie") or b"").split(b"; ")
    assert len(cookies) == MAX_COOKIES
    assert b"c2-99=x" in cookies
    assert crawler.stats is not None
    assert crawler.stats.get_value("cookies/skipped") == 300 - MAX_COOKIES


def test_list_of_public_suffixes_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy fetches it at the first cookie with a domain, and blocks the event loop meanwhile."""
    asked = []
    monkeypatch.setattr(cookies, "_split_domain", TLDExtract(include_psl_private_domains=True, cache_dir=None))
    monkeypatch.setattr(requests.Session, "get", lambda _self, url, **_: asked.append(url))
    assert sent("a=1; Domain=a.test", "b=2; Domain=test") == (b"a=1", 0)
    assert not asked
