"""The pages fetched on disk."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.storage import rocks
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage

LABEL = StoreLabel("web", "quality")
PAGE = FetchedPage(1_700_000_000, b'"tag"', b"Tue, 03 Jan 2023 10:00:00 GMT", 2.5, -3, 7, b"cparse_more")

pages = st.builds(
    FetchedPage,
    st.integers(0, 2**32 - 1),
    st.binary(max_size=1000),
    st.binary(max_size=100),
    st.floats(0, 2.0**100, width=32),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 10**6),
    st.none() | st.binary(),
)


@given(pages)
def test_a_page_comes_back_as_it_was(page: FetchedPage) -> None:
    """Written and read."""
    assert FetchedPage.decode(page.encode()) == page


def test_what_does_not_fit_is_cut() -> None:
    """A quality beyond single precision is the largest there is; a validator that is too long is none."""
    page = FetchedPage.decode(FetchedPage(5, etag=bytes(1001), modified=bytes(101), quality=1e300).encode())
    assert (page.etag, page.modified) == (b"", b"")
    assert page.quality > 3e38


def test_pages_by_server(tmp_path: Path) -> None:
    """Only what was committed is listed, those of a server together; a page put again replaces the old one."""
    with DiskStore(tmp_path, LABEL) as store:
        table = DiskFetchedPages(store)
        for server in (1, 0, 300):
            for path in ("/b", "/a", "http://h?q=\ud800"):
                table.put(server, path, PAGE)
        assert list(table.stored()) == []
        store.commit()
        table.put(0, "/a", PAGE._replace(depth=1))
        table.delete(300, "/b")
        table.delete(300, "/never")
        store.commit()
    with DiskStore(tmp_path, LABEL) as store:
        found = [(server, path, page.depth) for server, path, page in DiskFetchedPages(store).stored()]
    odd = "http://h?q=\ud800"
    assert found == [
        *((0, "/a", 1), (0, "/b", 7), (0, odd, 7)),
        *((1, "/a", 7), (1, "/b", 7), (1, odd, 7)),
        *((300, "/a", 7), (300, odd, 7)),
    ]


def test_a_damaged_page_is_an_error(tmp_path: Path) -> None:
    """It is not skipped in silence."""
    with DiskStore(tmp_path, LABEL) as store:
        table = DiskFetchedPages(store)
        table.put(0, "/a", PAGE)
        store.commit()
        batch = rocks.Batch(store.rocks)
        batch.put("fetched", b"\0\0\0\0/b", b"short")
        store.rocks.write(batch)
        with pytest.raises(StoreError, match="damaged: a page cannot be read"):
            list(table.stored())
