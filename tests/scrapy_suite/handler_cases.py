"""Scrapy's base classes of tests for download handlers, with ours; copied among Scrapy's tests to be run there."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from crawlproject.download.handler import FrontierDownloadHandler
from crawlproject.download.resolver import CachingResolver
from tests.utils.bases import download_handlers_http as bases

PATH = "crawlproject.download.handler.FrontierDownloadHandler"


class Ours:
    """The handler to be tested."""

    @property
    def download_handler_cls(self) -> type[FrontierDownloadHandler]:
        return FrontierDownloadHandler

    @property
    def settings_dict(self) -> dict[str, Any]:
        return {"DOWNLOAD_HANDLERS": {"http": PATH, "https": PATH}}

    @pytest.fixture
    def resolve_to_loopback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Scrapy's fixture, for the resolver in use."""

        async def addresses(resolver: CachingResolver, host: str) -> tuple[str, ...]:
            return ("127.0.0.1",)

        monkeypatch.setattr(CachingResolver, "addresses", addresses)


class TestHttp(Ours, bases.TestHttpBase):
    pass


class TestHttps(Ours, bases.TestHttpsBase):
    tls_log_message = "TLS connection to https://127.0.0.1:"

    @pytest.mark.skip(reason="the check is for Twisted's handlers")
    def test_verify_certs_deprecated(self) -> None:
        pass


class TestSimpleHttps(Ours, bases.TestSimpleHttpsBase):
    pass


class TestHttpsWrongHostname(Ours, bases.TestHttpsWrongHostnameBase):
    pass


class TestHttpsInvalidDNSId(Ours, bases.TestHttpsInvalidDNSIdBase):
    pass


class TestHttpsInvalidDNSPattern(Ours, bases.TestHttpsInvalidDNSPatternBase):
    pass


class TestHttpsCustomCiphers(Ours, bases.TestHttpsCustomCiphersBase):
    pass


class TestHttpsDefaultCiphers(Ours, bases.TestHttpsDefaultCiphersBase):
    pass


class TestHttpsTLSVersion(Ours, bases.TestHttpsTLSVersionBase):
    pass


class TestHttpWithCrawler(Ours, bases.TestHttpWithCrawlerBase):
    pass


class TestHttpsWithCrawler(TestHttpWithCrawler):
    is_secure = True


class TestHttpProxy(Ours, bases.TestHttpProxyBase):
    expected_http_proxy_request_body = b"http://example.com/"  # as by Scrapy's handler on httpx


class TestHttpsProxy(TestHttpProxy):
    is_secure = True

    @property
    def handler_supports_tls_in_tls(self) -> bool:
        return sys.version_info >= (3, 11)
