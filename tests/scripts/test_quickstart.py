"""The first commands that a new user types: interrupted, and with a Python that is too old."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from tests.processes import HUNG
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]


def marked(mark: str) -> list[int]:
    """The processes whose environment has ``mark``."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def test_ctrl_c_ends_the_demonstration_quietly(tmp_path: Path) -> None:
    """Exit code 130, no traceback, nothing left running."""
    mark = f"mark-{uuid4()}"
    for name in ("crawlproject", "scripts", "testbed"):  # it writes beside them
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "scrapy.cfg", tmp_path)
    demo = subprocess.Popen(
        [sys.executable, str(tmp_path / "scripts" / "demo.py")],
        env=os.environ | {"QUICKSTART_TEST": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group, as of a terminal
    )
    assert demo.stdout is not None
    assert demo.stdout.readline().startswith("crawling")
    until(lambda: len(marked(mark)) == 3, demo)  # itself, web, crawl
    os.killpg(demo.pid, signal.SIGINT)
    out, errors = demo.communicate(timeout=HUNG)
    assert (demo.returncode, out, errors) == (130, "", "")
    assert marked(mark) == []


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("install", "quickstart"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    for name in ("requirements.txt", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def fake_python(folder: Path, *names: str, version: str) -> None:
    """Programs that answer as a Python of that version would to what the scripts ask; ``-m`` is written down."""
    new_enough = tuple(map(int, version.split("."))) >= (3, 11)
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"""#!/bin/sh
case "$1" in
    -c) exit {0 if new_enough else 1};;
    --version) echo "Python {version}";;
    -m) echo "{name} $*" >> {folder}/asked
        [ "$2" != venv ] || (mkdir -p .venv/bin && cp "$0" .venv/bin/python);;
esac
"""
        )
        path.chmod(0o755)


def install(checkout: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    path = f"{programs}:/usr/bin:/bin"
    return subprocess.run(
        [checkout / "scripts" / "install"], env={"PATH": path}, capture_output=True, text=True, check=False
    )


def test_old_python_is_told_so(checkout: Path, tmp_path: Path) -> None:
    """By install, which takes a newer one where there is one, and says what it does; also of an old .venv."""
    names = ("python3", "python3.11", "python3.12", "python3.13", "python3.14")
    fake_python(tmp_path / "old", *names, version="3.9.2")
    done = install(checkout, tmp_path / "old")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "crawlproject needs Python 3.11 or newer; python3 is Python 3.9.2\n"
    fake_python(tmp_path / "old", "python3.13", version="3.13.1")
    done = install(checkout, tmp_path / "old")
    assert done.returncode == 0, done.stderr
    assert "installing requirements.txt into .venv (Python 3.13.1)" in done.stderr
    asked = (tmp_path / "old" / "asked").read_text()
    assert asked.startswith("python3.13 -m venv .venv\n")
    assert "pip install" in asked
    assert install(checkout, tmp_path / "old").stderr == ""  # nothing left to do
    fake_python(checkout / ".venv" / "bin", "python", version="3.10.0")
    done = install(checkout, tmp_path / "old")
    assert done.returncode == 1
    assert ".venv has Python 3.10.0: remove .venv" in done.stderr


def test_setup_says_so_too(checkout: Path) -> None:
    """In one line, before anything else is imported."""
    program = f"import sys; sys.version_info = (3, 10); exec(open({str(checkout / 'setup.py')!r}).read())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("crawlproject needs Python 3.11 or newer, this is ")
    assert len(done.stderr.splitlines()) == 1
