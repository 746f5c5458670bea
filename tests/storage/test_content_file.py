"""The file of contents: what was met comes back, whatever cut it short; what is not ours is left alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.storage.content_file import ContentFile
from tests.storage.full_disk import full_disk

URLS = st.text(st.characters(exclude_characters="\n\t"), max_size=9).map("http://a.example/".__add__)
CONTENTS = st.lists(st.tuples(st.sampled_from((0, 1, 2, 1 << 63, (1 << 64) - 1)), URLS))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where no file is yet."""
    return tmp_path / "job" / "contents.sqlite"


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
    for key, url in contents:
        assert file.first(key, url) == model.get(key)
        model.setdefault(key, url)
    OPENED.pop().close()


def test_what_was_met_is_known_in_the_next_run(path: Path) -> None:
    """Without a close: each content is written at once."""
    first = opened(path)
    first.first(5, "http://a.example/")
    second = opened(path)
    assert second.first(5, "http://b.example/") == "http://a.example/"
    assert second.first(6, "http://b.example/") is None
    assert opened(path).first(6, "http://c.example/") == "http://b.example/"


def test_another_file_is_left_alone(path: Path) -> None:
    """ValueError with its name, and not a byte changed."""
    other = b"something else\n" * 99
    path.parent.mkdir()
    path.write_bytes(other)
    with pytest.raises(ValueError, match=r"contents\.sqlite"):
        opened(path)
    assert path.read_bytes() == other


@pytest.mark.parametrize("url", [b"http://[", b"http://\xff\xff/", b"", "text", 7])
def test_a_damaged_url_costs_a_count_and_a_line_in_the_log(
    path: Path, caplog: pytest.LogCaptureFixture, url: object
) -> None:
    """Nothing is raised, nothing taken for a copy of that."""
    opened(path).first(7, "http://a.example/")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE contents SET url = ?", (url,))
    failed: list[None] = []
    file = ContentFile(path, lambda: failed.append(None))
    OPENED.append(file)
    file.open()
    assert [file.first(7, "http://b.example/") for _ in range(2)] == [None, None]
    assert len(failed) == 2
    assert len([record for record in caplog.records if "count as new" in record.message]) == 1


def test_a_full_disk_costs_a_line_in_the_log(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Contents count as new while it lasts; those before it stay known, and the file readable."""
    file = opened(path)
    assert file.first(1, "http://a.example/1") is None
    with full_disk(64):
        for key in (2, 3, 2):
            assert file.first(key, f"http://a.example/{key}") is None
        assert file.first(1, "x") == "http://a.example/1"
    assert len([record for record in caplog.records if "count as new" in record.message]) == 1
    assert file.first(2, "http://a.example/2") is None
    assert opened(path).first(2, "x") == "http://a.example/2"
