"""Failures of requests: labels for stats, descriptions for the log."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest

from crawlproject.compat import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from crawlproject.download.endings import ConnectTimeoutError, ProxyError, ServerDisconnectedError, causes
from crawlproject.download.lookup import NameLookupError
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

#: Failed downloads: exception -> (reason, whether it counts as a failure of the server).
DOWNLOAD_FAILURES: dict[type[Exception], tuple[Reason, bool]] = {
    DownloadTimeoutError: (Reason.TIMEOUT, True),
    DownloadConnectionRefusedError: (Reason.REFUSED, True),
    CannotResolveHostError: (Reason.DNS, True),
    DownloadFailedError: (Reason.BROKEN, True),
    ResponseDataLossError: (Reason.TRUNCATED, False),
    DownloadCancelledError: (Reason.TOO_LARGE, False),
}

#: Exceptions that can end a fetch.
FETCH_FAILURES: tuple[type[Exception], ...] = (*DOWNLOAD_FAILURES, UnsupportedURLSchemeError, IgnoreRequest)

#: Maximum characters of a description: errors quote data from servers.
MAX_WORDS = 200

_NO_CONNECTION = "no connection in time (FRONTIER_CONNECT_TIMEOUT)"


def name_failure(error: BaseException) -> NameLookupError | None:
    """The failed look-up that caused ``error``; None: something else did."""
    return next((each for each in reversed(list(causes(error))) if isinstance(each, NameLookupError)), None)


def failure_kind(error: Exception) -> tuple[Reason, bool]:
    """The value in ``DOWNLOAD_FAILURES``; for any other error ``(Reason.OTHER, False)``."""
    return next((kind for of, kind in DOWNLOAD_FAILURES.items() if isinstance(error, of)), (Reason.OTHER, False))


def in_words(error: BaseException) -> str:
    """A description in one line of at most ``MAX_WORDS`` characters.

    >>> in_words(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"))
    'connection refused'
    """
    said = next(filter(None, map(_words, reversed(list(causes(error))))), None)
    return " ".join((said or str(error) or type(error).__name__).split())[:MAX_WORDS]


def is_unreached(error: Exception) -> bool:
    """Whether there was no connection to the server."""
    is_clear = isinstance(error, (DownloadConnectionRefusedError, CannotResolveHostError))
    return is_clear or in_words(error) == _NO_CONNECTION


def is_disconnection(error: BaseException | None) -> bool:
    """Whether the server closed the connection without an answer."""
    return isinstance(error, ServerDisconnectedError)


def is_of_proxy(error: Exception) -> bool:
    """Whether a request through a proxy failed before the proxy passed it on: it says nothing about the server."""
    return isinstance(error.__cause__, (ProxyError, ConnectTimeoutError, NameLookupError))


def _words(error: BaseException) -> str | None:
    return next((words(error) for kind, words in _KINDS if isinstance(error, kind)), None)


_KINDS: tuple[tuple[type[BaseException], Callable[[Any], str]], ...] = (
    (NameLookupError, lambda error: error.in_words),
    (ssl.SSLCertVerificationError, lambda error: f"TLS certificate: {getattr(error, 'verify_message', '') or error}"),
    (ssl.SSLError, lambda error: f"TLS: {getattr(error, 'reason', '') or error.strerror or 'failed without a reason'}"),
    (ConnectionRefusedError, lambda _: "connection refused"),
    (ConnectionResetError, lambda _: "connection reset"),
    (ServerDisconnectedError, lambda _: "connection closed without an answer"),
    (ConnectTimeoutError, lambda _: _NO_CONNECTION),
    (DownloadTimeoutError, lambda _: "no answer in time (DOWNLOAD_TIMEOUT)"),
)
