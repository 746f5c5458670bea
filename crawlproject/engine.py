"""Access to Scrapy's engine where no public or typed interface exists: all private names of it are in this module.

``EngineAlarm`` wakes the engine when the next request may start, so nothing polls or waits for the engine's heartbeat.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.http import TextResponse
from scrapy.statscollectors import StatsCollector
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro

from crawlproject.clock import CLOCK
from crawlproject.compat import engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet
    from typing import Self

    from scrapy import Request
    from scrapy.core.downloader import Slot
    from scrapy.core.engine import ExecutionEngine, _Slot
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult
    from twisted.python.failure import Failure


#: Methods of ``StatsCollector`` that it wraps when they are looked up.
_WRAPPED = (
    "get_value",
    "get_stats",
    "set_value",
    "set_stats",
    "inc_value",
    "max_value",
    "min_value",
    "clear_stats",
    "open_spider",
    "close_spider",
)


def stats_of(crawler: Crawler) -> StatsCollector:
    """The stats, which a crawler sets before it builds its components."""
    assert crawler.stats is not None
    return crawler.stats


def quicken_stats(stats: StatsCollector) -> None:
    """Make ``inc_value`` and ``max_value`` of Scrapy's collectors six times as fast: a page counts thirty things.

    Scrapy looks up each attribute of a collector by a method in Python, twice, to wrap methods that warn of a
    deprecated argument.  Here they are wrapped once.  A collector with its own version of either is left as it is.
    """
    kind = type(stats)
    replaced = ("inc_value", "max_value", "__getattribute__")
    if any(getattr(kind, name) is not getattr(StatsCollector, name) for name in replaced):
        return
    slow = stats.inc_value

    def inc_value(key: str, count: int = 1, start: int = 0, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            slow(key, count, start, *args, **kwargs)
            return
        values = stats._stats
        values[key] = values.get(key, start) + count

    slow_max = stats.max_value

    def max_value(key: str, value: Any, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            slow_max(key, value, *args, **kwargs)
            return
        values = stats._stats
        values[key] = max(values.get(key, value), value)

    wrapped = {name: getattr(stats, name) for name in _WRAPPED} | {"inc_value": inc_value, "max_value": max_value}
    names = {"__getattribute__": object.__getattribute__, "__module__": kind.__module__, "__doc__": kind.__doc__}
    stats.__class__ = type(kind.__name__, (kind,), names)
    vars(stats).update(wrapped)


#: The attribute of a crawler in which its ``Crawl`` is.
_CRAWL = "_crawlproject"


class Part(Protocol):
    """What a crawl has once, and several components use."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """A new one."""


P = TypeVar("P", bound=Part)


class Crawl:
    """The parts of a crawl, by their class: each is made when it is first asked for, and ends with the crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._parts: dict[type[Any], Any] = {}

    @classmethod
    def of(cls, crawler: Crawler) -> Crawl:
        """That of ``crawler``, which keeps it."""
        kept = vars(crawler)
        if _CRAWL not in kept:
            kept[_CRAWL] = cls(crawler)
        crawl: Crawl = kept[_CRAWL]
        return crawl

    def share(self, view: object) -> None:
        """Let ``view``, another object for the same crawler, have the same parts."""
        vars(view)[_CRAWL] = self

    def part(self, kind: type[P]) -> P:
        """The crawl's ``kind``. O(1)."""
        if kind not in self._parts:
            self._parts[kind] = kind.from_crawler(self._crawler)
        found: P = self._parts[kind]
        return found


def scheduler_of(crawler: Crawler) -> BaseScheduler | None:
    """The scheduler in use; None before the spider opens."""
    engine = engine_of(crawler)
    slot = None if engine is None else engine._slot
    return None if slot is None else slot.scheduler


def unfinished_requests(crawler: Crawler) -> AbstractSet[Request]:
    """Requests that the engine has not finished: not yet downloaded, or not completely scraped.

    Scrapy has no public signal for the end of a request that covers every outcome.
    """
    engine = engine_of(crawler)
    slot = engine._slot if engine is not None else None
    return slot.inprogress if slot is not None else set()


def ended_downloads(crawler: Crawler, started: Iterable[Request]) -> list[Request]:
    """Those of ``started`` that the downloader has finished, perhaps among others. O(ended).

    O(started) with a downloader that does not note what has ended.
    """
    engine = engine_of(crawler)
    active = engine.downloader.active if engine is not None else set()
    take_ended = getattr(active, "take_ended", None)
    if take_ended is not None:
        ended: list[Request] = take_ended()
        return ended
    return [request for request in started if request not in active]


def is_starting(crawler: Crawler) -> bool:
    """Whether the spider still yields start requests."""
    engine = engine_of(crawler)
    return engine is None or engine.spider is None or engine._start is not None


def is_closing(crawler: Crawler) -> bool:
    """Whether the crawl ends, after Ctrl-C for example: no further request is taken from the scheduler."""
    engine = engine_of(crawler)
    slot = engine._slot if engine is not None else None
    return slot is not None and slot.closing is not None


def end_crawl(crawler: Crawler, reason: str) -> bool:
    """Close the spider; False if none is open."""
    engine = engine_of(crawler)
    if engine is None or engine.spider is None:
        return False
    deferred_from_coro(engine.close_spider_async(reason=reason))
    return True


def fail_crawl(crawler: Crawler, error: Exception) -> None:
    """Make ``Crawler.crawl`` raise ``error``: call it when the engine has stopped (``engine_stopped``).

    Scrapy has no public way to fail a crawl that has begun; its commands exit with 1 if ``crawl`` raises.
    """
    engine = engine_of(crawler)
    ended = None if engine is None else engine._closewait
    if ended is not None and engine is not None:
        engine._closewait = None  # else the engine reports a success as well
        ended.errback(error)


def handled_statuses(crawler: Crawler) -> set[int]:
    """Statuses passed to callbacks: the spider's ``handle_httpstatus_list``, else ``HTTPERROR_ALLOWED_CODES``."""
    allowed: Iterable[int | str] = crawler.settings.getlist("HTTPERROR_ALLOWED_CODES")
    return set(map(int, getattr(crawler.spider, "handle_httpstatus_list", allowed)))


def wake(slot: _Slot) -> None:
    """Make the engine call the scheduler soon, unless it will: ``schedule`` takes 1 us to find that out."""
    if slot.nextcall._call is None:
        slot.nextcall.schedule()


def answers(response: Response, request: Request) -> None:
    """Let ``response`` say which request it answers, as the engine does, unless a middleware has."""
    if response.request is None:
        response.request = request


def keep_encoding(response: TextResponse, encoding: str | None) -> None:
    """Let ``response`` be decoded by ``encoding``; None: as Scrapy finds it."""
    response._encoding = encoding


def keep_text(response: TextResponse, encoding: str, text: str) -> None:
    """Let ``response`` have ``text``, decoded by ``encoding``, instead of decoding its body again."""
    response._cached_benc, response._cached_ubody = encoding, text


def forget_selector(response: Response) -> None:
    """Let ``response`` go when its callback has ended: it and its cached selector refer to each other.

    Such a cycle, with body, text and tree, lives until the next garbage collection; meanwhile other bodies may wait.
    Whoever still needs the selector gets a new one.  O(1).
    """
    if isinstance(response, TextResponse):
        response._cached_selector = None


def answered_by(request: Request, callback: Callable[[Response], Any]) -> None:
    """Let ``request`` have another callback, and no errback."""
    request.callback, request.errback = callback, None


def keep_file(dupefilter: BaseDupeFilter, file: Any) -> None:
    """Let a dupefilter like Scrapy's own write to ``file``."""
    dupefilter.file = file  # type: ignore[attr-defined]


def used_now(slot: Slot) -> None:
    """A request to the slot of the downloader is sent: it is not removed as unused."""
    slot.lastseen = monotonic()


class EngineAlarm:
    """A timer that wakes the engine; ``set`` and ``ring`` are O(1)."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: CallLaterResult | None = None
        self._at = 0.0

    def ring(self) -> None:
        """Make the engine call the scheduler soon.

        Scrapy has no public way to wake the engine.
        """
        engine = engine_of(self._crawler)
        slot = engine._slot if engine is not None else None
        if slot is not None and engine is not None and engine.scraper.slot is not None:  # else the spider is not open
            wake(slot)

    def set(self, at: float) -> None:
        """Ring at ``at`` (on ``CLOCK``), or earlier if the alarm is already set earlier."""
        if self._timer is not None:
            if self._at <= at:
                return
            self._timer.cancel()
        self._at = at
        self._timer = call_later(max(0.0, at - CLOCK()), self._rang)

    def cancel(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rang(self) -> None:
        self._timer = None
        self.ring()


class RequestsUnderWay:
    """The records that engine, downloader and scraper keep of their requests; for requests that skip them.

    So these requests count wherever Scrapy asks what is in progress: when it ends a crawl, or finds it idle.  Created
    when the spider is open.  All methods are O(1).
    """

    def __init__(self, engine: ExecutionEngine) -> None:
        slot, scraper_slot = engine._slot, engine.scraper.slot
        assert slot is not None
        assert scraper_slot is not None
        self._slot, self._scraper_slot = slot, scraper_slot
        self._active = engine.downloader.active

    def begin(self, request: Request) -> None:
        """The engine has taken the request from the scheduler."""
        self._slot.inprogress.add(request)
        self._active.add(request)

    def downloaded(self, request: Request) -> None:
        """The downloader is done with it: its session may start the next one."""
        if request in self._active:  # else a downloader of the project has removed it
            self._active.remove(request)
        wake(self._slot)

    async def seen(self) -> None:
        """Return when the engine has asked the scheduler again."""
        await self._slot.nextcall.wait()

    def scraping(self, request: Request, result: Response | Failure) -> None:
        """The scraper has begun with its response, or its failure."""
        size = len(getattr(result, "body", b""))
        self._scraper_slot.active.add(request)
        self._scraper_slot.active_size += max(size, self._scraper_slot.MIN_RESPONSE_SIZE)

    def scraped(self, request: Request, result: Response | Failure) -> None:
        """The scraper is done with it."""
        self._scraper_slot.finish_response(result, request)

    def item_begins(self) -> None:
        """An item goes to the pipelines."""
        self._scraper_slot.itemproc_size += 1

    def item_ends(self) -> None:
        """It has left them, and its receivers have been told."""
        self._scraper_slot.itemproc_size -= 1

    def end(self, request: Request) -> None:
        """The engine is done with it."""
        self._slot.remove_request(request)
        wake(self._slot)
