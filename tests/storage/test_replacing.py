"""Files are replaced in one step, durably."""

import os
import stat
from pathlib import Path

import pytest

from crawlproject.storage.replacing import replace_file


@pytest.mark.parametrize("is_durable", [True, False])
def test_file_comes_before_its_name_and_the_name_before_the_return(
    is_durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order: else a power cut leaves an empty file, or none."""
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        steps.append("name")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    path = tmp_path / "state"
    replace_file(path, ["é", "\n"], is_durable=is_durable)
    assert steps == (["file", "name", "folder"] if is_durable else ["name"])
    assert path.read_bytes() == b"\xc3\xa9\n"
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    replace_file(path, "old")
    (tmp_path / "state.new").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*/state'$"):
        replace_file(path, "x" * 100_000)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["state"]  # what did not fit is not left on the disk


def test_error_names_the_file_to_be_replaced(tmp_path: Path) -> None:
    """Not the new one beside it; of the same class as before."""
    with pytest.raises(FileNotFoundError, match=r"No such file or directory: '.*/none/state'$"):
        replace_file(tmp_path / "none" / "state", "text")
