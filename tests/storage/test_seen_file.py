"""The file of seen keys: what was appended comes back, whatever cut it short; what is not ours is left alone."""

from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.storage.seen_file import HEADER, SeenFile
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
    """In order, each run's after the ones before; each key is in the file at once, as a killed process needs it."""
    path = tmp_path_factory.mktemp("job") / "seen.keys"
    expected: list[int] = []
    for batches in runs:
        file = SeenFile(path)
        assert list(chain.from_iterable(file.open())) == expected
        for batch in batches:
            file.append(batch)
            expected += batch
            assert path.stat().st_size == len(HEADER) + 8 * len(expected)
        file.close()
    assert read(path) == expected


@pytest.mark.parametrize("cut", [1, 4, 7])
def test_key_cut_short_is_removed(path: Path, cut: int) -> None:
    """And those after it stand where they should."""
    write(path, [1, 2, 3])
    with path.open("r+b") as file:
        file.truncate(len(HEADER) + 24 - cut)
    write(path, [4])
    assert read(path) == [1, 2, 4]


@pytest.mark.parametrize("length", [0, 5, 15])
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
