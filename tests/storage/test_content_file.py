"""The file of contents: what was met comes back, whatever cut it short; what is not ours is left alone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.storage import append_file
from crawlproject.storage.content_file import HEADER, ContentFile
from tests.storage.full_disk import full_disk

URLS = st.text(st.characters(exclude_characters="\n\t"), max_size=9).map("http://a.example/".__add__)
CONTENTS = st.lists(st.tuples(st.integers(1, 9), URLS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where no file is yet."""
    return tmp_path / "job" / "contents.tsv"


OPENED: list[ContentFile] = []


@pytest.fixture(autouse=True)
def _release() -> Iterator[None]:
    """Close at the end of a test what it left open, as a killed process does."""
    yield
    while OPENED:
        OPENED.pop().close()


def opened(path: Path | None) -> ContentFile:
    file = ContentFile(path)
    OPENED.append(file)
    file.open()
    return file


@settings(deadline=None, max_examples=50)
@given(CONTENTS)
def test_first_page_of_each_content(contents: list[tuple[int, str]]) -> None:
    """As a dict has it; without a path, too."""
    file, model = opened(None), dict[int, str]()
    for depth, (key, url) in enumerate(contents):
        assert file.first(key, url, depth) == model.get(key)
        model.setdefault(key, url)
    assert len(file) == len(model)
    OPENED.pop().close()


def test_a_temporary_file_is_written_in_large_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """No system call for each page; what waits can be read."""
    writes: list[int] = []
    write = os.pwrite

    def counted(descriptor: int, data: bytes, at: int) -> int:
        writes.append(len(data))
        return write(descriptor, data, at)

    file = opened(None)
    monkeypatch.setattr(append_file.os, "pwrite", counted)
    urls = [f"http://a.example/{number:06}" for number in range(5000)]
    for key, url in enumerate(urls, 1):
        assert file.first(key, url, 0) is None
    assert [file.first(key, "http://b.example/", 0) for key in range(1, 5001)] == urls
    assert len(writes) == 3
    assert min(writes) >= append_file.BUFFER
    file.close()


def test_without_a_directory_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A read-only container: copies are found all the same, from memory; one line says so."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    file = opened(None)
    urls = [f"http://a.example/{number}" for number in range(3000)]  # more than one BUFFER
    assert [file.first(key, url, 0) for key, url in enumerate(urls, 1)] == [None] * len(urls)
    assert [file.first(key, "http://b.example/", 0) for key in range(1, 3001)] == urls
    assert [text.partition(":")[0] for text in caplog.messages] == [
        "Temporary files are kept in memory, set TMPDIR to a writable directory"
    ]


def test_what_was_met_is_known_in_the_next_run(path: Path) -> None:
    """Without a close: every line is written at once."""
    first = opened(path)
    first.first(5, "http://a.example/", 2)
    second = opened(path)
    assert second.first(5, "http://b.example/", 0) == "http://a.example/"
    assert second.first(6, "http://b.example/", 0) is None
    assert opened(path).first(6, "http://c.example/", 0) == "http://b.example/"
    assert path.read_bytes().startswith(HEADER)


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_line_cut_short_is_removed(path: Path, cut: int) -> None:
    """Its content is met once more; those before it are known."""
    file = opened(path)
    file.first(1, "http://a.example/", 0)
    file.first(2, "http://b.example/", 0)
    path.write_bytes(path.read_bytes()[:-cut])
    file = opened(path)
    assert file.first(2, "http://c.example/", 0) is None
    assert file.first(1, "x", 0) == "http://a.example/"
    assert opened(path).first(2, "x", 0) == "http://c.example/"


@pytest.mark.parametrize("other", [b"something else\n" * 9, b"crawlproject contents 2\n", b"x"])
def test_another_file_is_left_alone(path: Path, other: bytes) -> None:
    """ValueError with its name, and not a byte changed."""
    path.parent.mkdir()
    path.write_bytes(other)
    with pytest.raises(ValueError, match=r"contents\.tsv"):
        opened(path)
    assert path.read_bytes() == other


def test_damaged_lines_cost_their_contents(path: Path) -> None:
    """No error: others are known."""
    path.parent.mkdir()
    path.write_bytes(HEADER + b"rubbish\n" + b"%016x\t1\thttp://a.example/\n" % 7 + b"%016x broken\n" % 8)
    file = opened(path)
    assert file.first(7, "x", 0) == "http://a.example/"
    assert file.first(8, "x", 0) is None


@pytest.mark.parametrize("url", [b"http://[", b"nothing", b"http://a.example:x/", b"http://\xff\xff/", b""])
def test_a_damaged_url_costs_a_count_and_a_line_in_the_log(
    path: Path, caplog: pytest.LogCaptureFixture, url: bytes
) -> None:
    """Nothing is raised, nothing taken for a copy of that."""
    path.parent.mkdir()
    path.write_bytes(HEADER + b"%016x\t1\t%b\n" % (7, url))
    counted: list[None] = []
    file = ContentFile(path, damaged=lambda: counted.append(None))
    OPENED.append(file)
    file.open()
    assert [file.first(7, "http://b.example/", 0) for _ in range(2)] == [None, None]
    assert len(counted) == 2
    assert len([record for record in caplog.records if "damaged at byte" in record.message]) == 1


@pytest.mark.parametrize("line", [b"-00000000000000f\t1\thttp://a.example/\n", b"f" * 99 + b"\n", b"\n", b"\xff\t\n"])
def test_a_damaged_hash_is_counted_at_opening(path: Path, line: bytes) -> None:
    """A sign in front of a number, too, which Python would read."""
    path.parent.mkdir()
    path.write_bytes(HEADER + line + b"%016x\t1\thttp://a.example/\n" % 7)
    counted: list[None] = []
    file = ContentFile(path, damaged=lambda: counted.append(None))
    OPENED.append(file)
    file.open()
    assert len(counted) == 1
    assert len(file) == 1
    assert file.first(7, "x", 0) == "http://a.example/"


def test_a_full_disk_costs_a_line_in_the_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Contents stay known in memory, and the file readable."""
    file = opened(path)
    with full_disk(len(HEADER) + 100):
        for key in range(1, 20):
            assert file.first(key, f"http://a.example/{key}", 0) is None
    known = [file.first(key, "x", 0) for key in range(1, 20)]
    assert known == [f"http://a.example/{key}" for key in range(1, 20)]
    assert len([record for record in caplog.records if "cannot be written" in record.message]) <= 1
    assert opened(path).first(1, "x", 0) == "http://a.example/1"


def test_contents_that_waited_are_written_at_the_end(path: Path) -> None:
    """There is room again when the crawl ends: the next run knows them all."""
    file = opened(path)
    with full_disk(len(HEADER) + 100):
        for key in range(1, 20):
            assert file.first(key, f"http://a.example/{key}", 0) is None
    file.close()
    file = opened(path)
    assert [file.first(key, "x", 0) for key in range(1, 20)] == [f"http://a.example/{key}" for key in range(1, 20)]
