"""Repeats the steps of a worker until it ends, even while Redis does not answer."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY
from crawlproject.workers.lease import boot_time

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from crawlproject.workers.ports import Crawl

logger = logging.getLogger(__name__)

#: Seconds between two log lines on a Redis that does not answer.
LOG_EVERY = 60.0


class BuriedError(Exception):
    """Other workers have declared this one dead."""


class GoneError(Exception):
    """Redis has lost the crawl."""


class Loops:
    """``shortest``: seconds between the end of a step and the next one, at least."""

    def __init__(self, crawl: Crawl, shortest: float) -> None:
        self._crawl = crawl
        self._shortest = shortest
        self._failing: set[str] = set()  # loops whose last step Redis did not answer
        self._logged_at = 0.0
        #: How often Redis went away.
        self.away = 0
        self.are_over = asyncio.Event()

    async def repeat(
        self,
        step: Callable[[], Coroutine[Any, Any, object]],
        next_at: Callable[[float], float],
        event: asyncio.Event,
    ) -> None:
        """Until they are over: ``step``, then wait until the time that follows from its start, or for ``event``."""
        name = step.__name__
        while not self.are_over.is_set():
            started = boot_time()
            try:
                await step()
                if name in self._failing:
                    self._failing.discard(name)
                    if not self._failing:
                        logger.info("Redis answers again")
            except AWAY as error:
                self.redis_is_away(error, name)
            except BuriedError:
                pass
            except GoneError:
                self._crawl.fail("redis_lost")
            except StoreError as error:
                logger.critical("The local copy of the frontier cannot be used, the crawl ends: %s", error)
                self._crawl.fail("store_failed")
                return
            except Exception:
                logger.exception("A step of this worker failed: the worker ends")
                self._crawl.fail("worker_failed")
                return
            if self.are_over.is_set():  # ``step`` was cancelled too late
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(max(self._shortest, next_at(started) - boot_time())):
                    await event.wait()
            event.clear()

    def redis_is_away(self, error: BaseException, loop: str) -> None:
        """Say so, once a minute; the crawl waits."""
        now = boot_time()
        self.away += not self._failing
        if not self._failing or now > self._logged_at + LOG_EVERY:
            self._logged_at = now
            logger.warning("Redis does not answer, the crawl waits for it: %s", reason_of(error))
        self._failing.add(loop)

    @property
    def is_failing(self) -> bool:
        """Whether Redis did not answer the last time."""
        return bool(self._failing)
