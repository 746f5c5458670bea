"""Which bodies go on, and which wait."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress

import pytest
from scrapy import signals
from scrapy.http import HtmlResponse, Request, Response
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from crawlproject.download import body_budget
from crawlproject.download.body_budget import BodyBudget, Share
from crawlproject.engine import Crawl, forget_selector
from tests.download.direct_fetch import in_loop

LIMIT = 1_000_000


class Counts:
    """Of what the budget says."""

    def __init__(self) -> None:
        self.counted: list[str] = []
        self.unfinished: set[Request] = set()
        self.budget = BodyBudget(LIMIT, self.counted.append, lambda: self.unfinished)

    def of(self, what: str) -> int:
        return self.counted.count(f"downloader/bodies_{what}")


async def settled() -> None:
    """Let all tasks run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def grown(budget: BodyBudget, size: int) -> Share:
    """A body of which ``size`` bytes have come."""
    share = budget.share()
    share.grow(size)
    return share


@in_loop
async def test_nothing_waits_below_the_limit() -> None:
    """Up to it, that is."""
    counts = Counts()
    shares = [grown(counts.budget, LIMIT // 4) for _ in range(4)]
    for share in shares:
        await counts.budget.wait(share)
    assert counts.of("paused") == 0


@in_loop
async def test_one_goes_on_and_then_the_largest() -> None:
    """The first that would wait; when it is gone, the others as there is room."""
    counts = Counts()
    first, small, large = (grown(counts.budget, size) for size in (600_000, 500_000, 700_000))
    await counts.budget.wait(first)
    order: list[Share] = []

    async def wait(share: Share) -> None:
        await counts.budget.wait(share)
        order.append(share)

    tasks = [asyncio.ensure_future(wait(share)) for share in (small, large)]
    await settled()
    first.grow(5 * LIMIT)
    await counts.budget.wait(first)  # still
    assert not order
    first.end()
    await settled()
    assert order == [large]
    large.end()
    await asyncio.gather(*tasks)
    assert order == [large, small]
    small.end()
    assert counts.budget.total == 0
    assert counts.of("paused") == 4


@in_loop
async def test_body_counts_until_its_response_is_released() -> None:
    """What waits for the spider takes memory, too: reading goes on when it is gone."""
    counts = Counts()
    response = Response("http://example.com/", body=b"")
    counts.budget.hold(response, grown(counts.budget, LIMIT))
    share = grown(counts.budget, 1)
    task = asyncio.ensure_future(counts.budget.wait(share))
    await settled()
    assert not task.done()
    del response
    await task
    assert counts.budget.total == 1


@in_loop
async def test_decompressed_body_takes_the_place_of_the_other() -> None:
    """Its share goes from one response to the next."""
    counts = Counts()
    packed, unpacked = Response("http://example.com/"), Response("http://example.com/")
    counts.budget.hold(packed, grown(counts.budget, 100_000))
    with counts.budget.resumed(packed) as share:
        share.grow(800_000)
        counts.budget.hold(unpacked, share)
    del packed
    assert counts.budget.total == 900_000
    del unpacked
    assert counts.budget.total == 0


@in_loop
async def test_body_that_fails_to_become_another_is_given_back() -> None:
    """Decompressing raised: nothing of it counts any more."""
    counts = Counts()
    packed = Response("http://example.com/")
    counts.budget.hold(packed, grown(counts.budget, 100_000))
    with suppress(OSError), counts.budget.resumed(packed) as share:
        share.grow(800_000)
        raise OSError("broken")
    assert counts.budget.total == 0


@in_loop
async def test_something_goes_on_though_finished_bodies_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback may hold one while it waits for another download."""
    monkeypatch.setattr(body_budget, "GRACE", 0.01)
    counts = Counts()
    response = Response("http://example.com/")
    counts.budget.hold(response, grown(counts.budget, 2 * LIMIT))
    await counts.budget.wait(grown(counts.budget, 1))
    assert response is not None
    assert counts.of("given_up") == 0


@in_loop
async def test_awaited_body_does_not_wait_for_what_callbacks_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for by one of them; but another awaited one that is held comes before it."""
    monkeypatch.setattr(body_budget, "GRACE", 1000.0)
    counts = Counts()
    page = Response("http://example.com/")
    counts.budget.hold(page, grown(counts.budget, 2 * LIMIT))
    ordinary = asyncio.ensure_future(counts.budget.wait(grown(counts.budget, 1)))
    first, second = (counts.budget.share(awaited=True) for _ in range(2))
    await counts.budget.wait(first)
    waiting = asyncio.ensure_future(counts.budget.wait(second))
    first.grow(LIMIT)
    answer = Response("http://example.com/answer")
    counts.budget.hold(answer, first)
    await settled()
    assert not waiting.done()
    del answer
    await waiting
    assert not ordinary.done()
    second.end()
    del page
    await ordinary


@pytest.fixture
def _uncollected() -> Iterator[None]:
    """No cycle is found meanwhile."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_uncollected")
@in_loop
async def test_body_of_a_callback_that_raised_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the traceback of its error is part of a cycle, as it is in Scrapy."""
    monkeypatch.setattr(body_budget, "GRACE", 1000.0)
    crawler = get_crawler(settings_dict={"FRONTIER_MAX_ACTIVE_SIZE": LIMIT})

    def process(response: Response) -> None:
        try:
            raise ValueError(response.url)
        except ValueError as error:
            kept = RuntimeError("second")
            kept.__context__ = error
            raise kept from None

    budget = Crawl.of(crawler).part(BodyBudget)
    response = Response("http://example.com/")
    budget.hold(response, grown(budget, 2 * LIMIT))
    try:
        process(response)
    except RuntimeError:
        failure = Failure()  # type: ignore[no-untyped-call]
    crawler.signals.send_catch_log(signals.spider_error, failure=failure, response=response, spider=None)
    del failure, response
    await budget.wait(grown(budget, 1))
    assert budget.total == 1
    budget.close()


@pytest.mark.usefixtures("_uncollected")
@pytest.mark.parametrize("size", [0, 2 * LIMIT])
@in_loop
async def test_page_whose_selector_was_used_is_released_after_its_callback(size: int) -> None:
    """Response and selector refer to each other; whoever still needs the selector gets another one.

    Small pages are not counted, but thousands of them would wait for the next garbage collection.
    """
    counts = Counts()
    response = HtmlResponse("http://example.com/", body=b"<a>", encoding="utf-8")
    counts.budget.hold(response, grown(counts.budget, size))
    for _ in range(2):
        assert response.css("a")
        forget_selector(response)
        assert counts.budget.total == size
    gone = weakref.ref(response)
    del response
    assert gone() is None
    assert counts.budget.total == 0


@in_loop
async def test_slow_body_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit it has to bring something, or it is given up."""
    monkeypatch.setattr(body_budget, "GRACE", 0.01)
    counts = Counts()
    slow = counts.budget.share()
    slow.reads(slow.end)
    slow.grow(2 * LIMIT)
    await counts.budget.wait(slow)
    await counts.budget.wait(grown(counts.budget, 1))
    assert counts.of("given_up") == 1


@in_loop
async def test_wait_that_is_cancelled_leaves_nothing() -> None:
    """Its body is closed; the next one goes on."""
    counts = Counts()
    first, second, third = (grown(counts.budget, LIMIT) for _ in range(3))
    await counts.budget.wait(first)
    tasks = [asyncio.ensure_future(counts.budget.wait(share)) for share in (second, third)]
    await settled()
    tasks[0].cancel()
    await settled()
    second.end()
    first.end()
    await tasks[1]


@in_loop
async def test_response_that_the_spider_keeps_stops_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a spider that has kept more than the limit would wait before each download to the end of the crawl."""
    monkeypatch.setattr(body_budget, "GRACE", 0.01)
    counts = Counts()
    kept = [Response("http://example.com/", request=Request("http://example.com/")) for _ in range(2)]
    for response in kept:
        counts.budget.hold(response, grown(counts.budget, 2 * LIMIT))
    counts.unfinished.add(kept[1].request)  # type: ignore[arg-type]
    await counts.budget.wait(grown(counts.budget, 1))
    assert counts.budget.total == 2 * LIMIT + 1  # that of the callback that has not ended
    counts.unfinished.clear()
    await counts.budget.wait(grown(counts.budget, 1))
    assert counts.budget.total == 2
    await counts.budget.wait(grown(counts.budget, LIMIT // 2))
    assert len(kept) == 2
    assert counts.of("paused") == 1
