"""Newcomers whose names are looked up before they get a session, with a name server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

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
from tests.download.test_resolver import Scene, play

KEY = "http://new.test"


def play_newcomer(zone: Zone, story: Callable[[Scene, CrawlFrontier], Awaitable[None]]) -> None:
    """Run ``story`` with the frontier of a crawl that has one newcomer, with one URL."""

    async def run(scene: Scene) -> None:
        frontier = Frontier(QualityFirst(), Politeness(min_backoff=1), admits_newcomers=True)
        frontier.push([Entry(f"{KEY}/")])
        crawl = unconnected(Dispatcher(frontier, 2))
        names = NewcomerNames(scene.resolver, AddressGuard(), crawl, 9, lambda _: None)
        await story(scene, crawl)
        names.close()

    play(zone, run)


async def looked_up(scene: Scene) -> None:
    """Return when no look-up is in progress, and what waited for them was called."""
    while scene.resolver.in_flight:
        await asyncio.wait(scene.resolver._in_flight.values())
    await asyncio.sleep(0)


def test_what_is_looked_up_when_a_proxy_comes_is_not_given_up() -> None:
    """The proxy resolves its name: that we cannot does not matter any more."""

    async def story(scene: Scene, crawl: CrawlFrontier) -> None:
        crawl.admit()
        assert scene.resolver.in_flight == 1
        crawl.admits_all()
        await looked_up(scene)
        assert scene.server.questions("new.test") == 1
        assert not crawl.is_given_up(KEY)
        assert crawl.dispatcher.next(CLOCK()) is not None

    play_newcomer({}, story)


def test_a_second_download_handler_takes_over() -> None:
    """Scrapy makes one for http and later one for https: what the first one has asked for is admitted all the same."""

    async def story(scene: Scene, crawl: CrawlFrontier) -> None:
        crawl.admit()
        NewcomerNames(scene.resolver, AddressGuard(), crawl, 9, lambda _: None)
        assert crawl.dispatcher.next(CLOCK()) is None
        await looked_up(scene)
        assert crawl.dispatcher.next(CLOCK()) is not None

    play_newcomer({"new.test": Name(("A 192.0.2.1",))}, story)


def test_a_cached_failure_is_not_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server rests until its name can be looked up again: it is given up after four look-ups, not after one."""

    async def story(scene: Scene, crawl: CrawlFrontier) -> None:
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

    play_newcomer({"new.test": Name(rcode="SERVFAIL")}, story)
