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
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from scrapy.crawler import Crawler

logger = logging.getLogger("scrapy.utils.signal")

#: Arguments of every signal.
_OF_ALL = ("spider", "signal", "sender")

#: Formatters whose lines about pages and items are for DEBUG.
_AT_DEBUG = frozenset(("scrapy.logformatter.LogFormatter", "crawlproject.monitor.failure_log.CountingLogFormatter"))


class Connections:
    """Tells when the receivers of some signals of a crawl change."""

    def __init__(self, crawler: Crawler, signals: Sequence[object]) -> None:
        self._sender = id(crawler.signals.sender)
        self._signals = tuple(signals)
        self._last: list[list[object] | None] | None = None

    def have_changed(self) -> bool:
        """Whether any was connected or disconnected since the last call; true at the first one.

        O(receivers): 0.5 us.
        """
        by_signal, of_all = dispatcher.connections.get(self._sender, _NONE), dispatcher.connections.get(_ANYBODY, _NONE)
        found: list[list[object] | None] = [*map(by_signal.get, self._signals)]
        if of_all or dispatcher.Any in by_signal:
            found += [by_signal.get(dispatcher.Any), *of_all.values()]
        if found == self._last:
            return False
        self._last = [None if each is None else [*each] for each in found]  # pydispatch changes its lists in place
        return True


_ANYBODY = id(dispatcher.Any)
_NONE: dict[object, list[object]] = {}


class Receivers:
    """The receivers of one signal of a crawl; ``read`` finds them, ``send`` calls them as Scrapy would.

    ``tell`` and ``start`` do both.

    Scrapy looks up the receivers, and inspects the signature of each, whenever a signal is sent: 10 us per receiver.
    ``stop``: the exception by which a receiver asks for something; it is not logged.
    """

    def __init__(self, crawler: Crawler, signal: object, stop: type[Exception] = StopDownload) -> None:
        self._crawler = crawler
        self._signal = signal
        self._stop = stop
        self._connections = Connections(crawler, (signal,))
        self._calls: list[tuple[Callable[..., Any], tuple[str, ...]]] = []
        self._wants_all = False  # whether any takes one of ``_OF_ALL``

    def read(self, names: Sequence[str]) -> None:
        """Find the receivers; ``names``: the arguments of the signal, besides those of all (``_OF_ALL``)."""
        self._calls = [(receiver, _accepted(receiver, (*names, *_OF_ALL))) for receiver in self]
        self._wants_all = any(not set(_OF_ALL).isdisjoint(taken) for _, taken in self._calls)

    def are_there(self) -> bool:
        """Whether any is connected now; of an object that tells nobody. O(receivers)."""
        if self._connections.have_changed():
            self.read(())
        return bool(self._calls)

    def tell(self, **values: Any) -> None:
        """``send`` to those that are connected now; always with the same names. O(receivers)."""
        if self._connections.have_changed():
            self.read(tuple(values))
        if self._calls:
            self.send(**values)

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(dispatcher.liveReceivers(dispatcher.getAllReceivers(self._crawler.signals.sender, self._signal)))

    def send(self, **values: Any) -> tuple[Callable[..., Any], Any] | None:
        """Call each receiver; errors are logged, as by Scrapy. Returns the first that raised ``stop``, if any."""
        if not self._calls:
            return None
        values = self._with_those_of_all(values)
        stopped = None
        for receiver, names in self._calls:
            try:
                result = receiver(**{name: values[name] for name in names})
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
        if self._connections.have_changed():
            self.read(tuple(values))
        values = self._with_those_of_all(values)
        for number, (receiver, names) in enumerate(self._calls):
            try:
                result = receiver(**{name: values[name] for name in names})
            except Exception:  # noqa: BLE001 - any receiver
                self._log("Error caught on signal handler: %(receiver)s", receiver, exc_info=True)
                continue
            if result is not None and inspect.isawaitable(result):
                return self._finish(receiver, result, self._calls[number + 1 :], values)
        return None

    async def _finish(
        self, first: Callable[..., Any], result: Any, others: list[tuple[Any, tuple[str, ...]]], values: dict[str, Any]
    ) -> None:
        async def one(receiver: Callable[..., Any], names: tuple[str, ...] | None) -> None:
            try:
                given = result if names is None else receiver(**{name: values[name] for name in names})
                await ensure_awaitable(given, _warn=global_object_name(receiver))
            except Exception:  # noqa: BLE001 - any receiver
                self._log("Error caught on signal handler: %(receiver)s", receiver, exc_info=True)

        calls = [(first, None), *others]
        await asyncio.gather(*(one(receiver, names) for receiver, names in calls), return_exceptions=True)

    def _with_those_of_all(self, values: dict[str, Any]) -> dict[str, Any]:
        if self._wants_all:
            values |= {"spider": self._crawler.spider, "signal": self._signal, "sender": self._crawler.signals.sender}
        return values

    def _log(self, message: str, receiver: Callable[..., Any], *, exc_info: bool = False) -> None:
        logger.error(message, {"receiver": receiver}, exc_info=exc_info, extra={"spider": self._crawler.spider})


def _accepted(receiver: Callable[..., Any], names: Sequence[str]) -> tuple[str, ...]:
    """Those of ``names`` that ``receiver`` takes as arguments."""
    parameters = inspect.signature(receiver).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return tuple(names)
    taken = {parameter.name for parameter in parameters}
    return tuple(name for name in names if name in taken)


def log_line(crawler: Crawler, log: logging.Logger, event: str, *about: Any, **extra: Any) -> None:
    """Log at DEBUG what the crawl's ``LogFormatter`` says of ``about``; ``event``: the name of its method.

    Scrapy makes a record of each page and item even if no handler takes it: 20 us.
    """
    formatter = crawler.logformatter
    if _logs_at_debug(cast("Any", type(formatter))) and not is_heard(log, logging.DEBUG):
        return
    line = getattr(formatter, event)(*about, crawler.spider)
    if line is not None:
        log.log(*logformatter_adapter(line), extra={"spider": crawler.spider, **extra})


@lru_cache(maxsize=16)
def _logs_at_debug(formatter: type) -> bool:
    return global_object_name(formatter) in _AT_DEBUG


def is_heard(log: logging.Logger, level: int) -> bool:
    """Whether any handler takes what is logged at ``level``. O(handlers)."""
    if not log.isEnabledFor(level):
        return False
    logger: logging.Logger | None = log
    while logger is not None:
        for handler in logger.handlers:
            if handler.level <= level:
                return True
        logger = logger.parent if logger.propagate else None
    return False
