"""Scrapy's own tests: fetched from its source distribution, unpacked, and run with this project's replacements."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import crawlproject

HERE = Path(__file__).parent
DIFFERENCES = HERE / "differences.toml"

#: Our own module of tests, among Scrapy's: its base classes for download handlers, with our handler.
HANDLER_TESTS = "tests/test_crawlproject_handler.py"

#: What Scrapy's tests need besides pytest, Scrapy and what is required by these; without what these require.
NEEDED = (
    "botocore",
    "decorator",
    "greenlet",
    "jmespath",
    "pexpect",
    "ptyprocess",
    "pyftpdlib",
    "pygments",
    "pytest-timeout",
    "pytest-twisted",
    "python-dateutil",
    "six",
    "sybil",
    "urllib3",
)

#: Seconds for one of Scrapy's tests.
TEST_TIMEOUT = 300

#: Said by newer versions of pytest of how Scrapy's tests are written.
IGNORED_WARNINGS = ("Session-scoped fixtures defined as instance", "Class-scoped fixture defined as instance")


class NoSourceError(Exception):
    """Scrapy's source distribution, or what its tests need, cannot be downloaded."""


@dataclass(frozen=True)
class Outcome:
    """What became of the tests, by id (module.Class.test[parameters])."""

    passed: frozenset[str]
    failed: frozenset[str]
    #: Of pytest, of all its runs.
    output: str


def prepared(folder: Path) -> Path:
    """Where the tests are, below ``folder``: prepared by whichever process is the first. Raises NoSourceError."""
    folder.mkdir(exist_ok=True)
    source = folder / f"scrapy-{version('scrapy')}"
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            _prepare(folder, source)
            done.touch()
    return source


def _prepare(folder: Path, source: Path) -> None:
    """Download what is needed, and unpack Scrapy's source distribution into ``source``."""
    _pip("download", "--no-deps", "--no-binary", "scrapy", "--dest", str(folder), f"scrapy=={version('scrapy')}")
    _pip("install", "--no-deps", "--target", str(folder / "needed"), *NEEDED)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # from Python 3.11.4
    shutil.rmtree(source / "scrapy")  # what is installed is tested
    shutil.copy(HERE / "handler_cases.py", source / HANDLER_TESTS)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoSourceError(f"pip {arguments[0]} failed: {done.stderr.strip()[-500:]}")


def run(source: Path, folder: Path, *tests: str) -> Outcome:
    """Run modules of tests (globs below ``source``) in ``folder``, a copy to be made, so that runs need not wait for
    each other; those that fail a second time, for the machine may be busy.
    """
    shutil.copytree(source, folder)
    paths = [str(path.relative_to(folder)) for name in tests for path in sorted(folder.glob(name))]
    needed = source.parent / "needed"
    first = _pytest(folder, needed, *paths)
    if not first.failed:
        return first
    again = _pytest(folder, needed, "--last-failed", *paths)
    return Outcome(first.passed | again.passed, first.failed - again.passed, f"{first.output}\n{again.output}")


def _pytest(folder: Path, needed: Path, *arguments: str) -> Outcome:
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "replacements", "-q", "--tb=short", f"--junitxml={report}"]
    command += [f"--timeout={TEST_TIMEOUT}", *(f"-Wignore:{text}" for text in IGNORED_WARNINGS), *arguments]
    project = Path(crawlproject.__path__[0]).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SCRAPY_"))}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (HERE, needed, project)))
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if done.returncode not in (0, 1) or not report.exists():
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{output[-5000:]}")
    passed, failed = set(), set()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}".removeprefix("tests.")
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            failed.add(name)
        elif "skipped" not in outcomes:
            passed.add(name)
    return Outcome(frozenset(passed - failed), frozenset(failed), output)


def differences() -> dict[str, str]:
    """Tests that need not pass, each with its reason."""
    groups = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))["difference"]
    return {test: group["reason"] for group in groups for test in group["tests"]}
