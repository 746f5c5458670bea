"""The file of seen keys: what was appended comes back, whatever cut it short; what is not ours is left alone."""

from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.storage.seen_file import CHUNK_BYTES, HEADER, SeenFile
from tests.storage.full_disk import full_disk

KEYS = st.lists(st.integers(0, 2**64 - 1), max_size=5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where no file is yet."""
    return tmp_path / "job" / "seen.keys"


def read(path: Path) -> list[int]:
    file = SeenFile(path)
    keys = list(chain.from_iterable(file.open()))
    file.close()
    return keys


def write(path: Path, keys: list[int]) -> None:
    """A run that appends ``keys``."""
    file = SeenFile(path)
    list(file.open())
    file.append(keys)
    file.close()


@given(runs=st.lists(st.lists(KEYS)))
def test_keys_come_back_over_runs(tmp_path_factory: pytest.TempPathFactory, runs: list[list[list[int]]]) -> None:
    """In order, each run's after the ones before."""
    path = tmp_path_factory.mktemp("job") / "seen.keys"
    expected: list[int] = []
    for batches in runs:
        file = SeenFile(path)
        assert list(chain.from_iterable(file.open())) == expected
        for batch in batches:
            file.append(batch)
            expected += batch
        file.close()
    assert read(path) == expected


def test_keys_are_in_the_file_at_once(path: Path) -> None:
    """A killed process loses none: nothing waits in a buffer."""
    file = SeenFile(path)
    list(file.open())
    file.append([1, 2**64 - 1])
    assert path.read_bytes() == HEADER + b"\1" + bytes(7) + b"\xff" * 8
    file.close()


def test_more_keys_than_a_chunk(path: Path) -> None:
    """They come in several."""
    keys = list(range(CHUNK_BYTES // 8 + 5))
    write(path, keys)
    file = SeenFile(path)
    chunks = [len(chunk) for chunk in file.open()]
    file.close()
    assert chunks == [CHUNK_BYTES // 8, 5]
    assert read(path) == keys


@pytest.mark.parametrize("cut", range(1, 8))
def test_key_cut_short_is_removed(path: Path, cut: int) -> None:
    """And those after it stand where they should."""
    write(path, [1, 2, 3])
    with path.open("r+b") as file:
        file.truncate(len(HEADER) + 24 - cut)
    write(path, [4])
    assert read(path) == [1, 2, 4]


@pytest.mark.parametrize("length", range(len(HEADER)))
def test_header_cut_short_is_made_anew(path: Path, length: int) -> None:
    """The process was killed when it made the file."""
    path.parent.mkdir()
    path.write_bytes(HEADER[:length])
    write(path, [5])
    assert read(path) == [5]


@pytest.mark.parametrize("content", [b"seenkeys\2\0\0\0" + bytes(12), HEADER[:-1] + b"\1", b"short"])
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    """The error names the file and the reason."""
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"seen.keys: not a file of seen keys of version 1; the file was not changed"):
        SeenFile(path).open()
    assert path.read_bytes() == content


def test_full_disk_costs_no_key(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Keys wait, and none stands askew after one was half written."""
    file = SeenFile(path)
    list(file.open())
    with full_disk(len(HEADER) + 3 * 8 + 5):
        file.append([1, 2])
        file.append([3, 4])  # the second half of 4 does not fit
        file.append([5])
    file.append([6])
    assert read(path) == [1, 2, 3, 4, 5, 6]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    file.close()


def test_keys_that_cannot_be_kept_are_counted(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At the end, in the log; the file is whole."""
    file = SeenFile(path)
    list(file.open())
    file.append([1])
    with full_disk(len(HEADER) + 8):
        file.append([2, 3])
        file.close()
    assert "2 keys could not be written" in caplog.text
    assert read(path) == [1]
