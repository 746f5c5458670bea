"""Newcomers whose names are looked up before they get a session, with a name server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.download import prefetch
from crawlproject.download.address_guard import AddressGuard
from crawlproject.download.prefetch import NewcomerNames
from crawlproject.frontier import Dispatcher, Entry, Frontier, Politeness, QualityFirst
from crawlproject.frontier.frontier import MAX_NAME_FAILURES
from testbed.dns import Name, Zone
from tests.crawl_ports import unconnected
from tests.download.direct_fetch import in_loop
from tests.download.test_resolver import Scene, playing

KEY = "http://new.test"


@asynccontextmanager
async def newcomer(zone: Zone) -> AsyncIterator[tuple[Scene, CrawlFrontier]]:
    """The frontier of a crawl that has one newcomer, with one URL."""
    async with playing(zone) as scene:
        frontier = Frontier(QualityFirst(), Politeness(min_backoff=1), admits_newcomers=True)
        frontier.push([Entry(f"{KEY}/")])
        crawl = unconnected(Dispatcher(frontier, 2))
        names = NewcomerNames(scene.resolver, AddressGuard(), crawl, 9, lambda _: None)
        yield scene, crawl
        names.close()


async def looked_up(scene: Scene) -> None:
    """Return when no look-up is in progress, and what waited for them was called."""
    while scene.resolver.in_flight:
        await asyncio.wait(scene.resolver._in_flight.values())
    await asyncio.sleep(0)


@in_loop
async def test_what_is_looked_up_when_a_proxy_comes_is_not_given_up() -> None:
    """The proxy resolves its name: that we cannot does not matter any more."""
    async with newcomer({}) as (scene, crawl):
        crawl.admit()
        assert scene.resolver.in_flight == 1
        crawl.admits_all()
        await looked_up(scene)
        assert scene.server.questions("new.test") == 1
        assert not crawl.is_given_up(KEY)
        assert crawl.dispatcher.next(CLOCK()) is not None


@in_loop
async def test_a_second_download_handler_takes_over() -> None:
    """Scrapy makes one for http and later one for https: what the first one has asked for is admitted all the same."""
    async with newcomer({"new.test": Name(("A 192.0.2.1",))}) as (scene, crawl):
        crawl.admit()
        NewcomerNames(scene.resolver, AddressGuard(), crawl, 9, lambda _: None)
        assert crawl.dispatcher.next(CLOCK()) is None
        await looked_up(scene)
        assert crawl.dispatcher.next(CLOCK()) is not None


@in_loop
async def test_a_cached_failure_is_not_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server rests until its name can be looked up again: it is given up after four look-ups, not after one."""
    async with newcomer({"new.test": Name(rcode="SERVFAIL")}) as (scene, crawl):
        monkeypatch.setattr(prefetch, "CLOCK", lambda: scene.now[0])
        monkeypatch.setattr("crawlproject.crawl_frontier.CLOCK", lambda: scene.now[0])
        monkeypatch.setattr(prefetch, "PAUSE", 0.0)
        for look_ups in range(1, MAX_NAME_FAILURES + 1):
            assert not crawl.is_given_up(KEY)
            crawl.admit()
            await looked_up(scene)
            assert scene.stat("dns/lookups") == look_ups
            server = crawl.frontier.servers[KEY]
            assert server.failures == look_ups
            scene.now[0] = server.ready_at + 0.01
        assert crawl.is_given_up(KEY)
