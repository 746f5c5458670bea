"""The operator's actions: checks, applies, logs and stores them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from functools import partial
from itertools import islice
from math import inf
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlproject.clock import CLOCK
from crawlproject.compat import forget_timeout
from crawlproject.engine import Crawl, end_crawl, is_closing, stats_of
from crawlproject.frontier.live_limits import KINDS, LIMITS, ORDERED, as_pattern, is_everything
from crawlproject.links import Links
from crawlproject.monitor.console.order_book import (
    BLOCK,
    DELAY,
    LIMIT,
    MAX_SESSIONS,
    PAUSED,
    RELEASE,
    SESSIONS,
    STOPPED,
    ActionError,
    UnavailableError,
    checked_count,
    checked_delay,
    checked_orders,
    in_words,
    split_order,
)
from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.quantities import counted
from crawlproject.requests.meta import QUALITY
from crawlproject.requests.owners import Owners
from crawlproject.signals import sessions_limited
from crawlproject.urls.fates import Reason, Stage
from crawlproject.urls.server_key import server_key, server_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.api import Actions
    from crawlproject.monitor.console.order_book import OrderBook

logger = logging.getLogger(__name__)

#: ``finish_reason`` of a crawl that the operator has stopped.
STOP_REASON = "stopped_by_operator"

#: Orders that are told at the start.
MAX_TOLD = 10

#: Characters of a seed.
MAX_SEED = 2_083

#: Seeds queued in one step, and written to disk in one: a few ms each, also if each is of another server.
SEED_STEP, SEEDS_SAVED = 50, 200

#: Seeds of which the answer says why they are not new, and characters of each.
MAX_OTHERS, MAX_SHOWN = 100, 200

#: Seconds that an action waits for a pattern to be applied to the queue.
SWEEP_WAIT = 1.0

#: ``finish_reason`` of a crawl that has lasted as long as it may.
TIMEOUT_REASON = "closespider_timeout"

#: Counts of links that are seeds.
_SEED_STATS = ("new", "seen", "sent")
_SEEN = "seen: it is queued, or was fetched or refused"


class Control:
    """The actions. Each raises ValueError, and changes nothing, for a wrong argument.

    If all workers of a crawl obey the same orders, an action changes those, and this worker obeys as the others do; it
    raises UnavailableError if Redis does not answer.
    """

    def __init__(self, crawler: Crawler, crawl: CrawlFrontier, book: OrderBook) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._shared = crawl.store.orders
        self._book = book
        self._setting = crawl.allowed_sessions
        self._timer: asyncio.TimerHandle | None = None
        self._sweeping: asyncio.Task[None] | None = None

    def actions(self) -> Actions:
        """What ``api`` offers below ``/api/``."""
        return {
            "pause": (self.pause, ()),
            "resume": (self.resume, ()),
            "stop": (self.stop, ()),
            "delay": (self.delay, ("name", "seconds")),
            "block": (partial(self._of_server, BLOCK, "1"), ("name",)),
            "unblock": (partial(self._of_server, BLOCK, None), ("name",)),
            "release": (partial(self._of_server, RELEASE, "1"), ("name",)),
            "limit": (self.limit, ("name", "value")),
            "pattern": (self.pattern, ("kind", "pattern", "on")),
            "fetch": (self.fetch, ("url",)),
            "seeds": (self.add_seeds, ("urls",)),
            "spiders": (self.reload_spiders, ("change",)),
        }

    async def restore(self, *, with_console: bool) -> None:
        """Apply the orders that were kept, those of several workers from now on.

        A pause of a crawl by one process applies only ``with_console``: else nobody could end it.  O(orders x servers).
        """
        if self._shared is not None:
            await self._shared.begin(self._restore_shared, self._apply)
            return
        if PAUSED in self._book.orders and not with_console:
            del self._book.orders[PAUSED]
            logger.warning("The crawl was paused when it ended; without FRONTIER_CONSOLE_PORT it continues")
        await self._restore()

    async def _restore_shared(self, orders: Mapping[str, str]) -> None:
        self._book.orders = checked_orders(orders)
        await self._restore()
        self._crawl.wake()

    async def _restore(self) -> None:
        orders = self._book.orders
        if orders:
            some = "; ".join(in_words(order, value) for order, value in islice(orders.items(), MAX_TOLD))
            logger.info("Orders from the console in force: %d: %s", len(orders), some)
        if PAUSED in orders:
            logger.warning("The crawl is paused: resume it in the console")
        for order, value in orders.items():
            await self._obey(order, value)

    def close(self) -> None:
        """The crawl ends: nothing is changed any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def pause(self) -> dict[str, Any]:
        """Start no further request; those in flight end."""
        self._check_open()
        return await self._order(PAUSED, "1")

    async def resume(self) -> dict[str, Any]:
        return await self._order(PAUSED, None)

    async def stop(self) -> dict[str, Any]:
        """End the crawl as Ctrl-C does; this ends a pause."""
        self._check_open()
        return await self._order(STOPPED, token_hex(6))

    async def limit(self, name: Any, value: Any) -> dict[str, Any]:
        """Put ``value`` in the place of a limit of the settings; None: the setting counts again."""
        if name == SESSIONS:
            return await self._order(SESSIONS, None if value is None else str(checked_count(value, 1, MAX_SESSIONS)))
        if name not in LIMITS:
            raise ValueError(f"name: one of {SESSIONS}, {', '.join(LIMITS)}")
        return await self._order(f"{LIMIT} {name}", None if value is None else str(checked_count(value)))

    async def pattern(self, kind: Any, pattern: Any, on: Any) -> dict[str, Any]:
        """Delete the queued URLs of a pattern, fetch them first or last, or follow links to no others; also those that
        are found later, until this is undone (``on``: False)."""
        if kind not in KINDS or not isinstance(pattern, str) or not isinstance(on, bool):
            raise ValueError(f"kind: one of {', '.join(KINDS)}; pattern: a text; on: true or false")
        if is_everything(pattern := as_pattern(pattern)):
            raise ValueError("pattern: matches every URL: stop the crawl instead, or block servers")
        return await self._order(f"{kind} {pattern}", "1" if on else None)

    async def fetch(self, url: Any) -> dict[str, Any]:
        """Fetch one URL before all others of its server, also if it was fetched before."""
        self._check_open()
        if not isinstance(url, str) or not 0 < len(url) <= MAX_SEED:
            raise ValueError(f"url: must be a URL of at most {MAX_SEED} characters")
        (canonical,) = self._crawl.intake.canonical(Links(None, [url]))
        if canonical is None:
            raise ValueError("url: no URL with http or https and a server")
        server = self._crawl.frontier.server(server_key(canonical))
        best = 0.0 if server is None else server.urls.best_quality
        request = Request(canonical, dont_filter=True, priority=ORDERED, meta={QUALITY: 1.01 * best + 1.0})
        assert self._crawler.engine is not None
        self._crawler.engine.crawl(request)
        words = f"{canonical[:200]} is fetched next of its server"
        logger.info("By the operator: %s", words)
        return self._done(words, is_kept=await self._crawl.store.saved())

    async def delay(self, name: Any, seconds: Any) -> dict[str, Any]:
        """Keep ``seconds`` between two requests to a server, or to each server of a domain; 0: no longer."""
        name, seconds = _name(name), checked_delay(seconds)
        return await self._order(f"{DELAY} {name}", str(seconds) if seconds else None, name=name, seconds=seconds)

    async def _of_server(self, kind: str, value: str | None, name: Any) -> dict[str, Any]:
        """An order for a server, or the servers of a domain. The URLs of a blocked one stay queued."""
        name = _name(name)
        return await self._order(f"{kind} {name}", value, name=name)

    async def _order(self, order: str, value: str | None, **values: Any) -> dict[str, Any]:
        """Give an order; returns the answer, with ``values``."""
        self._book.check(order, value)
        words = in_words(order, value)
        if self._shared is None:
            await self._apply(order, value)
            return self._done(words, is_kept=self._book.save() and self._book.is_kept, **values)
        changes = {order: value, PAUSED: None} if order == STOPPED else {order: value}
        try:
            number = await self._shared.give(changes)
        except ConnectionError as error:
            raise UnavailableError(f"refused, Redis does not answer (repeat it when it does): {error}") from error
        return self._done(words, is_kept=True, number=number, **values)

    async def _apply(self, order: str, value: str | None) -> None:
        """Obey an order that was given here, or at the console of another worker. Raises ValueError for a wrong one."""
        kind, _ = split_order(order)
        if value is None and kind in (PAUSED, STOPPED) and order not in self._book.orders:
            return  # nothing to undo
        self._book.check(order, value)
        await self._obey(order, value)
        self._book.note(order, value)
        logger.info("By the operator: %s", in_words(order, value))
        self._crawl.wake()  # the crawl may continue, or end
        if kind in KINDS:
            await self._sweep()
        if kind == STOPPED and not is_closing(self._crawler):
            end_crawl(self._crawler, STOP_REASON)

    async def _obey(self, order: str, value: str | None) -> None:
        kind, name = split_order(order)
        crawl, is_on = self._crawl, value is not None
        if kind in (PAUSED, STOPPED):
            crawl.pause(on=is_on and kind == PAUSED)
        elif kind == SESSIONS:
            self._limit(self._setting if value is None else int(value))
        elif kind == LIMIT:
            self._override(name, None if value is None else int(value))
        elif kind in KINDS:
            crawl.limits.set_pattern(kind, name, on=is_on)
        elif kind == DELAY:
            await _all(crawl.frontier.servers.set_delay(name, float(value or 0), CLOCK()))
        elif kind == BLOCK:
            await _all(crawl.frontier.block(name, blocked=is_on))
        elif is_on:
            crawl.intake.release(name)

    def _override(self, name: str, limit: int | None) -> None:
        """Obey another limit from now on. O(servers) for those of pages."""
        self._crawl.limits.override(name, limit)
        if name in ("server", "domain"):
            self._crawl.intake.limits_changed()
        limits, budgets = self._crawl.limits, self._crawl.frontier.budgets
        if name in ("pages", "time"):
            budgets.allow(budgets.limits._replace(pages=limits["pages"] or inf, seconds=limits["time"] or inf))
        if name == "pages" and 0 < limits["pages"] <= self._crawl.pages and not is_closing(self._crawler):
            end_crawl(self._crawler, "closespider_pagecount")
        if name == "time":
            forget_timeout(self._crawler)
            if self._timer is not None:
                self._timer.cancel()
            if seconds := limits["time"]:
                left = max(0.0, seconds - figures_of(self._crawler).now(0.0).elapsed)
                end = partial(end_crawl, self._crawler, TIMEOUT_REASON)
                self._timer = asyncio.get_running_loop().call_later(left, end)

    async def _sweep(self) -> None:
        """Apply the patterns to all queued URLs; a large queue goes on after this returns.

        Each request is checked against the patterns before it is sent, so nothing depends on the end of this.
        """
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._sweeping = asyncio.ensure_future(self._rewrite_all())
        self._sweeping.add_done_callback(_swept)
        await asyncio.wait((self._sweeping,), timeout=SWEEP_WAIT)

    async def _rewrite_all(self) -> None:
        frontier = self._crawl.frontier
        for server in list(frontier.servers):
            if server.urls and frontier.server(server.key) is server:
                await _all(self._crawl.intake.rewrite(server))
        self._crawl.wake()  # that may have been the end of the crawl

    async def add_seeds(self, urls: Any) -> dict[str, Any]:
        """Queue ``urls`` as seeds; the answer says how many are new, known, sent or refused, and why."""
        self._check_open()
        if not isinstance(urls, list) or not urls:
            raise ValueError("urls: must be a list of one or more URLs")
        found: Counter[str] = Counter()
        others: list[dict[str, str]] = []
        for number, given in enumerate(urls, 1):
            url = given.strip() if isinstance(given, str) else ""
            reason = self._queue(url) if 0 < len(url) <= MAX_SEED else Reason.LENGTH if url else Reason.MALFORMED
            found[reason] += 1
            if reason not in ("new", "sent") and len(others) < MAX_OTHERS:
                others.append({"url": str(given)[:MAX_SHOWN], "reason": _SEEN if reason == "seen" else reason})
            if number % SEED_STEP == 0:
                await asyncio.sleep(0)
            if self._shared is None and number % SEEDS_SAVED == 0:  # Redis would take a second each time
                await self._crawl.store.saved()
        counts = {name: found[name] for name in _SEED_STATS}
        counts["refused"] = len(urls) - sum(counts.values())
        words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        reasons = {str(name): found[name] for name in sorted(found) if name not in _SEED_STATS}
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
        told = f"{counted(len(urls), 'seed')}: {words}{f' ({why})' if why else ''}"
        logger.info("By the operator: %s", told)
        return self._done(told, is_kept=await self._crawl.store.saved(), **counts, reasons=reasons, others=others)

    async def reload_spiders(self, change: Any) -> dict[str, Any]:
        """Load new and changed spiders and rules in this process."""
        self._check_open()
        reload = Crawl.of(self._crawler).part(Owners).reload
        if change != "reload":
            raise ValueError("change: must be 'reload'")
        if reload is None:
            raise ActionError("the crawl has neither spiders nor rules besides its own (-a spiders, -a rules)")
        return self._done("; ".join(reload()), is_kept=False)

    def _queue(self, url: str) -> str:
        """Queue a seed; nothing else runs meanwhile, so the growth of the counts is its. One of ``_SEED_STATS``, or why
        it is refused."""
        before = self._links()
        for _ in self._crawl.intake.push_links(Links(None, [url])):
            pass
        return next(iter(self._links() - before), Reason.MALFORMED)

    def _links(self) -> Counter[str]:
        counts = Counter({name: self._crawl.intake.links_counted(name) for name in _SEED_STATS})
        refused = {str(reason): n for (stage, reason), n in self._crawl.fates.counts.items() if stage is Stage.LINK}
        return counts + Counter(refused)

    def _limit(self, limit: int) -> None:
        self._crawler.signals.send_catch_log(sessions_limited, limit=limit)
        self._crawl.limit_sessions(limit)
        stats_of(self._crawler).set_value("monitor/session_limit", limit)

    def _check_open(self) -> None:
        if is_closing(self._crawler):
            raise ActionError("the crawl is already ending")

    def _done(self, words: str, *, is_kept: bool, **values: Any) -> dict[str, Any]:
        self._book.done(words)
        stats_of(self._crawler).inc_value("console/actions")
        return {"done": words, "kept": is_kept, **values}


def _swept(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("The patterns were not applied to all queued URLs: %s", error, exc_info=error)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("name: must be a server, host or domain")
    return server_name(value)


async def _all(steps: Iterator[object]) -> None:
    for _ in steps:
        await asyncio.sleep(0)
