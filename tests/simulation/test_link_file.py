"""Reading the links of a crawl, whole or damaged."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.simulation.link_file import LinkFile, read_link_file

A, B, C = b"http://a.example/", b"http://b.example/x?y=1", b"https://c.example:8443/"


def read(content: bytes, name: str = "links.tsv") -> LinkFile:
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        return read_link_file(path)


def links_of(file: LinkFile) -> dict[bytes, list[bytes]]:
    """What the file says, by URL."""
    return {
        url.encode(): [file.urls[to].encode() for to in file.targets[file.indptr[number] : file.indptr[number + 1]]]
        for number, url in enumerate(file.urls)
    }


def many_lines(first: int, last: int) -> bytes:
    """Lines of pages that compress as badly as real ones."""
    return b"".join(
        b"http://s%d.example/%d\t" % (page % 7, page * page) + b"\t".join([A, B, C]) + b"\n"
        for page in range(first, last)
    )


def test_pages_come_first_in_the_order_of_their_lines() -> None:
    """URLs without a line follow, in the order in which they were met; they have no links."""
    file = read(b"%s\t%s\t%s\n%s\n" % (A, B, C, C))
    assert (file.urls, file.pages) == ((A.decode(), C.decode(), B.decode()), 2)
    assert links_of(file) == {A: [B, C], C: [], B: []}


@pytest.mark.parametrize(
    ("content", "links"),
    [
        (b"\t".join([A, B, A, C, B]), {A: [B, C], B: [], C: []}),  # repeated links, and those to the page itself
        (b"%s\t%s\n%s\t%s\n" % (A, B, A, C), {A: [B], B: [], C: []}),  # fetched again after a restart
        (A + b"\t\r\n\n" + B, {A: [], B: []}),
        (b"", {}),
    ],
)
def test_links_of_a_page(content: bytes, links: dict[bytes, list[bytes]]) -> None:
    """Each counts once, of the first line of its page."""
    assert links_of(read(content)) == links


@pytest.mark.parametrize(
    "line",
    [
        b"no URL",
        b"\xff\xfe\x00",
        b"http://a.example/with space",
        b"http://a.example/\xc3\xa9",
        b"ftp://a.example/",
        b"http:///nowhere",
        b"http://a.example/\tno URL",
        b"\thttp://a.example/",
    ],
)
def test_damaged_lines_change_nothing(line: bytes) -> None:
    """The others are read."""
    assert links_of(read(b"%s\t%s\n%s\n%s\n" % (B, C, line, C))) == {B: [C], C: []}


@given(st.binary(max_size=400), st.sampled_from(["links.tsv", "links.tsv.gz"]))
def test_no_bytes_make_it_fail(content: bytes, name: str) -> None:
    """Whatever a disk returns."""
    assert read(content, name).pages >= 0


def test_compressed_files_are_read_as_far_as_they_go() -> None:
    """What a resumed crawl appends is a member of its own; a crash costs the last pages."""
    text = many_lines(0, 1000)
    twice = read(gzip.compress(text) + gzip.compress(many_lines(1000, 2000)), "links.tsv.gz")
    assert links_of(twice) == links_of(read(many_lines(0, 2000)))
    for lost in (1, 8, 9, 100, 1000):
        assert 300 < read(gzip.compress(text)[:-lost], "links.tsv.gz").pages <= 1000
