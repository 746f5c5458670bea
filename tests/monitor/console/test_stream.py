"""The stream of events: pages that read slowly, or not at all, and the end."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from crawlproject.monitor.console import api
from tests.monitor.console.served import FakeRoom, Served

#: Bytes of an event, events, and bytes that may wait for one page: two buffers of 64 KiB, and an event.
SIZE, EVENTS, BOUND = 20_000, 2_000, 2 * 65_536 + 21_000

#: Bytes that the kernel keeps for a client, at most.
KERNEL = 8_000_000


class BigRoom(FakeRoom):
    """Each event has its number and many bytes."""

    number = 0

    def event(self) -> dict[str, Any]:
        self.number += 1
        return {"number": self.number, "text": "x" * SIZE}


@contextmanager
def stream(served: Served) -> Iterator[socket.socket]:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(("127.0.0.1", served.port))
        token = f"Authorization: Bearer {served.access.token}"
        client.sendall(f"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n{token}\r\n\r\n".encode())
        served.run(reached(lambda: served.hub.streams == 1))
        yield client


async def reached(condition: Callable[[], bool]) -> None:
    """Let the server work until ``condition()``."""
    while not condition():
        await asyncio.sleep(0.001)


async def publish(served: Served) -> int:
    """Many events; returns how many bytes were waiting at most."""
    most = 0
    for _ in range(EVENTS):
        served.hub.publish()
        await asyncio.sleep(0)
        most = max(most, served.buffered())
    return most


def read(client: socket.socket) -> bytes:
    parts = []
    while part := client.recv(1_000_000):
        parts.append(part)
    return b"".join(parts)


def test_nothing_piles_up_for_a_page_that_does_not_read() -> None:
    """It misses events, and those that it gets later are whole; the last one is the end."""
    with Served(BigRoom()) as served, stream(served) as client:
        most = served.run(publish(served))
        assert 0 < most <= BOUND
        closing = asyncio.run_coroutine_threadsafe(served.close(), served.loop)
        text = read(client)
        closing.result(60)
    assert len(text) <= BOUND + KERNEL < EVENTS * SIZE
    events = [each for each in text.decode().split("event: ")[1:] if SIZE * "x" in each]
    assert [each.partition("\n")[0] for each in events] == ["figures"] * (len(events) - 1) + ["end"]


def test_a_page_that_does_not_read_for_long_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is free again, and nothing is kept for it."""
    monkeypatch.setattr(api, "STREAM_TIMEOUT", 0.01)
    with Served(BigRoom()) as served, stream(served):

        async def give_up() -> None:
            while served.hub.streams:
                served.hub.publish()
                await asyncio.sleep(0.001)
            await reached(lambda: served.buffered() == 0)

        served.run(give_up())
