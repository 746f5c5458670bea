"""Waits that would never end."""

import signal
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
