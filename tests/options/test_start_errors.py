"""What is wrong at the start: one line, exit code 1, no traceback."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawlproject.options.start_errors import MAX_MESSAGE, starting
from testbed.workers import environment
from tests.processes import run_python

if TYPE_CHECKING:
    from subprocess import CompletedProcess

ROOT = Path(__file__).resolve().parents[2]

SEED = ["crawl", "web", "-a", "seeds=http://127.0.0.1:9/"]

#: Command line, "{folder}" being an empty one -> what is said after "Cannot start: ".
CASES: dict[str, tuple[list[str], str]] = {
    "no seeds": (["crawl", "web"], "seeds='': must be URLs"),
    "no such file": (["crawl", "web", "-a", "seeds=seeds.txt"], "seeds='seeds.txt': no such file; a URL begins with"),
    "unknown argument": (
        [*SEED, "-a", "max_page=3"],
        "max_page='3': unknown argument of the spider web; known arguments: seeds, allowed, body",
    ),
    "deny file": ([*SEED, "-a", "deny=no.txt"], "FRONTIER_DENY_FILE='no.txt': No such file or directory"),
    "unknown setting": (
        [*SEED, "-s", "FRONTIER_MAX_SESION=5"],
        "FRONTIER_MAX_SESION='5': unknown setting; did you mean FRONTIER_MAX_SESSIONS?",
    ),
    "policy's class": (
        [*SEED, "-s", "FRONTIER_POLICY=os.path"],
        "FRONTIER_POLICY='os.path': must be a class with rank",
    ),
    "JOBDIR": ([*SEED, "-s", "JOBDIR=/dev/null"], "JOBDIR='/dev/null': must be a writable directory"),
    "damaged store": ([*SEED, "-s", "JOBDIR={folder}/damaged"], "JOBDIR='{folder}/damaged': "),
    "file of links": ([*SEED, "-s", "FRONTIER_LINKS_FILE=/dev/null/x"], "FRONTIER_LINKS_FILE='/dev/null/x': "),
    "wrong time": ([*SEED, "-a", "max_time=soon"], "max_time='soon': must be an age"),
    "runspider": (
        ["runspider", "{folder}/mine.py", "-s", "FRONTIER_SEEN_CACHE_SIZE=some"],
        "FRONTIER_SEEN_CACHE_SIZE='some': must be",
    ),
}

SPIDER = """
import scrapy
class Mine(scrapy.Spider):
    name = "mine"
    custom_settings = {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}}
"""


def errors_in(log: str) -> list[str]:
    """The messages of lines at ERROR and above."""
    lines = [line for line in log.splitlines() if "] ERROR: " in line or "] CRITICAL: " in line]
    return [line.split("] ", 1)[1].split(": ", 1)[1] for line in lines]


@pytest.mark.parametrize("name", CASES)
def test_start_error_is_one_line(tmp_path: Path, name: str) -> None:
    """Nothing else is an error, nothing is fetched."""
    (tmp_path / "mine.py").write_text(SPIDER)
    (tmp_path / "damaged" / "frontier").mkdir(parents=True)
    (tmp_path / "damaged" / "frontier" / "store.json").write_text("{")
    command, told = CASES[name]
    done: CompletedProcess[str] = run_python(
        "-m", "scrapy", *(part.format(folder=tmp_path) for part in command), env=environment()
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    [error] = errors_in(done.stderr)
    assert error.startswith(f"Cannot start: {told.format(folder=tmp_path)}")
    assert f"[crawlproject] ERROR: {error}" in done.stderr  # asyncio and Twisted only report it
    assert "Crawled 0 pages" not in done.stderr


def reported(error: Exception, caplog: pytest.LogCaptureFixture, *, within: bool = True) -> list[str]:
    """What is logged of an exception that a task raises at the start and nobody catches."""

    async def start() -> None:
        if not within:
            raise error
        try:
            with starting():
                raise error
        except type(error):
            raise RuntimeError("closing what was open failed, too")  # noqa: B904 - as Scrapy's engine does

    async def run() -> None:
        task = asyncio.ensure_future(start())
        await asyncio.wait([task])
        del task
        gc.collect(0)  # all of it is young: nothing has been collected since

    caplog.clear()
    with caplog.at_level(logging.DEBUG, "asyncio"):
        asyncio.run(run())
    return [record.getMessage() + (record.exc_text or "") for record in caplog.records if record.levelno > 20]


@pytest.mark.usefixtures("no_collection")
def test_only_expected_errors_raised_at_the_start_lose_their_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """A bug keeps its own, and so does an error that came later."""
    assert reported(ValueError("A=1:\n must be 2"), caplog) == ["Cannot start: A=1: must be 2"]
    assert len(reported(ValueError("x" * 9999), caplog)[0]) < MAX_MESSAGE + 20
    for error, within in ((ZeroDivisionError(), True), (ValueError("later"), False)):
        (message,) = reported(error, caplog, within=within)
        assert "Task exception was never retrieved" in message


def test_reactor_without_asyncio_is_refused() -> None:
    """Each request would fail. In another process: the tests have a reactor."""
    code = """
from scrapy.settings import Settings
from crawlproject.addon import FrontierAddon
for name in ("twisted.internet.selectreactor.SelectReactor", None):
    for more in ({}, {"TWISTED_REACTOR_ENABLED": False}, {"DOWNLOAD_HANDLERS": {"http": None, "https": None}}):
        try:
            FrontierAddon().update_settings(Settings({"TWISTED_REACTOR": name, **more}))
        except ValueError as error:
            print(more, error)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    told = "must be Scrapy's default, the reactor on asyncio"
    assert lines == [
        f"{{}} TWISTED_REACTOR='twisted.internet.selectreactor.SelectReactor': {told}",
        f"{{}} TWISTED_REACTOR=None: {told}",
    ]
