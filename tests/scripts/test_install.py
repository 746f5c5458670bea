"""scripts/install and the extension in native/: built once for each state of its sources; never a reason to fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Answers as a Python of a virtual environment would: whether it can compile, and what pip makes of native/.
PYTHON = """#!/bin/sh
case "$*" in
    *compiler*) exit {compiler};;
    *native-build*) echo built >>{folder}/built; ls .venv/native-build >>{folder}/built; exit {build};;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout where the requirements are installed, and a small extension."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "install", tmp_path / "scripts")
    parts = tmp_path / "native" / "crawlproject_native"
    parts.mkdir(parents=True)
    for path in (parts / "marks.pyx", parts / "__init__.py", tmp_path / "native" / "setup.py"):
        path.write_text("one\n")
    (tmp_path / "native" / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "requirements.txt").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".installed-requirements.txt").touch()
    return tmp_path


def install(checkout: Path, *, compiler: bool = True, build: bool = True) -> str:
    """What it says; it never fails."""
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(compiler=int(not compiler), build=int(not build), folder=checkout))
    python.chmod(0o755)
    command = [checkout / "scripts" / "install"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def builds(checkout: Path) -> int:
    """How often it was built; always from a copy that is removed."""
    assert not (checkout / ".venv" / "native-build").exists()
    path = checkout / "built"
    return path.read_text().count("built\n") if path.exists() else 0


def test_it_is_built_once_for_each_state_of_its_sources(checkout: Path) -> None:
    """And says so; a second run says and does nothing."""
    assert install(checkout) == "installed the extension in native/, which saves CPU\n"
    assert install(checkout) == ""
    assert builds(checkout) == 1
    (checkout / "native" / "crawlproject_native" / "marks.pyx").write_text("two\n")
    assert "installed the extension" in install(checkout)
    assert builds(checkout) == 2
    before = sorted(path.name for path in (checkout / "native").rglob("*"))
    assert before == ["__init__.py", "crawlproject_native", "marks.pyx", "pyproject.toml", "setup.py"]


def test_a_failed_build_is_told_once(checkout: Path) -> None:
    """In one line that names the log; it is tried again when the sources have changed."""
    told = install(checkout, build=False)
    assert told.count("\n") == 1
    assert "could not be built" in told
    assert ".venv/native-build.log" in told
    assert (checkout / ".venv" / "native-build.log").exists()
    assert install(checkout, build=False) == ""
    assert builds(checkout) == 1
    (checkout / "native" / "setup.py").write_text("two\n")
    assert "installed the extension" in install(checkout)


def test_without_a_compiler_it_is_left_out(checkout: Path) -> None:
    """One line, once; it is built as soon as there is one."""
    told = install(checkout, compiler=False)
    assert told.count("\n") == 1
    assert "crawls run without the extension" in told
    assert install(checkout, compiler=False) == ""
    assert builds(checkout) == 0
    assert "installed the extension" in install(checkout)


def test_a_checkout_without_the_folder(checkout: Path) -> None:
    """Nothing to build, nothing to say."""
    shutil.rmtree(checkout / "native")
    assert install(checkout) == ""
    assert builds(checkout) == 0
