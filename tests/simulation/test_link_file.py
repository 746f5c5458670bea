"""Reading the links of a crawl, whole or damaged."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.simulation.link_file import LinkFile, read_link_file, read_links

A, B, C = b"http://a.example/", b"http://b.example/x?y=1", b"https://c.example:8443/"


def links_of(file: LinkFile) -> dict[str, list[str]]:
    """What the file says, by URL."""
    return {
        url: [file.urls[target] for target in file.targets[file.indptr[number] : file.indptr[number + 1]]]
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
    file = read_links([b"%s\t%s\t%s\n" % (A, B, C), C + b"\n"])
    assert file.urls == ("http://a.example/", "https://c.example:8443/", "http://b.example/x?y=1")
    assert file.pages == 2
    assert links_of(file) == {file.urls[0]: [file.urls[2], file.urls[1]], file.urls[1]: [], file.urls[2]: []}


def test_links_count_once_and_not_to_the_page_itself() -> None:
    """Repeated links and links to the page itself bring nothing."""
    file = read_links([b"\t".join([A, B, A, C, B])])
    assert links_of(file)[A.decode()] == [B.decode(), C.decode()]


def test_first_line_of_a_page_counts() -> None:
    """A page that was fetched again after a restart is not read twice."""
    file = read_links([b"%s\t%s\n" % (A, B), b"%s\t%s\n" % (A, C)])
    assert links_of(file)[A.decode()] == [B.decode()]
    assert file.damaged == 0


def test_blank_lines_line_ends_and_closing_tabs_do_no_harm() -> None:
    """A page without links may end with its tab, a file with CRLF."""
    file = read_links([A + b"\t\r\n", b"\n", B])
    assert (file.pages, file.damaged) == (2, 0)


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
def test_damaged_lines_are_counted_and_change_nothing(line: bytes) -> None:
    """The others are read."""
    file = read_links([b"%s\t%s\n" % (B, C), line + b"\n", C + b"\n"])
    assert file.damaged == 1
    assert links_of(file) == {B.decode(): [C.decode()], C.decode(): []}


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_no_bytes_make_it_fail(lines: list[bytes]) -> None:
    """Whatever a disk returns."""
    file = read_links(lines)
    assert file.pages == 0 or file.urls
    assert file.damaged <= len(lines)


def test_compressed_or_not_the_same_is_read(tmp_path: Path) -> None:
    """``.gz`` says which."""
    text = many_lines(0, 500)
    (tmp_path / "links.tsv").write_bytes(text)
    (tmp_path / "links.tsv.gz").write_bytes(gzip.compress(text))
    plain, compressed = read_link_file(tmp_path / "links.tsv"), read_link_file(str(tmp_path / "links.tsv.gz"))
    assert plain.pages == compressed.pages == 500
    assert links_of(plain) == links_of(compressed)
    assert compressed.damaged == 0


@pytest.mark.parametrize("lost", [1, 8, 9, 100, 1000])
def test_a_file_cut_short_is_read_as_far_as_it_goes(lost: int, tmp_path: Path) -> None:
    """A crash costs the last pages, and one count."""
    path = tmp_path / "links.tsv.gz"
    path.write_bytes(gzip.compress(many_lines(0, 1000))[:-lost])
    file = read_link_file(path)
    assert 300 < file.pages <= 1000
    assert file.damaged == 1


def test_what_a_resumed_crawl_appends_is_read(tmp_path: Path) -> None:
    """Each write is a member of its own."""
    path = tmp_path / "links.tsv.gz"
    path.write_bytes(gzip.compress(many_lines(0, 1000)) + gzip.compress(many_lines(1000, 2000)))
    file = read_link_file(path)
    assert (file.pages, file.damaged) == (2000, 0)


def test_missing_file_is_told(tmp_path: Path) -> None:
    """By the system's own error."""
    for name in ("links.tsv", "links.tsv.gz"):
        with pytest.raises(FileNotFoundError):
            read_link_file(tmp_path / name)


def test_empty_files_have_no_pages(tmp_path: Path) -> None:
    """Nothing there is no error here."""
    for name in ("links.tsv", "links.tsv.gz"):
        (tmp_path / name).touch()
        file = read_link_file(tmp_path / name)
        assert (file.urls, file.pages, len(file.targets), file.damaged) == ((), 0, 0, 0)
