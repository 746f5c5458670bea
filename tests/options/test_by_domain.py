"""The settings of one spider among several."""

from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.settings import Settings

from crawlproject.options import by_domain
from crawlproject.options.by_domain import DomainOptions, OwnSettings


def own(crawl: Settings, **values: Any) -> OwnSettings:
    settings = OwnSettings(crawl)
    settings.setdict(values, priority="spider")
    return settings


def options(crawl: Settings, spider: object = None, **values: Any) -> DomainOptions:
    settings = own(crawl, **values)
    return DomainOptions.of(spider or SimpleNamespace(), settings, by_domain.changed(settings, crawl))


def test_what_holds_for_requests() -> None:
    """As keys of ``meta`` and headers; attributes of the spider count as its settings."""
    spider = SimpleNamespace(handle_httpstatus_list=[404], download_delay=3)
    found = options(Settings(), spider, RETRY_TIMES="5", USER_AGENT="a", DEFAULT_REQUEST_HEADERS={"X": "1", "Y": None})
    assert found.meta == {"max_retry_times": 5, "handle_httpstatus_list": [404]}
    assert found.headers == {"User-Agent": "a", "X": "1"}
    assert found.slot == {"delay": 3.0}


def test_what_holds_for_the_spider() -> None:
    """The stricter of two limits."""
    found = options(
        Settings(),
        FRONTIER_MAX_PAGES=7,
        CLOSESPIDER_PAGECOUNT=9,
        CLOSESPIDER_ITEMCOUNT=0,
        DEPTH_LIMIT=2,
        ITEM_PIPELINES={"x": 1},
    )
    assert found.limits == {"pages": (7, "closespider_pagecount")}
    assert (found.depth_limit, found.has_pipelines) == (2, True)
    assert options(Settings()).depth_limit == inf


def test_the_command_line_comes_first() -> None:
    """And what is as it was has not been changed."""
    crawl = Settings()
    crawl.set("DOWNLOAD_DELAY", 1, priority="cmdline")
    settings = own(crawl, DOWNLOAD_DELAY=5, LOG_LEVEL="DEBUG")
    assert by_domain.changed(settings, crawl) == []
    assert settings.getfloat("DOWNLOAD_DELAY") == 1
    crawl.set("NEW", "later")
    assert settings["NEW"] == "later"


def test_one_spider_switches_on_what_is_off_for_others() -> None:
    """Cookies and the like hold for its requests only."""
    crawl = Settings({"ROBOTSTXT_OBEY": True, "COOKIES_ENABLED": False})
    off = by_domain.switch({"a": own(crawl, COOKIES_ENABLED=True), "b": own(crawl, ROBOTSTXT_OBEY=False)}, crawl)
    assert crawl.getbool("COOKIES_ENABLED")
    assert off == {
        None: {"dont_merge_cookies": True},
        "a": {},
        "b": {"dont_merge_cookies": True, "dont_obey_robotstxt": True},
    }
    with pytest.raises(ValueError, match="HTTPCACHE_ENABLED: cannot be switched on while the crawl runs"):
        by_domain.switched_off(own(crawl, HTTPCACHE_ENABLED=True), crawl)


def test_a_login_is_not_sent_to_other_domains() -> None:
    """The one that it is for must cover all of the spider's."""
    spider = SimpleNamespace(http_user="me", http_auth_domain="a.example", allowed_domains=["www.a.example"])
    assert "Authorization" in options(Settings(), spider).headers
    spider.allowed_domains = ["www.a.example", "bada.example"]
    with pytest.raises(ValueError, match=r"http_auth_domain='a\.example' does not cover all allowed_domains"):
        options(Settings(), spider)
