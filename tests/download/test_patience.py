"""How long a server that has never answered keeps its connection."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from crawlproject.download import patience
from crawlproject.download.patience import Patience
from crawlproject.frontier.observed_times import ObservedTimes


@pytest.mark.parametrize(("is_closing", "is_wanted", "end"), [(False, True, "put off"), (True, False, "abandoned")])
def test_server_that_does_not_answer_in_time_gives_way(
    monkeypatch: pytest.MonkeyPatch, is_closing: bool, is_wanted: bool, end: str
) -> None:
    """When another server waits for its place, or when the crawl ends."""
    monkeypatch.setattr(patience, "PERIOD", 0.0)
    ends: list[str] = []
    server = SimpleNamespace(answered=False, session=object(), failures=0, ready_at=0.0, last_error="no answer")

    def put_off(_: str) -> bool:
        asked.append(1)
        return is_wanted and len(asked) > 2

    asked: list[int] = []
    crawl: Any = SimpleNamespace(
        frontier=SimpleNamespace(server=lambda _: server, servers={"a": server}),
        times=ObservedTimes(),
        outage=None,
        wake=lambda: ends.append("woken"),
        put_off=put_off,
        abandon=lambda _: is_closing,
    )

    async def watch() -> None:
        made = Patience(crawl, 0.05, lambda _: ends.append(end), lambda _: None, lambda: is_closing)
        task = made.watch("a")
        assert task is not None
        await asyncio.sleep(0.01)
        assert not ends
        await task
        server.answered = True
        assert made.watch("a") is None

    asyncio.run(watch())
    assert ends == [end, "woken"]
    assert len(asked) == (0 if is_closing else 3)
