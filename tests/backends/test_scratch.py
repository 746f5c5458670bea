"""Directories for local copies, those of killed processes among them."""

import subprocess
import sys
from pathlib import Path

import pytest

from crawlproject.backends.scratch import Scratch, remove_abandoned


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_removed_with_its_owner(temporary: Path) -> None:
    """Not before, whatever others do."""
    scratch = Scratch()
    (scratch.path / "store").mkdir()
    remove_abandoned()
    other = Scratch()
    assert set(temporary.iterdir()) == {scratch.path, other.path}
    scratch.remove()
    assert list(temporary.iterdir()) == [other.path]
    del other
    assert list(temporary.iterdir()) == []


def test_that_of_a_killed_process_is_removed_by_the_next(temporary: Path) -> None:
    script = "import os, signal, tempfile; from crawlproject.backends.scratch import Scratch; Scratch(); x = Scratch()"
    end = "; (x.path / 'data').write_text('x'); os.kill(os.getpid(), signal.SIGKILL)"
    environment = {"TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "-c", script + end], env=environment, check=False)
    (left,) = temporary.iterdir()
    mine = Scratch()
    assert list(temporary.iterdir()) == [mine.path]
    assert left != mine.path


def test_what_others_own_stays(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Links, and directories without a lock, which may be about to get one."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "lock").touch()
    (temporary / "crawlproject-worker-link").symlink_to(elsewhere)
    (temporary / "crawlproject-worker-new").mkdir()
    remove_abandoned()
    assert (elsewhere / "lock").exists()
    assert len(list(temporary.iterdir())) == 2
