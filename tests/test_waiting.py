"""Waits that would never end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import waiting
from tests.processes import HUNG
from tests.waiting import alarm, until


def failure_of(wait: Callable[[], object]) -> str:
    with pytest.raises(pytest.fail.Exception) as caught:
        wait()
    return str(caught.value)


def test_what_is_true_is_returned() -> None:
    values = iter([0, "", 7])
    assert until(lambda: next(values)) == 7


def test_a_wait_in_vain_fails_and_tells_what_was_awaited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    log = tmp_path / "log"
    log.write_text("x" * 10_000 + "last line")
    told = failure_of(lambda: until(lambda: "never" in log.read_text(), log=log))
    assert 'until(lambda: "never" in log.read_text(), log=log)' in told
    assert "test_waiting.py" in told
    assert told.endswith("xlast line")
    assert len(told) < 4_000
    assert "\n" not in failure_of(lambda: until(lambda: False, log=tmp_path / "none"))


def test_the_end_of_the_process_ends_the_wait() -> None:
    """Only after a last look: what the process did before its end counts."""
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as process:
        until(lambda: process.returncode is not None, process)
        assert "the process ended (3)" in failure_of(lambda: until(lambda: False, process))


def hangs() -> None:
    with alarm("test_so", 0.05):
        time.sleep(1e6)


async def hangs_in_a_loop() -> None:
    """The alarm is set in the loop: it may ring at once."""
    with alarm("test_so", 0.05):
        await asyncio.sleep(1e6)


@pytest.mark.parametrize("wait", [hangs, lambda: asyncio.run(hangs_in_a_loop())])
def test_a_test_that_hangs_fails(wait: Callable[[], object]) -> None:
    assert failure_of(wait) == "test_so hung: no end after 0.05 s"


def is_watched() -> bool:
    return 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= HUNG


@pytest.fixture
def watched() -> Iterator[None]:
    assert is_watched()
    yield
    assert is_watched()


def test_each_test_and_its_fixtures_are_watched(watched: None) -> None:
    """Also while it watches a part of itself, and afterwards."""
    with alarm("part", HUNG):
        assert is_watched()
    assert is_watched()
