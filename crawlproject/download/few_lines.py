"""Limits log lines that servers can cause in any number: a few per minute, the others are only counted."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

#: Lines of one kind in ``PERIOD`` seconds.
MAX_LINES = 10
PERIOD = 60.0


class FewLines:
    """Writes at most ``MAX_LINES`` lines in ``PERIOD`` seconds to ``logger``, and the others at DEBUG.

    The first line of a later period says how many were left out before it.
    """

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = CLOCK) -> None:
        self._logger = logger
        self._clock = clock
        self._until = 0.0
        self._written = 0
        self._left_out = 0

    def log(self, level: int, message: str, *args: object) -> None:
        """Log a line. O(1)."""
        now = self._clock()
        if now >= self._until:
            self._until, self._written = now + PERIOD, 0
        if level <= logging.DEBUG or self._written >= MAX_LINES:
            self._left_out += level > logging.DEBUG
            self._logger.debug(message, *args)
            return
        self._written += 1
        if self._left_out:
            message, args = message + " (%d lines like this were left out before)", (*args, self._left_out)
            self._left_out = 0
        self._logger.log(level, message, *args)
