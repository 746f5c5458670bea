"""One crawl of all kinds of broken and hostile servers: each costs its own page, one stat, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_answers import (
    CASES,
    MAX_FAILURES,
    MAX_REDIRECTS,
    MAX_ROBOTS_FAILURES,
    MAX_SIZE,
    Nasty,
    unreachable,
)
from tests.crawl.nasty_server import CLOSE, deaf_server, page, response, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.crawl.crawling import Crawl

WEB = "crawlproject.spiders.web.WebSpider"

SETTINGS = {
    **IMPOLITE,
    "FRONTIER_LINKS_SKIP_AFTER": 0,
    "LOG_LEVEL": "INFO",
    "COOKIES_ENABLED": False,
    "DOWNLOAD_FAIL_ON_DATALOSS": False,
    "DOWNLOAD_MAXSIZE": MAX_SIZE,
    "DOWNLOAD_TIMEOUT": 10,
    "FRONTIER_CONNECT_TIMEOUT": 5,
    "FRONTIER_MAX_BACKOFF": 0.02,
    "FRONTIER_MAX_FAILURES": MAX_FAILURES,
    "FRONTIER_MAX_SESSIONS": 16,  # so few that a busy machine serves each in time
    "FRONTIER_MIN_BACKOFF": 0.01,
    "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.5,
    "REDIRECT_MAX_TIMES": MAX_REDIRECTS,
    "RETRY_TIMES": 0,
    "FRONTIER_ROBOTS_MAX_FAILURES": MAX_ROBOTS_FAILURES,
    "ROBOTSTXT_OBEY": True,
}

#: Links that mean nothing.
MALFORMED = [
    "http://[::1",
    "http://a b/",
    "http://:80/",
    "http://",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:port/",
    "http://%zz/",
    "http://a%00b/",
    "http://256.256.256.256/",
    "http://&#xD800;/",
]

#: Links that this crawler does not fetch.
OTHER_SCHEMES = [
    "javascript:alert(1)",
    "mailto:a@example.org",
    "data:text/html,hello",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
]

#: Links that look malformed but mean a page, as in browsers -> the path of that page.
ODD = {
    "/%zz": "/%25zz",
    "/a\x01\x02b": "/a%01%02b",
    "/a\0b": "/a%EF%BF%BDb",
    "/a&#xD800;": "/a%EF%BF%BD",
    "\\back\\slash": "/back/slash",
    " /tab\tand\nline ": "/tabandline",
}

#: Pages of the server that always fails, besides /bad and /after.
FAILING = [f"/{number}" for number in range(20)]

ALWAYS_FAILS = Nasty(
    {
        "/robots.txt": (response(b"", "Connection: close", status="404 Not Found"), CLOSE),
        **dict.fromkeys(("/bad", "/after", *FAILING), (CLOSE,)),
    },
    {"frontier/failures/broken_response": MAX_FAILURES, "fates/queue/server_given_up": len(FAILING) + 2 - MAX_FAILURES},
    closed=True,
)
#: Only its robots.txt is requested; one page links to it.
(_deaf,) = unreachable("DownloadTimeoutError", "timeout", deaf={}).values()
DEAF = replace(_deaf, stats={**_deaf.stats, "fates/queue/server_given_up": 1})
LINKS = Nasty(
    {},
    {
        "fates/link/malformed": len(MALFORMED) + 1,  # and a refresh
        "fates/link/scheme": len(OTHER_SCHEMES) + 1,  # and a refresh
        "fates/link/length": 1,
        "web/bad_seeds": 1,
    },
)

SERVED = CASES | {"always_fails": ALWAYS_FAILS, "links": LINKS}

STATS: Counter[str] = Counter()
for _case in (*SERVED.values(), DEAF):
    STATS.update(_case.stats)


class Crawled:
    """The results of the crawl, by server."""

    def __init__(self, result: Crawl, roots: dict[str, str]) -> None:
        self.result = result
        self.roots = roots

    def paths(self, name: str) -> set[str]:
        """The pages fetched from a server."""
        root = self.roots[name]
        return {url.removeprefix(root) for url in self.result.urls() if url.startswith(f"{root}/")}


@pytest.fixture(scope="module")
def crawled() -> Iterator[Crawled]:
    """The crawl: a good page links to /bad and then /after of every server."""
    good: dict[str, tuple[bytes]] = {}
    with (
        running({"good": good, **{name: case.answers for name, case in SERVED.items()}}) as roots,
        deaf_server() as deaf,
    ):
        hrefs = [roots[name] + path for name in SERVED for path in ("/bad", "/after")]
        hrefs += [roots["always_fails"] + path for path in FAILING]
        slashes = roots["links"].replace("//", "///") + "/slashes"
        links = page(*MALFORMED, *OTHER_SCHEMES, *ODD, slashes, "/" + "a" * 1_000_000)
        LINKS.answers["/bad"] = (response(links),)
        good["/"] = (response(page(*hrefs, f"{deaf}/")),)
        yield Crawled(crawl(WEB, settings=SETTINGS, seeds=f"http://[::1,{roots['good']}/"), roots)


def test_crawl_finishes(crawled: Crawled) -> None:
    """No case stops the crawl, keeps it from finishing, or raises an error in the spider."""
    assert crawled.result.exit_code == 0
    assert crawled.result.stat("finish_reason") == "finished"
    assert crawled.result.stat("spider_exceptions/count") == 0
    assert crawled.result.stat("frontier/urls") == 0


def test_time_and_memory_are_bounded(crawled: Crawled) -> None:
    """Endless headers, bodies and 1xx, a gzip bomb and 100,000 links take 300 MB and a few CPU seconds."""
    assert 0 < crawled.result.cpu_time < 20
    assert 0 < crawled.result.peak_memory < 300_000_000


def test_only_http_is_fetched_and_only_from_these_servers(crawled: Crawled) -> None:
    """No link, redirect or refresh leads to a file or to another server."""
    assert crawled.result.urls()
    assert all(url.startswith("http://127.5.0.") for url in crawled.result.urls())


def test_bad_page_costs_no_other_page(crawled: Crawled) -> None:
    """The next page of the same server is fetched, and so is the page that the bad one links to, if it can be read.

    No page is fetched if robots.txt is unavailable.
    """
    paths = {name: crawled.paths(name) for name in CASES}
    assert {name: "/after" in paths[name] for name in CASES} == {name: not case.closed for name, case in CASES.items()}
    assert {name: "/linked" in paths[name] for name in CASES} == {name: case.linked for name, case in CASES.items()}


def test_each_case_is_counted_in_its_stat(crawled: Crawled) -> None:
    """Under its name, exactly as often as it occurs."""
    assert {stat: crawled.result.stat(stat) for stat in STATS} == dict(STATS)


def test_odd_links_are_read_as_in_browsers(crawled: Crawled) -> None:
    """With control characters, NULs, bad escapes, surrogates and wrong slashes; malformed links are skipped."""
    assert crawled.paths("links") == {"/bad", "/after", "/slashes", *ODD.values()}


def test_redirect_to_a_latin1_url_is_followed(crawled: Crawled) -> None:
    """Header bytes that are not UTF-8 reach Scrapy unchanged."""
    assert "/caf%E9" in crawled.paths("redirect_latin1")


def test_header_bytes_reach_the_item(crawled: Crawled) -> None:
    """An invalid Last-Modified is kept unchanged; a NUL is removed from a title."""
    items = {item["url"]: item for item in crawled.result.items}
    assert items[crawled.roots["last_modified"] + "/bad"]["last_modified"] == "\xe9\xff\x80 gestern"
    assert items[crawled.roots["nul_in_title"] + "/bad"]["title"] == "a\ufffdb"
