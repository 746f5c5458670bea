"""scripts/install and what is compiled: once for each state of its sources; never a reason to fail."""

import fcntl
import os
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATH = "/usr/bin:/bin"
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
#: As the Python of a virtual environment that compiles nothing, but notes that it was asked to.
PYTHON = """#!/bin/sh
case "$*" in
    *pip*) echo "$*" >>{folder}/asked;;
    *build_ext*) echo built >>{folder}/asked; {build};;
    *) CC={compiler} exec {python} "$@";;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout where the requirements are installed, with one part."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "install", tmp_path / "scripts")
    (tmp_path / "crawlproject" / "urls" / "native").mkdir(parents=True)
    (tmp_path / "crawlproject" / "urls" / "native" / "part.pyx").write_text("one\n")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "requirements.txt").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".installed-requirements.txt").touch()
    return tmp_path


def write_python(checkout: Path, *, compiler: bool = True, build: bool = True) -> None:
    """The Python of its environment."""
    python = checkout / ".venv" / "bin" / "python"
    result = f"touch crawlproject/urls/native/part{SUFFIX}" if build else "exit 1"
    text = PYTHON.format(
        compiler="sh" if compiler else "no-such-compiler",
        build=result,
        folder=checkout,
        python=shutil.which("python3", path=PATH),
    )
    python.write_text(text)
    python.chmod(0o755)


def install(checkout: Path, *, compiler: bool = True, build: bool = True) -> str:
    """What it says; it never fails."""
    write_python(checkout, compiler=compiler, build=build)
    command = [checkout / "scripts" / "install"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PATH": PATH}, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def builds(checkout: Path) -> int:
    path = checkout / "asked"
    return path.read_text().count("built\n") if path.exists() else 0


needs_headers = pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").exists(), reason="the headers of Python are not installed"
)


@needs_headers
def test_it_is_built_once_for_each_state_of_its_sources(checkout: Path) -> None:
    """And says so; a second run says and does nothing."""
    assert install(checkout) == "compiled crawlproject/urls/native, which saves CPU\n"
    assert "-r .venv/compiling.txt" in (checkout / "asked").read_text()
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert (checkout / ".venv" / "compiling.txt").read_text().splitlines() == required
    assert install(checkout) == ""
    assert builds(checkout) == 1
    source, built = (
        checkout / "crawlproject" / "urls" / "native" / "part.pyx",
        checkout / f"crawlproject/urls/native/part{SUFFIX}",
    )
    os.utime(source, (built.stat().st_mtime + 1,) * 2)
    install(checkout)
    assert builds(checkout) == 2


@needs_headers
def test_a_failed_build_is_told(checkout: Path) -> None:
    """In one line that names the log; it is tried again."""
    told = install(checkout, build=False)
    assert told == "crawlproject/urls/native could not be compiled, so crawls take more CPU: see .venv/compiling.log\n"
    assert (checkout / ".venv" / "compiling.log").exists()
    assert "compiled" in install(checkout)


@needs_headers
def test_without_a_compiler_it_is_left_out(checkout: Path) -> None:
    """One line when the requirements are installed; it is built as soon as there is a compiler."""
    (checkout / ".venv" / ".installed-requirements.txt").unlink()
    told = install(checkout, compiler=False)
    assert "no C compiler or no headers of Python: crawls take more CPU" in told
    assert install(checkout, compiler=False) == ""
    assert builds(checkout) == 0
    assert "compiled" in install(checkout)


@needs_headers
@pytest.mark.skipif(shutil.which("flock", path=PATH) is None, reason="flock is not installed: part of util-linux")
def test_one_waits_for_another(checkout: Path) -> None:
    """Two crawls are started at once: what the first installs is there for the second."""
    write_python(checkout)
    command = [checkout / "scripts" / "install"]
    with (checkout / "scripts" / "install").open() as script:
        fcntl.flock(script, fcntl.LOCK_EX)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"PATH": PATH}) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "waiting for another scripts/install\n"
            assert builds(checkout) == 0
            fcntl.flock(script, fcntl.LOCK_UN)
            assert process.stderr.read() == "compiled crawlproject/urls/native, which saves CPU\n"
    assert builds(checkout) == 1
    assert install(checkout) == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
@pytest.mark.parametrize("compiler", [True, False])
def test_an_environment_that_cannot_be_changed(checkout: Path, compiler: bool) -> None:
    """That of another user, or in an image: it is used as it is."""
    (checkout / "crawlproject" / "urls" / "native").chmod(0o555)
    try:
        assert install(checkout, compiler=compiler) == ""
    finally:
        (checkout / "crawlproject" / "urls" / "native").chmod(0o755)
    assert builds(checkout) == 0
