"""How long a server that has never answered keeps its connection."""

import asyncio
from typing import cast

import pytest

from crawlproject.download import patience
from crawlproject.download.patience import Patience, Watch


class FiveSeconds:
    """Patience that lasts 5 s, and counts who was put off."""

    def __init__(self) -> None:
        self.put: list[str] = []

    def time_for(self, key: str) -> float:
        del key
        return 5.0

    def put_off(self, key: str) -> bool:
        self.put.append(key)
        return True


def put_off_at(monkeypatch: pytest.MonkeyPatch, times: list[float]) -> list[bool]:
    """Whether a server was put off after its timer was called at each of ``times``."""
    now = 0.0
    monkeypatch.setattr(patience, "CLOCK", lambda: now)
    asked = FiveSeconds()

    async def call() -> list[bool]:
        nonlocal now
        watch = Watch(cast("Patience", asked), "http://a.example")
        found = []
        for now in times:  # noqa: B007
            watch.cancel()
            watch._look()
            found.append(bool(asked.put))
        watch.cancel()
        return found

    return asyncio.run(call())


def test_server_is_put_off_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert put_off_at(monkeypatch, [5.0]) == [True]


def test_server_is_not_put_off_because_this_process_was_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer may wait to be read: with a lag of 1 to 5 s, 49 of 23,000 first answers were thrown away."""
    assert put_off_at(monkeypatch, [9.0, 13.0]) == [False, True]


def test_a_process_that_is_always_late_loses_its_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    assert put_off_at(monkeypatch, [7.0, 11.0, 15.0, 19.0]) == [False, False, False, True]
