"""Ctrl-C after the end of a crawl, while Python exits."""

from __future__ import annotations

import atexit
import signal


def ignore_late_signals() -> None:
    """Let SIGINT and SIGTERM do nothing once Python exits, if a crawl handles them until then. Again without effect.

    While Python exits, which takes up to a second, it gives handled signals their default action back.  A worker that
    had done all its work, and got a second Ctrl-C then, was reported as killed by it (exit code -2).
    """
    atexit.unregister(_ignore_handled)
    atexit.register(_ignore_handled)


def _ignore_handled() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, signal.SIG_IGN)
