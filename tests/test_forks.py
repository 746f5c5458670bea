"""``pytest --forks``: no report is lost, nor that a process ended."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FIRST = """
import pytest

@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made")

def test_passes(made): pass
def test_fails(made): print("said"); assert 1 == 2
def test_is_skipped(made): pytest.skip("why")
"""
SECOND = "def test_fails_too(tmp_path): assert not tmp_path.exists()\n"
ENDING = "import os\ndef test_ends(): os._exit(0)\n"


def forked(folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    for number, text in enumerate(files):
        (folder / f"test_{number}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir", str(folder), "--forks", "2", "-rs"]
    return subprocess.run([*command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_reports_arrive(tmp_path: Path) -> None:
    """With what was printed and why a test was skipped."""
    done = forked(tmp_path, FIRST, SECOND)
    assert done.returncode == 1
    assert "2 failed, 1 passed, 1 skipped" in done.stdout
    assert "said" in done.stdout.splitlines()
    assert "test_0.py:10: why" in done.stdout


@pytest.mark.long
def test_the_end_of_a_process_is_told(tmp_path: Path) -> None:
    """Whatever its exit code: the tests that were left are not run."""
    done = forked(tmp_path, ENDING)
    assert done.returncode == 2
    assert "a process ended in test_0.py::test_ends" in done.stdout
