"""Connections over real sockets: keep-alive, closing, delays, counting, and what the log says of them."""

import asyncio
import socket

import pytest

from testbed.web import LocalWeb, Record, max_open_connections, parallel_connections

from .browser import browse, fast, until, visit


def notes(records: list[Record], kind: str) -> list[str]:
    return [each.note for each in records if each.kind == kind]


def test_limit_is_announced_and_kept() -> None:
    """The third of three requests says close, and the server closes."""

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            said = [(await browser.get("/")).headers.get("connection") for _ in range(3)]
            assert said == [None, None, "close"]
            assert await browser.is_closed()

    records = visit(fast(keep_alive_limit=3), client)
    assert [each.number for each in records if each.kind == "request"] == [1, 2, 3]
    assert notes(records, "close") == ["limit"]
    assert records[-1].number == 3


def test_limit_can_come_unannounced() -> None:
    """A silent server closes at its limit without a word."""

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            said = [(await browser.get("/")).headers.get("connection") for _ in range(2)]
            assert said == [None, None]
            assert await browser.is_closed()

    assert notes(visit(fast(keep_alive_limit=2, silent_close_share=1.0), client), "close") == ["silent"]


def test_delays_are_served() -> None:
    """Connection cost .4 s counts for the first response only, response time .04 s for each."""
    slow = {"response_median": 0.04, "response_sigma_servers": 0.0, "response_sigma_pages": 0.0}

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            await browser.get("/")
            await browser.get("/p1.html")

    records = visit(fast(**slow, time_scale=1.0, connect_median=0.4, connect_sigma=0.0), client)
    first, second = (each.end - each.arrival for each in records if each.kind == "request")
    assert first >= 0.44
    assert 0.04 <= second < first


def test_client_that_gives_up_is_noted() -> None:
    """A request that its client does not wait for is logged with status 0."""

    async def client(local: LocalWeb) -> None:
        async with browse(local) as browser:
            await until(lambda: bool(local.log.records))  # accepted
            browser.send("/")
            await asyncio.sleep(0.05)  # the server reads first, however late both are

    records = visit(fast(time_scale=1.0, response_median=10.0), client)
    assert [(each.kind, each.status, each.note) for each in records[1:]] == [
        ("request", 0, "aborted"),
        ("close", 0, "client"),
    ]


async def hurry(local: LocalWeb, servers: int, turns: int, records: int) -> None:
    """Open and close 20 connections, so fast that the server, which shares this loop, sees both at once.

    Returns when the log has ``records`` in all.
    """
    for i in range(20):
        sock = socket.create_connection((local.web.servers[i % servers].address, local.port))
        for _ in range(turns):
            await asyncio.sleep(0)
        sock.close()
    await until(lambda: len(local.log.records) >= records)


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_connection_closed_before_the_next_is_not_counted_twice(turns: int) -> None:
    """A client that closes and opens again before the server has looked never had two connections to it."""

    async def client(local: LocalWeb) -> None:
        async with browse(local, 1), browse(local, 2):  # there have been more in all
            pass
        await hurry(local, 1, turns, records=44)

    records = visit(fast(), client)
    assert len(records) == 44
    assert parallel_connections(records)["127.1.0.1"] == 1


def test_parallel_connections_are_counted() -> None:
    """Two open connections to one server are two."""

    async def client(local: LocalWeb) -> None:
        async with browse(local, 0), browse(local, 0) as second, browse(local, 1) as third:
            await second.get("/")
            await third.get("/")

    records = visit(fast(), client)
    assert parallel_connections(records) == {"127.1.0.1": 2, "127.1.0.2": 1}
    assert max_open_connections(records) == 3
