"""The extension that shows the progress (``FRONTIER_PROGRESS``)."""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, TextIO, cast

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawlproject.monitor.figures import figures_of
from crawlproject.monitor.progress.terminal import AbovePanel, BottomPanel
from crawlproject.monitor.progress.words import lines
from crawlproject.options.monitor import ReportOptions

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)

#: Seconds between two updates.
INTERVAL = 1.0


class Progress:
    """Shows the figures in a panel on a terminal; one crawl of a process has it."""

    _in_use: ClassVar[bool] = False

    def __init__(self, crawler: Crawler, stream: TextIO) -> None:
        self._crawler = crawler
        self._stream = stream
        self._panel = BottomPanel(stream, self._terminal_gone)
        self._task: AsyncioLoopingCall | LoopingCall | None = None
        self._replaced: list[tuple[logging.StreamHandler[Any] | str, TextIO]] = []
        self._hangup: Any = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not ReportOptions.of(crawler).has_panel or _terminal(sys.stderr) is None or cls._in_use:
            raise NotConfigured
        return cls(crawler, sys.stderr)

    def _opened(self) -> None:
        Progress._in_use = True
        figures_of(self._crawler).now()
        self._take_streams()
        self._survive_hangup()
        self._task = create_looping_call(self._show)
        self._task.start(INTERVAL, now=False)

    def _show(self) -> None:
        self._panel.draw(lines(figures_of(self._crawler).now(), self._panel.size().columns - 1))

    def _closed(self) -> None:
        self._stop()
        self._panel.erase()
        for place, stream in self._replaced:
            if isinstance(place, str):
                setattr(sys, place, stream)
            else:
                place.setStream(stream)
        if self._hangup is not None:
            signal.signal(signal.SIGHUP, self._hangup)
        Progress._in_use = False

    def _stop(self) -> None:
        if self._task is not None and self._task.running:
            self._task.stop()

    def _take_streams(self) -> None:
        """What else writes to this terminal writes above the panel; a second terminal keeps what belongs there."""
        for handler in logging.root.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stream:
                handler.setStream(cast("TextIO", AbovePanel(self._stream, self._panel)))
                self._replaced.append((handler, self._stream))
        for name in ("stderr", "stdout"):
            stream = getattr(sys, name)
            if _terminal(stream) == _terminal(self._stream):
                setattr(sys, name, AbovePanel(stream, self._panel))
                self._replaced.append((name, stream))

    def _survive_hangup(self) -> None:
        """A terminal that is closed must not end a crawl of hours."""
        with suppress(AttributeError, ValueError):  # not on this system; not in the main thread
            if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
                self._hangup = signal.signal(signal.SIGHUP, lambda *_: self._panel.lose())

    def _terminal_gone(self) -> None:
        self._stop()
        logger.warning("The terminal was closed; the crawl continues without it")


def _terminal(stream: TextIO | None) -> int | None:
    """The number of the device that ``stream`` writes to; None if it is no terminal that can show a panel."""
    try:
        if stream is None or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
            return None
        return os.fstat(stream.fileno()).st_rdev
    except (OSError, ValueError):  # closed, or without a file descriptor
        return None
