"""Generated sites of data: all their pages can be found, each is something of its own, and a path shows the same."""

import re
from collections import deque
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from urllib.parse import urljoin, urlsplit

import pytest

from testbed.data_sites import PLAIN, REDIRECT, Site, real_sites, traps
from testbed.data_sites.server import DataWeb
from testbed.in_thread import in_thread

ROOT = "http://site.example"


def links(path: str, page: str) -> list[str]:
    if page.startswith(REDIRECT):
        return [page.removeprefix(REDIRECT)]
    found = [] if page.startswith(PLAIN) else re.findall('href="([^"]*)"', page)
    targets = [urljoin(ROOT + path, unescape(target)) for target in found]
    return [target.removeprefix(ROOT) for target in targets if target.startswith(f"{ROOT}/")]


@pytest.fixture(scope="module")
def real() -> dict[str, Site]:
    return real_sites()


@pytest.fixture(scope="module")
def trapped() -> dict[str, Site]:
    return traps()


@pytest.fixture(scope="module")
def sites(real: dict[str, Site], trapped: dict[str, Site]) -> dict[str, Site]:
    return {**real, **trapped}


def walk(site: Site, beyond: int) -> tuple[set[str], set[str]]:
    """The pages found by all links, real ones first, and the addresses seen; nothing is judged.

    Ends when the real ones are found and there are so many addresses ``beyond``.
    """
    real, others = deque(["/"]), deque[str]()
    found: set[str] = set()
    seen, pages = {"/"}, {"/"}
    while (real or others) and (site.real - found or len(seen) <= len(site.real) + beyond):
        path = (real or others).popleft()
        page = site.render(path)
        if page is None:
            continue
        found.add(site.page_of(path))
        for target in links(path, page):
            seen.add(target)
            shown = site.page_of(target)
            if shown not in pages:
                pages.add(shown)
                (real if shown in site.real else others).append(target)
    return found, seen


@pytest.mark.long
def test_every_real_page_is_found_by_links(real: dict[str, Site], subtests: pytest.Subtests) -> None:
    """From the home page; a site with an end has nothing but its pages and what its budget is for."""
    for name, site in real.items():
        with subtests.test(name):
            found, _ = walk(site, 0 if site.is_endless else 1_000)
            assert not site.real - found
            assert 200 <= len(site.real) <= 640
            assert site.is_endless or len(found - site.real) <= site.budget


@pytest.mark.long
def test_a_trap_has_more_addresses_than_its_budget(trapped: dict[str, Site], subtests: pytest.Subtests) -> None:
    """Beside real pages that are all found."""
    for name, site in trapped.items():
        with subtests.test(name):
            found, seen = walk(site, site.budget)
            assert not site.real - found
            assert 100 <= len(site.real) <= 460
            assert len(seen) > len(site.real) + site.budget


@pytest.mark.long
def test_every_real_page_is_unique(sites: dict[str, Site], subtests: pytest.Subtests) -> None:
    """Without noise and the targets of links, no two pages of a site are the same; each is the same each time."""
    for name, site in sites.items():
        with subtests.test(name):
            assert site.quiet is not None
            pages = [site.quiet(path) or "" for path in sorted(site.real)]
            assert "" not in pages
            texts = {re.sub('href="[^"]*"', "", page) for page in pages}
            assert len(texts) == len(pages)
            assert [site.quiet(path) for path in sorted(site.real)[:5]] == pages[:5]


@pytest.mark.long
def test_only_noise_differs_from_request_to_request(sites: dict[str, Site], subtests: pytest.Subtests) -> None:
    """A site without noise says the same each time; one with noise or tokens does not."""
    for name, site in sites.items():
        with subtests.test(name):
            path = max(site.real, key=len)
            is_steady = site.render is site.quiet or name == "token-ref"
            assert (site.render(path) == site.render(path)) == is_steady


def test_addresses_are_as_a_crawler_asks_for_them(sites: dict[str, Site]) -> None:
    """Escaped, and without a fragment; parameters in their order."""
    for name, site in sites.items():
        for path in site.real:
            parts = urlsplit(path)
            assert path.isascii(), (name, path)
            assert not parts.fragment
            assert parts.query.split("&") == sorted(parts.query.split("&")), (name, path)


def test_the_server_counts_what_is_lost_and_what_is_asked_for_twice(sites: dict[str, Site]) -> None:
    """Each site has an address of its own; a page under another address is the same page."""
    web = DataWeb({name: sites[name] for name in ("lottery", "session-query", "redirects")})
    with in_thread(web.serving()) as urls:
        for path in ("draw/7", "draw/7", "robots.txt"):
            status(urls["lottery"] + path)
        assert status(urls["session-query"] + "?PHPSESSID=0a") == 200
        assert status(urls["redirects"] + "robots.txt") == 404
    visits = web.visits("lottery")
    assert (visits.requests, visits.beyond, visits.repeated) == (2, 1, [("/draw/7", 2)])
    assert sorted([*visits.lost, "/draw/7"]) == sorted(web.sites["lottery"].real)
    assert "/" not in web.visits("session-query").lost
    assert web.visits("redirects").requests == 0


def status(url: str) -> int:
    connection = HTTPConnection(urlsplit(url).netloc)
    with closing(connection):
        connection.request("GET", url.removeprefix(f"http://{connection.host}:{connection.port}"))
        return connection.getresponse().status
