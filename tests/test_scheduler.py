"""The scheduler in a crawl by several workers: what it sends, receives, starts, and what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.defer import maybe_deferred_to_future

from crawlproject.links import Links
from crawlproject.requests.meta import GIVEN_UP, ORIGIN, UNSENT
from crawlproject.scheduler import MAX_DROPPED, MAX_FAILING, START, FrontierScheduler
from crawlproject.urls.fates import Reason
from tests.backends.worker import DUPEFILTER, OtherWorker, Worker, WorkerBackend, WorkerSpider, crawler_of

OWN, FOREIGN = "http://a.example/", "http://b.example/"


def start_request(url: str, **kwargs: Any) -> Request:
    """As Scrapy makes them."""
    return Request(url, dont_filter=True, **kwargs, meta={START: True})


def test_a_request_travels_to_the_worker_of_its_server() -> None:
    """With all that the spider gave it."""
    one, other = Worker(), Worker(OtherWorker)
    request = Request(
        f"{FOREIGN}x",
        one.crawler.spider.parse_other,
        priority=3,
        meta={"quality": 7, "tuple": (1,)},
        cb_kwargs={"k": 1},
    )
    assert one.enqueue(request) == [True]
    assert len(one.scheduler) == 0
    assert one.stats("scheduler/enqueued", "scheduler/enqueued/sent") == [1, 1]
    assert [(entry.url, entry.quality, entry.priority) for entry in one.sent] == [(f"{FOREIGN}x", 7.0, 3)]
    other.receive(*one.sent)
    (found,) = other.take()
    assert (found.url, found.callback, found.cb_kwargs) == (request.url, other.crawler.spider.parse_other, {"k": 1})
    assert found.meta["tuple"] == (1,)
    assert other.stats("frontier/received", "frontier/received/new", "scheduler/enqueued/disk") == [1, 1, 1]


def test_a_url_is_sent_once() -> None:
    """A link or a plain request; not a request that is more than its URL, nor one with dont_filter."""
    one = Worker()
    for _ in one.scheduler._discovery.push_links(Links(None, [f"{FOREIGN}link"])):
        pass
    assert one.enqueue(Request(FOREIGN), Request(f"{FOREIGN}#x"), Request(f"{FOREIGN}link")) == [True, False, False]
    assert one.stats("dupefilter/filtered") == [2]
    assert one.enqueue(Request(FOREIGN, method="POST"), Request(FOREIGN, dont_filter=True)) == [True, True]
    assert len(one.sent) == 4


def test_the_owner_filters_what_it_has_seen() -> None:
    """From whomever it came first, by dont_filter of the request itself."""
    one, other = Worker(), Worker(OtherWorker)
    one.enqueue(Request(f"{FOREIGN}1"), Request(f"{FOREIGN}2", dont_filter=True), Request(f"{FOREIGN}3"))
    assert other.enqueue(Request(f"{FOREIGN}1"), Request(f"{FOREIGN}2")) == [True, True]
    other.receive(*one.sent)
    assert len(other.scheduler) == 4
    assert other.stats("frontier/received/new", "frontier/received/seen") == [2, 1]


def test_start_requests_of_all_workers_are_one() -> None:
    """In spite of dont_filter, with which Scrapy makes them; also of the worker that has the server."""
    workers = [Worker(), Worker(OtherWorker)]
    for worker in workers:
        worker.enqueue(start_request(OWN), start_request(FOREIGN))
        assert worker.enqueue(start_request(OWN), start_request(FOREIGN)) == [False, False]
    for worker, other in (workers, workers[::-1]):
        worker.receive(*other.sent)
        assert len(worker.scheduler) == 1


def test_copies_of_start_requests_are_no_start_requests() -> None:
    """Retries and redirects keep their meta: the first are repeated here, the others where they lead."""
    one, other = Worker(), Worker(OtherWorker)
    one.enqueue(start_request(OWN))
    (request,) = one.take()
    assert ORIGIN in request.meta
    assert one.enqueue(request.copy()) == [True]
    other.enqueue(Request(FOREIGN))
    assert one.enqueue(request.replace(url=FOREIGN)) == [True]
    other.receive(*one.sent)
    assert len(other.scheduler) == 2


def test_alone_start_requests_are_repeated() -> None:
    """As with Scrapy's scheduler."""
    scheduler = FrontierScheduler.from_crawler(crawler_of(WorkerSpider, **DUPEFILTER))
    assert [scheduler.enqueue_request(start_request(OWN)) for _ in range(2)] == [True, True]


def test_what_cannot_be_sent_fails(caplog: pytest.LogCaptureFixture) -> None:
    """The middleware that sees the reason calls its errback. Another request with its URL is sent."""
    one = Worker()
    assert one.enqueue(Request(FOREIGN, callback=lambda _: None)) == [True]
    assert one.scheduler.has_pending_requests()
    (failed,) = one.take()
    assert failed.meta[GIVEN_UP] is Reason.UNSERIALIZABLE
    assert one.stats("scheduler/enqueued/memory") == [1]
    one.enqueue(Request(FOREIGN, meta={"object": object()}))
    assert caplog.text.count("cannot be serialized") == 1
    assert one.enqueue(Request(FOREIGN)) == [True]
    assert len(one.sent) == 1


def test_a_request_without_a_server_belongs_to_nobody() -> None:
    """It fails here."""
    one = Worker()
    assert one.enqueue(Request("http:?x")) == [True]
    ending = one.scheduler.crawl.fates.noted(one.scheduler.crawl.unsent[0][0])
    assert ending is not None
    assert ending.reason is Reason.MALFORMED
    assert one.sent == []


@pytest.mark.parametrize("cause", ["the backend", "an outage"])
def test_nothing_starts_while_something_holds_it_back(cause: str) -> None:
    """Not even what fails unsent, and what was handed out before is not sent, but returns; then it goes on."""
    one = Worker()

    def hold_back(*, on: bool) -> None:
        if cause == "an outage":
            crawl.hold_back("the network: no server can be reached" if on else None)
        else:
            one.backend.is_allowed = not on

    one.enqueue(Request(OWN))
    crawl, request = one.scheduler.crawl, one.scheduler.next_request()
    assert request is not None
    assert crawl.may_start(request)
    one.enqueue(Request("http:?x"))
    hold_back(on=True)
    assert not crawl.may_start(request)
    request.meta[UNSENT] = True
    assert one.enqueue(request) == [True]
    assert one.take() == []
    assert one.scheduler.has_pending_requests()
    hold_back(on=False)
    assert len(one.take()) == 2


def test_the_crawl_goes_on_while_others_work() -> None:
    """Though nothing is queued here."""
    one = Worker()
    assert not one.scheduler.has_pending_requests()
    one.backend.others_work = True
    assert one.scheduler.has_pending_requests()


def test_a_server_is_dropped_in_steps() -> None:
    """Between them other things happen, and the crawl does not end."""
    one = Worker()
    for _ in one.scheduler._discovery.push_links(
        Links(None, [f"{OWN}link{number}" for number in range(2 * MAX_DROPPED)])
    ):
        pass
    counts = []

    async def run() -> None:
        one.scheduler.crawl.name_missing(OWN.rstrip("/"), "no such name")
        while one.scheduler._frontier.drops.are_left:
            assert one.scheduler.has_pending_requests()
            counts.extend(one.stats("fates/queue/dns"))
            await asyncio.sleep(0)

    asyncio.run(run())
    assert counts[0] == MAX_DROPPED
    assert one.stats("fates/queue/dns") == [2 * MAX_DROPPED]
    assert not one.scheduler.has_pending_requests()


def test_requests_that_fail_unsent_do_so_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine would take all of them at once, and finish them all before a crawl that is told to end has ended."""
    one = Worker()
    one.enqueue(*(Request(f"{OWN}{number}", callback=lambda _: None) for number in range(3 * MAX_FAILING)))
    one.enqueue(Request("http://c.a.example/"))
    in_progress: set[Request] = set()
    monkeypatch.setattr("crawlproject.scheduler.unfinished_requests", lambda _: in_progress)

    def take() -> list[Request]:
        taken = []
        while (request := one.scheduler.next_request()) is not None:
            taken.append(request)
            in_progress.add(request)
        return taken

    async def run() -> None:
        one.scheduler.crawl.name_missing(OWN.rstrip("/"), "no such name")
        *failing, good = take()
        assert good.url == "http://c.a.example/"  # others do not wait for them
        assert len(failing) == MAX_FAILING
        in_progress.difference_update(failing[:3])
        assert [request.url for request in take()] == [f"{OWN}{MAX_FAILING + number}" for number in range(3)]
        in_progress.clear()
        assert len(take()) == MAX_FAILING
        in_progress.clear()
        assert one.scheduler.has_pending_requests()
        assert len(take()) == MAX_FAILING - 3
        assert not one.scheduler.has_pending_requests()

    asyncio.run(run())


def test_a_newcomer_whose_rest_ends_while_the_scheduler_looks_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the admission of newcomers and the search for a free server: nothing else would wake the engine."""
    one = Worker()
    one.enqueue(Request(f"{OWN}1"))
    alarms: list[float] = []
    monkeypatch.setattr(one.scheduler._alarm, "set", alarms.append)
    monkeypatch.setattr("crawlproject.crawl_frontier.CLOCK", lambda: times[0])
    monkeypatch.setattr("crawlproject.scheduler.CLOCK", lambda: times.pop(0) + 0.002)  # later than for the admission
    server = one.scheduler.crawl.frontier.server(OWN.rstrip("/"))
    times = [0.0]
    one.scheduler.crawl.name_failed(OWN.rstrip("/"), "no answer", 10.0, is_final=False)
    assert server is not None
    times = [server.ready_at - 0.001, server.ready_at + 0.002]
    assert one.scheduler.next_request() is None
    assert alarms
    assert alarms[-1] <= server.ready_at + 0.002
    times[0] += 0.001
    request = one.scheduler.next_request()
    assert request is not None
    assert request.url == f"{OWN}1"


class SlowBackend(WorkerBackend):
    """Notes in which order things happen."""

    failure: type[Exception] | None = None

    def opened(self) -> Awaitable[None]:
        return self._step("opened")

    def close(self) -> Awaitable[None]:
        return self._step("closed", self.failure)

    async def _step(self, name: str, failure: type[Exception] | None = None) -> None:
        await asyncio.sleep(0)
        self._stats.set_value(name, not self._seen._is_open)
        if failure is not None:
            raise failure("no connection")


class FailingBackend(SlowBackend):
    failure = ConnectionError


@pytest.mark.parametrize("kind", [SlowBackend, FailingBackend])
def test_opening_and_closing_wait_for_the_backend(kind: type[SlowBackend], caplog: pytest.LogCaptureFixture) -> None:
    """It opens before the dupefilter, and closes before it, also where that fails."""
    one = Worker(kind)

    async def run() -> None:
        opening = one.scheduler.open(one.crawler.spider)
        assert opening is not None
        await maybe_deferred_to_future(opening)
        assert one.backend._seen._is_open
        closing = one.scheduler.close("finished")
        assert closing is not None
        await maybe_deferred_to_future(closing)

    asyncio.run(run())
    assert one.stats("opened", "closed") == [True, False]
    assert not one.backend._seen._is_open
    assert ("The backend could not be closed" in caplog.text) == (kind is FailingBackend)


def test_other_backends_are_open_at_once() -> None:
    """And closed."""
    scheduler = FrontierScheduler.from_crawler(crawler := crawler_of(WorkerSpider, **DUPEFILTER))
    assert scheduler.open(crawler.spider) is None
    assert scheduler.close("finished") is None
