"""Kinds of URLs with file extensions, and their sizes: the order of URLs where bytes are limited."""

from collections.abc import Callable
from math import inf

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement
from crawlproject.frontier.budgets import Budgets, Limits
from crawlproject.frontier.learning.file_kinds import (
    MAX_DIRECTORIES,
    MAX_EXTENSIONS,
    MAX_KINDS,
    PAGES,
    FileKinds,
    FileSizes,
    kind_of,
)

A = "http://a.example"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/c.jpg", "jpg "),
        ("/images/b.c/C.JPG?d/e", "jpg images/b.c"),
        ("/w/images/a/a1/A.jpg", "jpg w/images/#"),
        ("/w/index.php/File:A.jpg", "jpg w/index.php"),
        ("/user/project/blob/main/l.png", "png user/project/blob"),
        ("/user/project/blob/l.png", "png user/project/blob"),
        ("/wp-content/uploads/2013/05/x.png", "png wp-content/uploads/#"),
        ("/2019/05/01/x.png", "png 2019/#/#"),
    ],
)
def test_a_kind_is_an_extension_below_a_directory(path: str, kind: str) -> None:
    """Of up to three segments; numbers and parts of split folders are equal."""
    assert kind_of(f"http://a.example{path}") == kind


def test_directories_without_end_are_one_kind() -> None:
    """After eight below a first segment, and 64 kinds in total; existing answers are kept."""
    kinds = FileKinds()
    for number in range(3 * MAX_DIRECTORIES):
        kinds.learn(f"png posts/{chr(97 + number)}bc", is_page=False)
    assert kinds.answers("png posts/new") == 2 * MAX_DIRECTORIES
    assert kinds.answers("png posts/abc") == 1
    assert kinds.answers("png posts") == kinds.answers("png other/abc") == kinds.answers("jpg posts/abc") == 0
    kinds.learn("png posts/page", is_page=True)
    assert kinds.answers("png posts/new") == PAGES
    for number in range(3 * MAX_KINDS):
        kinds.learn(f"png {number}", is_page=False)
    assert len(kinds.items()) <= MAX_KINDS + 1
    assert kinds.answers("png elsewhere") > MAX_KINDS
    again = FileKinds.from_state(kinds.to_state())
    assert again.to_state() == kinds.to_state()


def learned() -> FileSizes:
    """Three answers of 100 bytes to pages, one of 9,700 to a PDF."""
    sizes = FileSizes()
    for url, size in (("/", 100), ("/a", 100), ("/b/", 100), ("/c.PDF?d", 9700)):
        sizes.learn(A + url, size)
    return sizes


def test_a_file_is_expected_to_be_as_large_as_others_of_its_extension() -> None:
    """The mean of all, 2,500 bytes, counts as four answers; so it does alone for an extension that is new."""
    sizes = learned()
    assert sizes.relative(f"{A}/d.pdf") == pytest.approx((9700 + 4 * 2500) / 5 / 2500)
    assert sizes.relative(f"{A}/d") == pytest.approx((300 + 4 * 2500) / 7 / 2500)
    assert FileSizes().relative(f"{A}/d.pdf") == 1.0


@pytest.mark.parametrize("name", ["/{}.e{}", "/{}." + 100 * "x", "/a.{}b-!"])
def test_any_number_of_extensions_takes_bounded_memory(name: str) -> None:
    """Long and odd ones are none, the latest of very many too."""
    sizes = FileSizes()
    for number in range(3 * MAX_EXTENSIONS):
        sizes.learn(A + name.format(number, number), 10)
        assert sizes.relative(A + name.format(number, number)) == pytest.approx(1.0)
    assert len(sizes.to_state()["answers"]) <= MAX_EXTENSIONS + 2


def _push(frontier: Frontier) -> None:
    frontier.push([Entry(f"{A}/d.pdf", 2.0), Entry(f"{A}/d", 1.9)])


def _raise(frontier: Frontier) -> None:
    frontier.push([Entry(f"{A}/d.pdf", 0.1), Entry(f"{A}/d", 0.1)])
    frontier.raise_quality([(f"{A}/d.pdf", 1.9), (f"{A}/d", 1.8)])


@pytest.mark.parametrize("queue", [_push, _raise])
@pytest.mark.parametrize(("size", "first"), [(inf, "/d.pdf"), (10**6, "/d")])
def test_large_files_come_late_where_bytes_are_limited(
    queue: Callable[[Frontier], None], size: float, first: str
) -> None:
    frontier = Frontier(BestPrefix(), budgets=Budgets(Limits(size=size)))
    frontier.push([Entry(f"{A}/{number}") for number in range(100)])
    for number in range(20):
        url, received = (f"{A}/{number}.pdf", 10_000) if number % 2 else (f"{A}/{number}", 100)
        frontier.record(
            Measurement(A, float(number), status=200, response_time=0.1, fetch_time=0.1, size=received, url=url)
        )
        frontier.page_fetched(A, 0)
    queue(frontier)
    session = frontier.open_session(100.0)
    assert session is not None
    entry = frontier.next_url(session, 100.0)
    assert entry is not None
    assert entry.url == A + first
