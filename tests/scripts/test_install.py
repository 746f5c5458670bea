"""scripts/install and the extension in native/: built once for each state of its sources; never a reason to fail."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATH = "/usr/bin:/bin"
#: Answers as a Python of a virtual environment would: whether it can compile, and what pip makes of native/.
PYTHON = """#!/bin/sh
case "$*" in
    *compiler*) exit {compiler};;
    *native-build*) echo built >>{folder}/built; ls .venv/native-build-* >>{folder}/built; exit {build};;
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


def write_python(checkout: Path, *, compiler: bool = True, build: bool = True) -> None:
    """The Python of its environment."""
    python = checkout / ".venv" / "bin" / "python"
    python.write_text(PYTHON.format(compiler=int(not compiler), build=int(not build), folder=checkout))
    python.chmod(0o755)


def install(checkout: Path, *, compiler: bool = True, build: bool = True) -> str:
    """What it says; it never fails."""
    write_python(checkout, compiler=compiler, build=build)
    command = [checkout / "scripts" / "install"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": PATH}, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def builds(checkout: Path) -> int:
    """How often it was built; always from a copy that is removed."""
    assert not list((checkout / ".venv").glob("native-build-*"))
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
    stamp = checkout / ".venv" / ".installed-native"
    written = stamp.stat().st_mtime_ns
    assert install(checkout, compiler=False) == ""
    assert stamp.stat().st_mtime_ns == written  # by another user, perhaps, who may write to .venv
    assert builds(checkout) == 0
    assert "installed the extension" in install(checkout)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
@pytest.mark.parametrize("compiler", [True, False])
def test_an_environment_that_cannot_be_changed(checkout: Path, compiler: bool) -> None:
    """That of another user, or in an image: it is used as it is."""
    install(checkout, compiler=False)
    (checkout / ".venv" / ".installed-native").unlink()
    (checkout / ".venv").chmod(0o555)
    try:
        assert install(checkout, compiler=compiler) == ""
    finally:
        (checkout / ".venv").chmod(0o755)
    assert builds(checkout) == 0


@pytest.mark.skipif(shutil.which("flock", path=PATH) is None, reason="flock is not installed: part of util-linux")
def test_one_waits_for_another(checkout: Path) -> None:
    """Two crawls are started at once: what the first installs is there for the second."""
    assert "no C compiler" in install(checkout, compiler=False)
    write_python(checkout)
    command = [checkout / "scripts" / "install"]
    with (checkout / "scripts" / "install").open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"PATH": PATH}) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "waiting for another scripts/install\n"
            assert builds(checkout) == 0
            fcntl.flock(script, fcntl.LOCK_UN)
            assert process.stderr.read() == "installed the extension in native/, which saves CPU\n"
    assert builds(checkout) == 1
    assert install(checkout) == ""


def test_a_checkout_without_the_folder(checkout: Path) -> None:
    """Nothing to build, nothing to say."""
    shutil.rmtree(checkout / "native")
    assert install(checkout) == ""
    assert builds(checkout) == 0
