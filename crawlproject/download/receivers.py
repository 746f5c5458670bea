"""Calls the receivers of a signal directly, and writes lines of the log as the crawl formats them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from pydispatch import dispatcher
from scrapy.exceptions import StopDownload
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy.crawler import Crawler

logger = logging.getLogger("scrapy.utils.signal")

#: Formatters whose lines about pages and items are for DEBUG.
_AT_DEBUG = frozenset(("scrapy.logformatter.LogFormatter", "crawlproject.monitor.failure_log.CountingLogFormatter"))

_ANYBODY = id(dispatcher.Any)
_NONE: dict[object, list[object]] = {}


class Receivers:
    """The receivers of one signal of a crawl; ``send`` and ``start`` call them as Scrapy would.

    Scrapy looks up the receivers, and inspects the signature of each, whenever a signal is sent: 10 us per receiver.
    Here that is done when one was connected or disconnected.  ``stop``: the exception by which a receiver asks for
    something; it is not logged.
    """

    def __init__(self, crawler: Crawler, signal: object, stop: type[Exception] = StopDownload) -> None:
        self._crawler = crawler
        self._signal = signal
        self._stop = stop
        self._last: list[list[object] | None] | None = None
        #: With the names of the arguments that each takes; None: all.
        self._calls: list[tuple[Callable[..., Any], frozenset[str] | None]] = []

    def are_there(self) -> bool:
        """Whether any is connected now. O(receivers): 0.5 us."""
        sender = self._crawler.signals.sender
        connections = dispatcher.connections
        by_signal, of_all = connections.get(id(sender), _NONE), connections.get(_ANYBODY, _NONE)
        found: list[list[object] | None] = [by_signal.get(self._signal)]
        if of_all or dispatcher.Any in by_signal:
            found += [by_signal.get(dispatcher.Any), *of_all.values()]
        if found != self._last:
            self._last = [None if each is None else [*each] for each in found]  # pydispatch changes its lists in place
            receivers = dispatcher.liveReceivers(dispatcher.getAllReceivers(sender, self._signal))
            self._calls = [(receiver, _parameters(receiver)) for receiver in receivers]
        return bool(self._calls)

    def send(self, **values: Any) -> tuple[Callable[..., Any], Any] | None:
        """Call each receiver; errors are logged, as by Scrapy. Returns the first that raised ``stop``, if any."""
        if not self.are_there():
            return None
        self._complete(values)
        stopped = None
        for receiver, names in self._calls:
            try:
                result = _call(receiver, names, values)
                if result is not None and isinstance(result, Deferred):
                    self._log("Cannot return deferreds from signal handler: %(receiver)s", receiver)
            except Exception as error:  # noqa: BLE001 - any receiver
                if isinstance(error, self._stop):
                    stopped = stopped or (receiver, error)
                    continue
                self._log("Error caught on signal handler: %(receiver)s", receiver, exc_info=True)
        return stopped

    def start(self, **values: Any) -> Coroutine[Any, Any, object] | None:
        """Call each receiver up to the first whose result must be awaited; await what is returned for it and the rest.

        None: all have been called.  Errors are logged, as by Scrapy's ``send_catch_log_async``, which makes a task for
        each receiver.
        """
        if not self.are_there():
            return None
        self._complete(values)
        for number, (receiver, names) in enumerate(self._calls):
            try:
                result = _call(receiver, names, values)
            except Exception:  # noqa: BLE001 - any receiver
                self._log("Error caught on signal handler: %(receiver)s", receiver, exc_info=True)
                continue
            if result is not None and inspect.isawaitable(result):
                return self._finish(receiver, result, self._calls[number + 1 :], values)
        return None

    async def _finish(
        self, first: Callable[..., Any], result: Any, others: list[tuple[Any, Any]], values: dict[str, Any]
    ) -> None:
        async def end(receiver: Callable[..., Any], names: frozenset[str] | None, *given: Any) -> None:
            try:
                found = given[0] if given else _call(receiver, names, values)
                await ensure_awaitable(found, _warn=global_object_name(receiver))
            except Exception:  # noqa: BLE001 - any receiver
                self._log("Error caught on signal handler: %(receiver)s", receiver, exc_info=True)

        await asyncio.gather(end(first, None, result), *(end(*each) for each in others), return_exceptions=True)

    def _complete(self, values: dict[str, Any]) -> None:
        """Add the arguments of every signal."""
        values |= {"spider": self._crawler.spider, "signal": self._signal, "sender": self._crawler.signals.sender}

    def _log(self, message: str, receiver: Callable[..., Any], *, exc_info: bool = False) -> None:
        logger.error(message, {"receiver": receiver}, exc_info=exc_info, extra={"spider": self._crawler.spider})


def _parameters(receiver: Callable[..., Any]) -> frozenset[str] | None:
    parameters = inspect.signature(receiver).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def _call(receiver: Callable[..., Any], names: frozenset[str] | None, values: dict[str, Any]) -> Any:
    return receiver(**(values if names is None else {name: values[name] for name in values if name in names}))


def log_line(crawler: Crawler, log: logging.Logger, event: str, *about: Any, **extra: Any) -> None:
    """Log at DEBUG what the crawl's ``LogFormatter`` says of ``about``; ``event``: the name of its method.

    Scrapy makes a record of each page and item even if no handler takes it: 20 us.
    """
    formatter = crawler.logformatter
    if _logs_at_debug(cast("Any", type(formatter))) and not _is_heard(log):
        return
    line = getattr(formatter, event)(*about, crawler.spider)
    if line is not None:
        log.log(*logformatter_adapter(line), extra={"spider": crawler.spider, **extra})


@lru_cache(maxsize=16)
def _logs_at_debug(formatter: type) -> bool:
    return global_object_name(formatter) in _AT_DEBUG


def _is_heard(log: logging.Logger) -> bool:
    """Whether any handler takes what is logged at DEBUG. O(handlers)."""
    if not log.isEnabledFor(logging.DEBUG):
        return False
    logger: logging.Logger | None = log
    while logger is not None:
        if any(handler.level <= logging.DEBUG for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
