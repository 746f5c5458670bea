"""What the operator may do to the crawl: each action checked, applied, logged and kept."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.engine import end_crawl, is_closing, stats_of
from crawlproject.frontier.orders import canonical_name
from crawlproject.links import Links
from crawlproject.monitor.console.errors import ActionError
from crawlproject.monitor.console.order_book import checked_delay, checked_limit
from crawlproject.signals import sessions_limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.crawler import Crawler

    from crawlproject.crawl_frontier import CrawlFrontier
    from crawlproject.monitor.console.order_book import OrderBook

logger = logging.getLogger(__name__)

#: ``finish_reason`` of a crawl that the operator has stopped.
STOPPED = "stopped_by_operator"

#: Seeds of one action, and the length of each.
MAX_SEEDS, MAX_SEED = 10_000, 2_083

#: Seeds queued in one step: a few ms.
SEED_STEP = 100

#: Stat -> name in the answer to ``add_seeds``.
_SEED_STATS = {"new": "new", "seen": "seen", "sent": "sent"}


class Control:
    """The actions. Each raises ValueError, and changes nothing, for a wrong argument."""

    def __init__(self, crawler: Crawler, crawl: CrawlFrontier, book: OrderBook) -> None:
        self._crawler = crawler
        self._crawl = crawl
        self._book = book
        self._setting = crawl.allowed_sessions

    def actions(self) -> dict[str, tuple[Callable[..., Any], tuple[str, ...]]]:
        """Name -> action, and the names of its arguments."""
        return {
            "pause": (self.pause, ()),
            "resume": (self.resume, ()),
            "stop": (self.stop, ()),
            "sessions": (self.limit_sessions, ("limit",)),
            "delay": (self.delay, ("name", "seconds")),
            "block": (self.block, ("name",)),
            "unblock": (self.unblock, ("name",)),
            "release": (self.release, ("name",)),
            "seeds": (self.add_seeds, ("urls",)),
        }

    async def restore(self, *, with_pause: bool) -> None:
        """Apply the orders that were kept; a pause only ``with_pause``: without a console nobody could end it.

        O(orders x servers).
        """
        orders = self._book.orders
        if not orders:
            return
        logger.info("Orders from the console in force: %s", self.describe())
        if orders.paused and with_pause:
            self._crawl.is_paused = True
            logger.warning("The crawl is paused, as it was when it ended: resume it in the console")
        elif orders.paused:
            orders.paused = False
            logger.warning("The crawl was paused when it ended; without CONSOLE_PORT it continues")
        if orders.sessions is not None and orders.sessions[1] == self._setting:
            self._limit(orders.sessions[0])
        else:
            orders.sessions = None  # the setting has changed since then
        for name, seconds in orders.delays.items():
            await _all(self._crawl.frontier.set_delay(name, seconds, CLOCK()))
        for name in orders.blocked:
            await _all(self._crawl.frontier.block(name, blocked=True))
        for name in orders.released:
            await _all(self._crawl.intake.release(name))

    def describe(self) -> str:
        """The orders in force, in words."""
        orders = self._book.orders
        parts = ["paused"] if orders.paused else []
        if orders.sessions is not None:
            parts.append(f"{orders.sessions[0]} sessions")
        tables = (("delayed", orders.delays), ("blocked", orders.blocked), ("released", orders.released))
        parts += [f"{len(table)} {what}" for what, table in tables if table]
        return ", ".join(parts) or "none"

    def pause(self) -> dict[str, Any]:
        """Start no further request; those in flight end."""
        self._check_open()
        self._crawl.is_paused = self._book.orders.paused = True
        return self._done("the crawl is paused")

    def resume(self) -> dict[str, Any]:
        """End the pause."""
        self._crawl.is_paused = self._book.orders.paused = False
        self._crawl.wake()
        return self._done("the crawl goes on")

    def stop(self) -> dict[str, Any]:
        """End the crawl as Ctrl-C does; a pause is over with it."""
        self._check_open()
        self._crawl.is_paused = self._book.orders.paused = False
        answer = self._done("the crawl ends")
        end_crawl(self._crawler, STOPPED)
        return answer

    def limit_sessions(self, limit: Any) -> dict[str, Any]:
        """Allow ``limit`` open sessions, instead of FRONTIER_MAX_SESSIONS."""
        limit = checked_limit(limit)
        self._book.orders.sessions = None if limit == self._setting else (limit, self._setting)
        self._limit(limit)
        self._crawl.wake()
        return self._done(f"at most {limit} sessions", limit=limit)

    async def delay(self, name: Any, seconds: Any) -> dict[str, Any]:
        """Keep ``seconds`` between two requests to a server, or to each server of a domain; 0: no longer."""
        name, seconds = _name(name), checked_delay(seconds)
        await _all(self._crawl.frontier.set_delay(name, seconds, CLOCK()))
        delays = self._book.orders.delays
        if seconds:
            delays[name] = seconds
        else:
            delays.pop(name, None)
        self._crawl.wake()
        return self._done(f"{name}: at least {seconds:g} s between two requests", name=name, seconds=seconds)

    async def block(self, name: Any) -> dict[str, Any]:
        """Send nothing to a server, or to the servers of a domain. Their URLs stay queued."""
        name = _name(name)
        await _all(self._crawl.frontier.block(name, blocked=True))
        if name not in self._book.orders.blocked:
            self._book.orders.blocked.append(name)
        self._crawl.wake()  # the crawl may be over
        return self._done(f"{name} is blocked", name=name)

    async def unblock(self, name: Any) -> dict[str, Any]:
        """Undo ``block``."""
        name = _name(name)
        await _all(self._crawl.frontier.block(name, blocked=False))
        blocked = self._book.orders.blocked
        blocked[:] = [each for each in blocked if each != name]
        self._crawl.wake()
        return self._done(f"{name} is not blocked", name=name)

    async def release(self, name: Any) -> dict[str, Any]:
        """Let the guard judge a server, or the servers of a domain, no longer."""
        name = _name(name)
        await _all(self._crawl.intake.release(name))
        if name not in self._book.orders.released:
            self._book.orders.released.append(name)
        self._crawl.wake()
        return self._done(f"{name} is released from the guard", name=name)

    async def add_seeds(self, urls: Any) -> dict[str, Any]:
        """Queue ``urls`` as seeds; counts what became of them."""
        self._check_open()
        if not isinstance(urls, list) or not 0 < len(urls) <= MAX_SEEDS:
            raise ValueError(f"urls: must be a list of 1 to {MAX_SEEDS} URLs")
        seeds = [url.strip() for url in urls if isinstance(url, str)]
        fitting = [url for url in seeds if 0 < len(url) <= MAX_SEED]
        counts = dict.fromkeys((*_SEED_STATS.values(), "refused"), 0)
        for start in range(0, len(fitting), SEED_STEP):
            for name, count in self._queue(fitting[start : start + SEED_STEP]).items():
                counts[name] += count
            await asyncio.sleep(0)
        counts["refused"] = len(urls) - sum(counts[name] for name in _SEED_STATS.values())
        words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return self._done(f"{len(urls)} seeds: {words}", keep=False, **counts)

    def _queue(self, urls: list[str]) -> dict[str, int]:
        """Queue a few seeds at once; nothing else runs meanwhile, so the stats tell what became of them."""
        stats = stats_of(self._crawler)
        before = {stat: stats.get_value(f"frontier/links/{stat}", 0) for stat in _SEED_STATS}
        for _ in self._crawl.intake.push_links(Links(None, urls)):
            pass
        return {name: stats.get_value(f"frontier/links/{stat}", 0) - before[stat] for stat, name in _SEED_STATS.items()}

    def _limit(self, limit: int) -> None:
        self._crawler.signals.send_catch_log(sessions_limited, limit=limit)
        self._crawl.limit_sessions(limit)
        stats_of(self._crawler).set_value("monitor/session_limit", limit)

    def _check_open(self) -> None:
        if is_closing(self._crawler):
            raise ActionError("the crawl ends already")

    def _done(self, words: str, *, keep: bool = True, **values: Any) -> dict[str, Any]:
        stats_of(self._crawler).inc_value("console/actions")
        logger.info("By the operator: %s", words)
        is_kept = not keep or (self._book.save() and self._book.is_kept)
        return {"done": words, "kept": is_kept, **values}


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("name: must be a server, host or domain")
    return canonical_name(value)


async def _all(steps: Iterator[None]) -> None:
    """Take all ``steps``, and let others run between them."""
    for _ in steps:
        await asyncio.sleep(0)
