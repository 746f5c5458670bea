"""Logs an error at the start in one line, without a traceback; the exit code is Scrapy's (1).

An exception raised at the start ends ``Crawler.crawl``.  Nobody catches it, so asyncio (or Twisted) logs it with its
traceback, and Scrapy sets the exit code.  Only that log record is rewritten: callers of ``crawl`` still get the
exception.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Raised by components for settings, arguments, files and directories that cannot be used.
EXPECTED = (ValueError, OSError)

#: Loggers of exceptions that nobody caught.
REPORTERS = ("asyncio", "twisted")

#: Longest message, characters.
MAX_MESSAGE = 1000

#: Attributes of an exception: raised at the start, or about a crawl that failed; logged already.
_AT_START, _LOGGED = "crawlproject_at_start", "crawlproject_logged"

#: Exceptions examined along a chain of causes.
_MAX_CHAIN = 10


@contextmanager
def starting(*others: type[Exception]) -> Iterator[None]:
    """Log ``EXPECTED`` exceptions, and ``others``, raised within in one line, if nobody catches them.

    Also a decorator.
    """
    expected: tuple[type[Exception], ...] = (*EXPECTED, *others)
    _watch_reporters()
    try:
        yield
    except expected as error:
        setattr(error, _AT_START, True)
        raise


def logged_already(error: Exception) -> Exception:
    """``error``, of which the log has told: if nobody catches it, it is not logged again."""
    _watch_reporters()
    setattr(error, _AT_START, True)
    setattr(error, _LOGGED, True)
    return error


def _watch_reporters() -> None:
    for name in REPORTERS:
        logging.getLogger(name).addFilter(_one_line)  # added only once


def _one_line(record: logging.LogRecord) -> bool:
    """A filter: rewrite a record with an exception raised at the start; drop those that repeat it."""
    error = _start_error(record.exc_info[1]) if record.exc_info else None
    if error is None:
        return True
    if getattr(error, _LOGGED, False):
        return False
    setattr(error, _LOGGED, True)
    record.name, record.levelno, record.levelname = "crawlproject", logging.ERROR, "ERROR"
    record.msg, record.args = "Cannot start: %s", (" ".join(str(error).split())[:MAX_MESSAGE],)
    record.exc_info = record.exc_text = None
    return True


def _start_error(error: BaseException | None) -> BaseException | None:
    """``error``, or the one during whose handling it was raised, if that was raised at the start."""
    for _ in range(_MAX_CHAIN):
        if error is None or getattr(error, _AT_START, False):
            return error
        error = error.__cause__ or error.__context__
    return None
