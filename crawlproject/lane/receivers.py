"""The receivers of a signal, called directly; lines of the log as the crawl formats them."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy.utils.log import logformatter_adapter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Receivers:
    """The receivers of one signal of a crawl; ``read`` finds them, ``send`` calls them as Scrapy would.

    Scrapy looks up the receivers, and inspects the signature of each, whenever a signal is sent: 10 us per receiver.
    """

    def __init__(self, crawler: Crawler, signal: object) -> None:
        self._crawler = crawler
        self._signal = signal
        self._calls: list[tuple[Callable[..., Any], tuple[str, ...]]] = []

    def read(self, names: Sequence[str]) -> None:
        """Find the receivers; ``names``: the arguments of the signal, besides ``spider``."""
        self._calls = [(receiver, _accepted(receiver, (*names, "spider"))) for receiver in self]

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return iter(dispatcher.liveReceivers(dispatcher.getAllReceivers(self._crawler.signals.sender, self._signal)))

    def send(self, **values: Any) -> None:
        """Call each receiver; errors are logged, as by Scrapy."""
        values["spider"] = self._crawler.spider
        for receiver, names in self._calls:
            try:
                receiver(**{name: values[name] for name in names})
            except Exception:
                logger.exception(
                    "Error caught on signal handler: %(receiver)s",
                    {"receiver": receiver},
                    extra={"spider": self._crawler.spider},
                )


def _accepted(receiver: Callable[..., Any], names: Sequence[str]) -> tuple[str, ...]:
    """Those of ``names`` that ``receiver`` takes as arguments."""
    parameters = inspect.signature(receiver).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return tuple(names)
    taken = {parameter.name for parameter in parameters}
    return tuple(name for name in names if name in taken)


def connected(crawler: Crawler, signals: Sequence[object]) -> list[list[object]]:
    """The receivers of each of ``signals``, as dispatched; not equal after any was connected or disconnected.

    O(receivers): 1 us.
    """
    by_signal, of_all = (
        dispatcher.connections.get(id(crawler.signals.sender), _NONE),
        dispatcher.connections.get(id(dispatcher.Any), _NONE),
    )
    found = [by_signal.get(signal, _NOBODY) for signal in signals]
    if dispatcher.Any in by_signal or of_all:
        found += [by_signal.get(dispatcher.Any, _NOBODY), *of_all.values()]
    return found


def copied(found: list[list[object]]) -> list[list[object]]:
    """``found`` as it is now: pydispatch changes its lists in place."""
    return [list(each) for each in found]


_NONE: dict[object, list[object]] = {}
_NOBODY: list[object] = []


def log_line(crawler: Crawler, log: logging.Logger, event: str, *about: Any) -> None:
    """Log what the crawl's ``LogFormatter`` says of ``about``; ``event``: the name of its method."""
    line = getattr(crawler.logformatter, event)(*about, crawler.spider)
    if line is not None:
        log.log(*logformatter_adapter(line), extra={"spider": crawler.spider})
