"""Addresses that strangers write lead where Chromium goes, whether in a link, a header or a refresh."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from crawlproject.urls import Canonicalizer
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.recording_proxy import Recorder, answer, recording_proxy
from tests.monitor.browser import chromium

#: References to a page; its name, ``%d``, tells which one was read.  Not among them, because Chromium deviates from the
#: URL standard: spaces in a host are escaped, and frames are not loaded from addresses with a password.
REFERENCES = [
    rb"\ok\t%d",
    rb"//h.test\t%d",
    rb"/\h.test/t%d",
    b"http:///h.test/t%d",
    b"///h.test/t%d",
    b"http:t%d",
    b"http:/t%d",
    b"HTTP://H.Test:80/t%d",
    b"//h.test:81/t%d",
    b"//h.test:/t%d",
    b"//h.test./t%d",
    b"/a/%%2e%%2e/t%d",
    b"/a/.%%2E/./t%d",
    b"../../t%d",
    b"t%d#part",
    b"?t%d",
    b" \t t%d \t",
    b"/a\tb/t%d",
    b"http://h%%2Etest/t%d",
    b"http://2130706437/t%d",
    b"http://0x7f.1/t%d",
    b"http://127.1/t%d",
    b"http://[0:0::1]/t%d",
    "http://faß.test/t%d".encode(),
    "http://MÜNCHEN.test/t%d".encode(),
    "http://ｈ。test/t%d".encode(),
    b"http://fa%%C3%%9F.test/t%d",
    "/ü/t%d".encode(),
    "/ü/t%d".encode("latin-1"),
    "/q?ü=t%d".encode(),
    "/q?ü=t%d".encode("latin-1"),
    "/q?\u20ac=t%d".encode(),
    b"/%%7euser/t%d",
    b"/%%c3%%bc/t%d",
    b"/a b/t%d",
    b"/%%zz%%/t%d",
    b"/a;b=c,d/t%d",
    b"/a//b/t%d",
    b"/a?b=c?d&e[]=t%d",
    b"http://[::1/t%d",
    b"http://h.test:99999/t%d",
    b"http://%%FF.test/t%d",
    b"http://h<.test/t%d",
    b"mailto:t%d",
    b"javascript:t%d",
]


def _html(body: bytes, charset: bytes = b"utf-8") -> bytes:
    return answer(b"Content-Type: text/html; charset=" + charset, body=body)


def _meta(reference: bytes, charset: bytes = b"utf-8") -> bytes:
    return _html(b"<meta http-equiv=refresh content='0;url=%s'>" % reference, charset)


#: The place of a reference -> the answer with it; a browser follows the link by itself.
PLACES: dict[str, Callable[[bytes], bytes]] = {
    "link": lambda reference: _html(b"<a href='%s'></a><script>document.links[0].click()</script>" % reference),
    "location": lambda reference: answer(b"Location: " + reference, status=b"302 Found"),
    "header": lambda reference: answer(b"Content-Type: text/html", b"Refresh: 0;url=" + reference),
    "meta": _meta,
    "latin": lambda reference: _meta(reference, b"windows-1252"),
    "base": lambda reference: _html(b"<base href='//base.test/dir/file?x'>" + _meta(reference)),
    "canonical": lambda reference: _html(b"<link rel=canonical href='%s'>" % reference),
}

#: Places that browsers do not follow.
NOT_BY_BROWSERS = {"canonical"}

#: The number of the first page in URLs, where it stands for itself.
FIRST = 1000
PAGES = [(place, reference) for place in PLACES for reference in REFERENCES]


def _page(number: int) -> str:
    return f"http://{PAGES[number][0]}.test/{FIRST + number}/page?x"


def script(url: str) -> bytes | None:
    """``_page(number)`` has a reference; ``http://frames.test/`` has these pages in frames."""
    if url == "http://frames.test/":
        shown = (number for number, (place, _) in enumerate(PAGES) if place not in NOT_BY_BROWSERS)
        return _html("".join(f"<iframe src='{_page(number)}'></iframe>" for number in shown).encode())
    found = re.fullmatch(r"http://\w+\.test/([0-9]+)/page\?x", url)
    if found is None:
        return None
    place, reference = PAGES[int(found[1]) - FIRST]
    return PLACES[place](reference % int(found[1]))


def _targets(urls: list[str]) -> dict[int, str]:
    """Number of a page -> the URL that was asked for because of its reference, in canonical form."""
    found = ((re.search(r"t([0-9]+)$", url), url) for url in urls)
    return {int(match[1]) - FIRST: Canonicalizer(()).canonical(url) or url for match, url in found if match}


#: References in a robots.txt -> the paths asked for.
SITEMAPS = {
    rb"\ok\1": "ok/1",
    rb"//own.test\2": "2",
    b"http:///own.test/3": "3",
    b"/a/%2e%2e/4": "4",
    b"HTTP://o%57n.test:80/5": "5",
    "/ü/6".encode("latin-1"): "%FC/6",
    "http://ＯＷＮ.test/ü/7".encode(): "%C3%BC/7",
}


def through(proxy: Recorder) -> dict[str, Any]:
    return {
        **IMPOLITE,
        "ROBOTSTXT_OBEY": False,
        "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
        "TEST_PROXY": proxy.address,
        "DOWNLOADER_MIDDLEWARES": {"tests.crawl.recording_proxy.ByProxy": 740},
    }


@pytest.fixture(scope="module")
def crawled() -> dict[int, str]:
    with recording_proxy(script) as proxy:
        seeds = ",".join(map(_page, range(len(PAGES))))
        result = crawl("crawlproject.spiders.web.WebSpider", settings=through(proxy), seeds=seeds)
        assert result.exit_code == 0, result.log
        return _targets(proxy.urls)


@pytest.fixture(scope="module")
def browsed(crawled: dict[int, str]) -> dict[int, str]:
    """What Chromium asks for until it has asked for all that the crawl has asked for."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = chromium()
    wanted = {number for number in crawled if PAGES[number][0] not in NOT_BY_BROWSERS}
    with recording_proxy(script) as proxy, sync_api.sync_playwright() as playwright:
        one_process = ["--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process"]
        arguments = ["--no-sandbox", *one_process, f"--proxy-server={proxy.address}", "--proxy-bypass-list=<-loopback>"]
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        browser.new_page().goto("http://frames.test/", wait_until="commit")
        proxy.wait_for(lambda urls: wanted <= _targets(urls).keys())
        browser.close()
        return _targets(proxy.urls)


def _of(place: str, targets: dict[int, str]) -> dict[bytes, str | None]:
    """Reference -> where it leads from the pages with this place, without the numbers of these pages."""
    found = {}
    for number, (its_place, reference) in enumerate(PAGES):
        if its_place == place:
            url = targets.get(number)
            found[reference] = None if url is None else url.replace(place, "own").replace(str(FIRST + number), "N")
    return found


@pytest.mark.long
@pytest.mark.parametrize("place", sorted(PLACES.keys() - NOT_BY_BROWSERS))
def test_an_address_leads_where_chromium_goes(place: str, crawled: dict[int, str], browsed: dict[int, str]) -> None:
    """The crawl asks for the same URL, or for none if Chromium asks for none."""
    assert _of(place, crawled) == _of(place, browsed)


@pytest.mark.parametrize("place", sorted(NOT_BY_BROWSERS))
def test_other_addresses_are_read_as_links(place: str, crawled: dict[int, str]) -> None:
    """Of places that no browser follows."""
    assert _of(place, crawled) == _of("link", crawled)


@pytest.mark.parametrize("place", sorted(PLACES))
def test_most_addresses_lead_somewhere(place: str, crawled: dict[int, str]) -> None:
    """The comparison is of URLs: few of the references are malformed, or of another scheme."""
    assert sum(url is None for url in _of(place, crawled).values()) <= 9


def test_sitemaps_of_robots_txt_are_read_as_links() -> None:
    """Those on the same server, the only ones that are fetched."""
    lines = [b"Sitemap: " + reference for reference in SITEMAPS]

    def robots(url: str) -> bytes | None:
        return answer(b"Content-Type: text/plain", body=b"\n".join(lines)) if url.endswith("/robots.txt") else None

    with recording_proxy(robots) as proxy:
        settings = {**through(proxy), "ROBOTSTXT_OBEY": True, "FRONTIER_LINKS_SITEMAPS": True}
        result = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds="http://own.test/page")
    asked = {url.removeprefix("http://own.test/") for url in proxy.urls}
    assert asked == {"robots.txt", "page", *SITEMAPS.values()}, result.log
