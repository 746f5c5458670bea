"""What is compiled is used if it is made of the sources as they are, and not switched off."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from crawlproject.urls import native
from crawlproject.urls.native import PARTS, compiled

SOURCES = Path(native.__file__).parent


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment; nor is one used that cannot be imported."""
    module = ModuleType("shingles")
    monkeypatch.delenv("CRAWLPROJECT_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "crawlproject.urls.native.shingles", module)
    assert compiled("shingles") is module
    monkeypatch.setenv("CRAWLPROJECT_NATIVE", "off")
    assert compiled("shingles") is None
    monkeypatch.delenv("CRAWLPROJECT_NATIVE")
    monkeypatch.setitem(sys.modules, "crawlproject.urls.native.shingles", None)
    assert compiled("shingles") is None


def test_setup_compiles_all_parts() -> None:
    """And nothing else."""
    assert sorted(path.stem for path in SOURCES.glob("*.pyx")) == [*PARTS]
    setup = (SOURCES.parents[2] / "setup.py").read_text(encoding="utf-8")
    names = next(line for line in setup.splitlines() if line.startswith("PARTS = "))
    assert sorted(eval(names.removeprefix("PARTS = "))) == [*PARTS]


@pytest.mark.long
def test_without_a_compiler_the_rest_is_built(tmp_path: Path) -> None:
    """``pip install`` goes on, with a warning for each part."""
    shutil.copy(SOURCES.parents[2] / "setup.py", tmp_path)
    shutil.copytree(
        SOURCES, tmp_path / "crawlproject" / "urls" / "native", ignore=shutil.ignore_patterns("*.so", "*.c")
    )
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tmp_path,
        env=os.environ | {"CC": "no-such-compiler"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for part in PARTS:
        assert f'building extension "crawlproject.urls.native.{part}" failed' in done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_without_it_all_is_python() -> None:
    """Every function has its own in Python."""
    program = (
        "from crawlproject.content import sketch\nassert not sketch.IS_FAST\nassert sketch._summary is sketch.summary\n"
    )
    blocked = f"import sys; sys.modules |= dict.fromkeys({[f'crawlproject.urls.native.{part}' for part in PARTS]})\n"
    done = subprocess.run([sys.executable, "-c", blocked + program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
