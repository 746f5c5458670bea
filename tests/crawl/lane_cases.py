"""Spiders whose pages take the fast lane, one practice of projects each; they do not depend on this project."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scrapy import Request, signals
from scrapy.http import Response

from tests.crawl.ordinary_spiders import SiteSpider

#: What a page's item has of its metadata.
META = (
    "case",
    "depth",
    "download_slot",
    "http_user",
    "max_retry_times",
    "redirect_reasons",
    "redirect_times",
    "redirect_ttl",
    "redirect_urls",
    "retry_times",
)


class CasesSpider(SiteSpider):
    """Requests each place of ``cases`` and reports the page; its answer has the head of the request."""

    name = "cases"

    def case(self, case: str, place: str, **kwargs: Any) -> Request:
        kwargs = {"callback": self.page} | kwargs
        kwargs["meta"] = {"case": case, **kwargs.get("meta", {})}
        return Request(self.url(place), **kwargs)

    def page(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield self.item(response)

    def item(self, response: Response) -> dict[str, Any]:
        return {
            "case": response.meta["case"],
            "url": response.url,
            "asked": response.request.url,
            "status": response.status,
            "type": type(response).__name__,
            "headers": {
                name.decode("latin-1"): [value.decode("latin-1") for value in values]
                for name, values in sorted(response.headers.items())
                if name not in (b"Date", b"Connection", b"Content-Length")
            },
            "flags": response.flags,
            "body": response.body.decode("latin-1"),
            "sent": {
                name.decode("latin-1"): [value.decode("latin-1") for value in values]
                for name, values in response.request.headers.items()
            },
            "meta": {name: response.meta.get(name) for name in META},
        }

    def failed(self, failure: Any) -> Iterator[Any]:
        request = failure.request
        yield {
            "case": request.meta["case"],
            "url": request.url,
            "error": type(failure.value).__name__,
            "why": str(failure.value),
        }

    async def start(self) -> AsyncIterator[Any]:
        for request in self.requests():
            yield request

    def requests(self) -> Iterator[Request]:
        c = self.case
        # retries
        yield c("retry", "1/500")
        yield c("retry", "1/500?none", meta={"dont_retry": True})
        yield c("retry", "1/500?one", meta={"max_retry_times": 1})
        yield c("retry", "1/500?zero", meta={"max_retry_times": 0})
        yield c("retry", "1/500?five", meta={"max_retry_times": 5, "handle_httpstatus_all": True})
        yield c("retry", "1/500?errback", errback=self.failed)
        yield c("retry", "1/404")
        yield c("retry", "1/404?errback", errback=self.failed)
        yield c("retry", "1/404?list", meta={"handle_httpstatus_list": [404]})
        yield c("retry", "1/418", meta={"handle_httpstatus_all": True})
        yield c("retry", "1/twice")
        # redirects
        for n in (1, 2, 3, 4, 5):
            yield c("chain", f"1/chain{n}?r{n}")
        yield c("chain", "1/chain6?err", errback=self.failed)
        yield c("redirect", "1/to?x", meta={"dont_redirect": True})
        yield c("redirect", "1/to?y", meta={"dont_redirect": True, "handle_httpstatus_list": [302]})
        yield c("redirect", "1/to?z", meta={"handle_httpstatus_list": [302]})
        yield c("redirect", "1/to?all", meta={"handle_httpstatus_all": True})
        for status in (300, 301, 302, 303, 304, 305, 307, 308):
            yield c("redirect", f"1/status{status}")
        yield c("redirect", "1/relative/a")
        yield c("redirect", "1/protocol")
        yield c("redirect", "1/query")
        yield c("redirect", "1/part#one")
        yield c("redirect", "1/topart#one")
        yield c("redirect", "1/tls")
        yield c("redirect", "1/refresh")
        yield c("redirect", "1/refresh?dont", meta={"dont_redirect": True})
        yield c("redirect", "1/refresh3000")
        yield c("redirect", "1/refreshbase")
        yield c("redirect", "1/noscript")
        yield c("redirect", "1/location200")
        yield c("redirect", "1/away", headers={"Authorization": "Basic x", "Cookie": "a=b", "X-A": "1"})
        yield c("redirect", "1/to?auth", headers={"Authorization": "Basic x", "Cookie": "a=b", "X-A": "1"})
        yield c("redirect", "1/times", meta={"redirect_times": 2, "redirect_ttl": 1})
        yield c("redirect", "1/manyheaders")
        # headers
        yield c("headers", "1/echo?1", headers={"X-A": ["1", "2"], "x-b": "b", "ACCEPT": "x/y"})
        yield c("headers", "1/echo?2", headers={"X-E": b"\xe9\xff", "X-U": "\u20ac"})
        yield c("headers", "1/echo?3", headers={"User-Agent": "me"})
        yield c("headers", "1/echo?4", headers={"User-Agent": None, "Accept": None})
        yield c("headers", "1/echo?5", headers={"Host": "other.example", "Connection": "close"})
        yield c("headers", "1/echo?6", headers={"Accept-Encoding": "identity", "Referer": "http://z.example/"})
        yield c("headers", "1/echo?7", headers={"X-E": ""}, encoding="latin-1")
        yield c("headers", "1/echo?8", headers={"X-E": "\xe9"}, encoding="latin-1")
        yield c("headers", "1/echo?9", cookies={"a": "1"})
        yield c("headers", "1/echo?a", headers={"Cookie": ["a=1", "b=2"]})
        yield c("headers", "1/echo?c", headers={"Proxy-Authorization": "Basic zzz"})
        yield c("headers", "1/setcookie")
        yield c("headers", "1/notype")
        yield c("headers", "1/twotypes")
        yield c("headers", "1/latin")
        # passwords
        yield c("auth", "1/echo?auth1", meta={"http_user": "u", "http_pass": "p"})
        yield c("auth", "1/echo?auth2", meta={"http_user": "u"})
        yield c("auth", "1/echo?auth3", meta={"http_user": "u", "http_auth_domain": "example.org"})
        yield c("auth", "1/echo?auth4", meta={"http_user": "", "http_pass": ""})
        yield c("proxy", "1/echo?none", meta={"proxy": None})
        yield c("size", "1/large", meta={"download_maxsize": 100}, errback=self.failed)
        yield c("size", "1/large?w", meta={"download_warnsize": 100})
        limits = dict.fromkeys(("download_maxsize", "download_timeout", "download_warnsize"))
        yield c("no limit", "1/echo?none", meta=limits, errback=self.failed)
        yield c("no limit", "1/echo?zero", meta=dict.fromkeys(limits, 0), errback=self.failed)
        yield c("no limit", "1/page?post", method="POST", meta=limits, errback=self.failed)
        yield c("timeout", "1/slow", meta={"download_timeout": 0.3, "dont_retry": True}, errback=self.failed)
        yield c("loss", "1/short", meta={"download_fail_on_dataloss": False})
        yield c("follow", "1/links", callback=self.follow, meta={"tag": 1})
        yield c("follow", "3/links", callback=self.follow, meta={"tag": 2, "referrer_policy": "unsafe-url"})
        yield c("follow", "1/links?policy", callback=self.follow, meta={"tag": 3, "referrer_policy": "no-referrer"})
        yield c("follow", "1/policy", callback=self.follow, meta={"tag": 4})
        yield c("follow", "3/links?2", callback=self.follow, meta={"tag": 5})
        yield c("raise", "1/page?1", callback=self.raising)
        yield c("raise", "1/page?2", callback=self.nothing)
        yield c("raise", "1/page?3", callback=self.things)
        yield c("raise", "1/page?4", callback=self.kwargs, cb_kwargs={"a": 1})
        yield c("raise", "1/page?5", callback=self.kwargs, cb_kwargs={"b": 1})

    def follow(self, response: Response) -> Iterator[Any]:
        tag = response.meta["tag"]
        for n, place in enumerate(("1/echo", "2/echo", "3/echo", "2/to")):
            yield self.case("followed", f"{place}?{n}&{tag}")
        yield self.case("followed", f"2/echo?m{tag}", meta={"referrer_policy": "origin"})
        yield self.case("followed", f"2/echo?r{tag}", headers={"Referer": "mine"})
        yield self.case("followed", f"2/echo?p{tag}", priority=5, flags=["a"])
        yield self.case("followed", f"2/echo?same{tag}")
        yield self.case("followed", f"2/echo?same{tag}", dont_filter=True)

    def raising(self, response: Response) -> Iterator[Any]:
        yield self.item(response)
        raise ValueError("no")

    def nothing(self, response: Response) -> Iterator[Any]:
        yield None
        yield self.item(response)
        return

    def things(self, response: Response) -> Iterator[Any]:
        @dataclass
        class Thing:
            case: str
            url: str

        yield Thing("raise", response.url)

    def kwargs(self, response: Response, a: int) -> Iterator[Any]:
        yield {"case": "raise", "url": response.url, "a": a}


class LateSpider(CasesSpider):
    """Connects receivers of ``names`` in a callback, while other requests are under way; counts what they are told."""

    name = "late"
    names = ""

    def requests(self) -> Iterator[Request]:
        yield self.case("signals", "1/now", callback=self.first)
        yield self.case("signals", "2/soon")
        yield self.case("signals", "3/slowly")

    def first(self, response: Response) -> Iterator[Any]:
        self.receivers = [self.receiver(name) for name in self.names.split(",")]  # signals hold them weakly
        yield self.item(response)
        for place in ("1/a", "1/a", "1/b", "2/404"):
            yield self.case("signals", place)

    def receiver(self, name: str) -> Callable[..., None]:
        """Connect a receiver of all arguments of a signal."""

        def told(*, signal: object, sender: object, **values: Any) -> None:
            assert signal is getattr(signals, name)
            assert sender is self.crawler
            about = values.get("request") or values.get("response") or values["item"]
            url = about["url"] if isinstance(about, dict) else about.url
            self.crawler.stats.inc_value(f"told/{name}/{url}/{','.join(sorted(values))}")

        self.crawler.signals.connect(told, getattr(signals, name))
        return told
