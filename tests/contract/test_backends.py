"""What the scheduler asks of a backend, of each backend alike (``crawlproject.backends.protocol``).

To have another one tested, add its settings to ``BACKENDS``, and its name to ``DURABLE`` if it outlives the process.
The one of several workers is alone in its crawl here: all servers are its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from crawlproject.backends import choice
from crawlproject.backends.protocol import Backend
from crawlproject.crawl_frontier import CrawlFrontier
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier.dispatch import Dispatcher
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.frontier import Frontier
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.entries import link_failed
from crawlproject.requests.meta import BY_TYPE, KEEP, QUALITY
from crawlproject.urls.fates import Reason
from tests.crawl_ports import NO_HOST, unconnected

#: ``FRONTIER_BACKEND`` -> its settings, from the request for a fixture of the test.
BACKENDS: dict[str, Callable[[pytest.FixtureRequest], dict[str, Any]]] = {
    "memory": lambda _: {},
    "disk": lambda request: {"FRONTIER_DIR": str(request.getfixturevalue("tmp_path"))},
    "redis": lambda request: {"REDIS_URL": request.getfixturevalue("redis_server").url},
}
DURABLE = ("disk", "redis")

URL = "http://a.example/"


class ContractSpider(Spider):
    name = "contract"

    def parse_other(self, response: Response) -> None:
        """A callback that is not the default one."""


@dataclass
class Opened:
    """A backend with what it fills, in a crawler whose engine has not started."""

    backend: Backend
    frontier: Frontier
    seen: SeenDupeFilter
    spider: ContractSpider

    def push(self, request: Request) -> None:
        """As the scheduler does."""
        self.frontier.push([Entry(request.url, 1.0, request.priority, 0, self.backend.pack(request))])

    def push_link(self, url: str, callback: Callable[..., Any] | None = None) -> None:
        """As the intake of links does."""
        entry = Entry(url, 1.0, 0, 1, self.backend.pack_callback(callback))
        self.frontier.push(self.backend.hold([entry], None))

    def take(self) -> Entry:
        """The next entry, whose server is left alone again at once."""
        session = self.frontier.open_session(1e9)
        assert session is not None
        entry = self.frontier.next_url(session, 1e9)
        assert entry is not None
        self.frontier.close_session(session, 1e9)
        return entry

    def hand_out_link(self) -> Request:
        """The request of a link that was queued and is in flight now."""
        self.push_link(URL)
        entry = self.take()
        request = self.backend.unpack(entry)
        self.backend.handed_out(request, entry)
        return request


class IdleEngine:
    """What is asked of the engine: it has started, and no request is in progress."""

    def __init__(self, spider: Spider, crawl: CrawlFrontier) -> None:
        self.spider = spider
        scheduler = SimpleNamespace(crawl=crawl)
        self._slot = SimpleNamespace(scheduler=scheduler, inprogress=set(), closing=None)
        self._start = None


@dataclass
class Place:
    """Where a backend keeps what it keeps."""

    name: str
    settings: dict[str, Any]

    @property
    def is_durable(self) -> bool:
        return self.name in DURABLE

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """A run: what the last one has kept is there."""
        crawler = get_crawler(ContractSpider, {"FRONTIER_BACKEND": self.name, **self.settings})
        crawler.spider = spider = ContractSpider()
        crawler.request_fingerprinter = crawler.request_fingerprinter or RequestFingerprinter(crawler)
        options = FrontierOptions.of(crawler)
        frontier = Frontier(options.policy(), options.politeness)
        seen = SeenDupeFilter.from_crawler(crawler)
        crawl = unconnected(Dispatcher(frontier, options.max_sessions))
        crawler._engine = cast("Any", IdleEngine(spider, crawl))
        with asyncio.Runner() as runner:  # timers need a loop, which runs while they are set
            backend = runner.run(_open(crawler, options, frontier, seen))
            try:
                yield Opened(backend, frontier, seen, spider)
            finally:  # or what a test that fails leaves open makes later ones fail
                runner.run(_close(backend))


async def _open(crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter) -> Backend:
    """As the scheduler does; returns when the server of ``URL`` may be crawled."""
    backend = choice.open_backend(crawler, options, frontier, seen, NO_HOST)
    if (opening := backend.opened()) is not None:
        await opening
    while backend.exchange is not None and not backend.exchange.is_own(URL):
        await asyncio.sleep(0.01)
    return backend


async def _close(backend: Backend) -> None:
    if (closing := backend.close()) is not None:
        await closing


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param, BACKENDS[request.param](request))


def test_each_name_of_the_setting_has_its_class() -> None:
    """And each class is tested here."""
    assert choice.BACKENDS.keys() == BACKENDS.keys()


def test_a_request_comes_back_as_it_was(place: Place) -> None:
    """With all that a spider can give it."""
    with place.open() as crawl:
        request = Request(
            f"{URL}?x=1",
            callback=crawl.spider.parse_other,
            method="POST",
            headers={"X-One": ["1", "2"]},
            body=b"\xff",
            meta={"depth": 3, "tuple": (1, 2)},
            priority=7,
            dont_filter=True,
            cb_kwargs={"name": "value"},
        )
        crawl.push(request)
        entry = crawl.take()
        assert not crawl.backend.is_link(entry)
        assert not crawl.backend.is_refetched(entry)
        found = crawl.backend.unpack(entry)
        assert {name: getattr(found, name) for name in found.attributes} == {
            name: getattr(request, name) for name in request.attributes
        }


@pytest.mark.parametrize("callback", [None, "parse_other"])
def test_a_link_becomes_the_request_of_its_callback(place: Place, callback: str | None) -> None:
    """With depth and quality of its entry; nobody waits for its failure."""
    with place.open() as crawl:
        method = None if callback is None else getattr(crawl.spider, callback)
        crawl.push_link(URL, method)
        entry = crawl.take()
        assert crawl.backend.is_link(entry)
        request = crawl.backend.unpack(entry)
        assert (request.url, request.callback, request.errback) == (URL, method, link_failed)
        assert request.meta == {"depth": 1, QUALITY: 1.0, "verbatim_url": True, BY_TYPE: True}


def test_what_cannot_be_written_is_kept_all_the_same(place: Place) -> None:
    """Objects in meta, callbacks that are no methods of the spider."""
    thing, function = object(), lambda _: None
    with place.open() as crawl:
        crawl.push(Request(URL, meta={"thing": thing}))
        entry = crawl.take()
        assert crawl.backend.unpack(entry).meta["thing"] is thing
        assert crawl.backend.name_of(entry.payload) == "memory"
        crawl.push_link(f"{URL}link", function)
        entry = crawl.take()
        assert crawl.backend.is_link(entry)
        assert crawl.backend.unpack(entry).callback is function
        crawl.backend.dropped(entry, Reason.GUARD)


def test_a_request_without_a_server_is_kept_outside_of_the_queues(place: Place) -> None:
    """It fails in its turn, in this run."""
    with place.open() as crawl:
        request = Request("data:,x")
        entry = crawl.backend.not_queued(Entry(request.url, payload=crawl.backend.pack(request)), request)
        assert crawl.backend.unpack(entry).url == request.url
        crawl.backend.handed_out(crawl.backend.unpack(entry), entry)


def test_what_waits_is_there_again(place: Place) -> None:
    """In the next run of a durable backend: queues, and what was met; another begins anew."""
    with place.open() as crawl:
        assert crawl.seen.urls_are_new([URL, f"{URL}link"]) == [True, True]
        crawl.push(Request(URL, callback=crawl.spider.parse_other))
        crawl.push_link(f"{URL}link")
    with place.open() as crawl:
        assert len(crawl.frontier) == 2 * place.is_durable
        assert crawl.seen.urls_are_new([URL, f"{URL}link"]) == [not place.is_durable] * 2
        if place.is_durable:
            found = [crawl.backend.unpack(crawl.take()) for _ in range(2)]
            assert sorted(request.url for request in found) == [URL, f"{URL}link"]
            assert {request.callback for request in found} == {None, crawl.spider.parse_other}


@pytest.mark.parametrize("meta", [{}, {KEEP: True}])
def test_what_the_engine_is_through_with_is_forgotten(place: Place, meta: dict[str, Any]) -> None:
    """Unless its page was not taken: then it is queued in the next run. (No engine runs, so it is through with all.)"""
    with place.open() as crawl:
        request = crawl.hand_out_link()
        request.meta.update(meta)
    with place.open() as crawl:
        assert len(crawl.frontier) == (place.is_durable and bool(meta))


def test_what_was_given_back_waits(place: Place) -> None:
    """It was not sent, so the end of its request says nothing."""
    with place.open() as crawl:
        request = crawl.hand_out_link()
        crawl.backend.given_back(request)
    with place.open() as crawl:
        assert len(crawl.frontier) == place.is_durable


def test_what_was_dropped_is_gone(place: Place) -> None:
    """A link that will not be fetched, once the frontier has forgotten it."""
    with place.open() as crawl:
        crawl.push_link(URL)
        entry = crawl.take()
        crawl.frontier.acknowledge(entry)
        crawl.backend.dropped(entry, Reason.GUARD)
    with place.open() as crawl:
        assert len(crawl.frontier) == 0
