"""Search of the URLs in a store, and in memory: by everything, a page at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawlproject.backends.protocol import MemoryUrls
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.frontier.live_limits import as_pattern
from crawlproject.monitor.console.url_query import literal_of
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fates import MAX_ENDS
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.urls.fates import Ending, Outcome, Reason, Stage
from crawlproject.urls.url_rows import End, UrlQuery, UrlTable
from crawlproject.urls.wildcards import UrlPatterns

A, B = "http://a.example", "https://b.example"
MISSING, TIMEOUT = (Stage.ANSWER, Reason.NOT_FOUND, 404), (Stage.REQUEST, Reason.TIMEOUT, 0)


def on_disk(path: Path) -> UrlTable:
    store = DiskStore(path, StoreLabel("web", "quality"))
    frontier = Frontier(BestPrefix(), Politeness())
    servers = DiskFrontierStore(store, 0.0)
    servers.load(frontier, 0.0)
    frontier.push([Entry(f"{server}/{n}", 1.0, depth=n % 3) for server in (A, B) for n in range(300)])
    pages = DiskFetchedPages(store)
    number = servers.number(A)
    assert number is not None
    for n in range(5):
        pages.put(number, f"/page{n}", FetchedPage(100 + n, depth=2))
    servers.ended(f"{A}/missing", End(50, *MISSING, 1))
    servers.ended(f"{B}/slow", End(60, *TIMEOUT, 2))
    servers.ended(f"{A}/page0", End(50, *TIMEOUT))  # fetched later
    servers.ended(f"{A}/page1", End(500, *MISSING))  # fetched before
    servers.ended("http://unknown.example/", End(50, *TIMEOUT))
    store.commit()
    return servers.urls()


def in_memory(_: Path) -> UrlTable:
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push([Entry(f"{server}/{n}", 1.0, depth=n % 3) for server in (A, B) for n in range(300)])
    urls = MemoryUrls(frontier)
    for n in (0, 2, 3, 4):
        urls.add(Outcome(f"{A}/page{n}", Stage.ANSWER, Reason.FETCHED, Ending(Reason.FETCHED, 200), depth=2))
    for url, (stage, reason, status) in ((f"{A}/missing", MISSING), (f"{B}/slow", TIMEOUT), (f"{A}/page1", MISSING)):
        urls.add(Outcome(url, stage, reason, Ending(reason, status), depth=1))
    return urls


@pytest.fixture(params=[on_disk, in_memory])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> UrlTable:
    made: UrlTable = request.param(tmp_path / "store")
    return made


def all_of(table: UrlTable, **values: Any) -> list[str]:
    return [row.url for _, _, found in table.rows(UrlQuery(**values), most=10**9) for row in found]


def pages_of(table: UrlTable, size: int, **values: Any) -> Iterator[list[str]]:
    """As somebody reads them who turns pages."""
    after = ""
    while True:
        urls: list[str] = []
        for place, _, found in table.rows(UrlQuery(**values), after, size):
            urls += [row.url for row in found]
            after = place
            if len(urls) >= size:
                break
        else:
            yield urls
            return
        yield urls


def test_each_url_is_found_once(table: UrlTable) -> None:
    """Whatever the size of the pages; in the state that came last."""
    urls = all_of(table)
    assert len(urls) == len(set(urls)) == 600 + 5 + 2
    for size in (1, 7, 200):
        pages = list(pages_of(table, size))
        assert max(map(len, pages)) <= size
        assert [url for page in pages for url in page] == urls
        if size == 1:
            assert len(pages) == len(urls) + 1
    assert len(all_of(table, state="queued")) == 600
    assert sorted(all_of(table, state="fetched")) == [f"{A}/page{n}" for n in (0, 2, 3, 4)]
    assert sorted(all_of(table, state="lost")) == [f"{A}/missing", f"{A}/page1", f"{B}/slow"]


def test_by_everything(table: UrlTable) -> None:
    """Pattern, server, reason, status, depth; and several at once."""
    ends = [f"{B}/{number}" for number in (291, 294, 297)]
    assert all_of(table, pattern=UrlPatterns(["*/29*"]), servers=frozenset([B]), depth=0) == ends
    assert all_of(table, servers=frozenset([B]), state="lost") == [f"{B}/slow"]
    assert sorted(all_of(table, reason="not_found")) == [f"{A}/missing", f"{A}/page1"]
    assert sorted(all_of(table, status=404)) == [f"{A}/missing", f"{A}/page1"]
    assert len(all_of(table, status=200)) == len(all_of(table, reason="fetched")) == 4
    assert all_of(table, servers=frozenset()) == []
    many = frozenset([B, *(f"http://{n}.example" for n in range(2_000))])  # more than are looked up each for itself
    assert all_of(table, servers=many, state="lost") == [f"{B}/slow"]
    assert sorted(all_of(table, servers=many)) == sorted(all_of(table, servers=frozenset([B])))
    assert all_of(table, state="queued", status=404) == []


def test_a_wrong_place(table: UrlTable) -> None:
    """It comes from the address of a page."""
    for after in ("x", "0.zz", *(() if isinstance(table, MemoryUrls) else ("9.00", "-1.00", "0." + "00" * 30_000))):
        with pytest.raises(ValueError, match="not where a search"):
            list(table.rows(UrlQuery(), after))


def test_history(tmp_path: Path) -> None:
    """The last ends of a URL, the latest first; the fetch among them."""
    store = DiskStore(tmp_path / "store", StoreLabel("web", "quality"))
    frontier = Frontier(BestPrefix(), Politeness())
    servers = DiskFrontierStore(store, 0.0)
    servers.load(frontier, 0.0)
    frontier.push([Entry(f"{A}/", 1.0)])
    for at in range(MAX_ENDS + 5):
        servers.ended(f"{A}/x", End(at, *TIMEOUT, 1))
        if at % 3 == 0:
            store.commit()
    number = servers.number(A)
    assert number is not None
    DiskFetchedPages(store).put(number, "/x", FetchedPage(7))
    store.commit()
    found = servers.urls().history(f"{A}/x")
    assert [row.at for row in found] == [12, 11, 10, 9, 8, 7, 7, 6, 5]
    assert [row.state for row in found].count("fetched") == 1
    assert servers.urls().history("http://nobody.example/") == []
    store.close()


@pytest.mark.parametrize("pattern", ["/page1", "*PAGE1*", "http://A.example:80/page1", "%70age1", "/*ge*1$"])
def test_the_screen_of_bytes_leaves_out_nothing_that_matches(table: UrlTable, pattern: str) -> None:
    """Whatever the pattern: with it and without it the same URLs are found."""
    written = as_pattern(pattern)
    patterns = UrlPatterns([written])
    found = all_of(table, pattern=patterns, literal=literal_of(written))
    assert found == [url for url in all_of(table) if patterns.match(url)]
