"""Failures of requests: labels for stats, descriptions for the log."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from crawlproject.download.lookup import NameLookupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Failed downloads: exception -> (label in stats, whether it counts as a failure of the server).
DOWNLOAD_FAILURES: dict[type[Exception], tuple[str, bool]] = {
    DownloadTimeoutError: ("timeout", True),
    DownloadConnectionRefusedError: ("refused", True),
    CannotResolveHostError: ("dns", True),
    DownloadFailedError: ("broken_response", True),
    ResponseDataLossError: ("truncated_body", False),
    DownloadCancelledError: ("too_large", False),
}

#: Exceptions that can end a fetch.
FETCH_FAILURES = (*DOWNLOAD_FAILURES, UnsupportedURLSchemeError, IgnoreRequest)

#: Maximum characters of a description: errors quote data from servers.
MAX_WORDS = 200

#: Maximum exceptions examined in a chain of causes.
_MAX_CHAIN = 10

_LOOKUPS = {
    "nxdomain": "no such name",
    "no_address": "the name has no address",
    "servfail": "its name servers fail",
    "timeout": "its name servers do not answer",
    "malformed": "not a host name",
}


def failure_kind(error: Exception) -> tuple[str, bool]:
    """The value in ``DOWNLOAD_FAILURES``; for any other error ``("other", False)``."""
    return next((kind for of, kind in DOWNLOAD_FAILURES.items() if isinstance(error, of)), ("other", False))


def in_words(error: BaseException) -> str:
    """A description in one line of at most ``MAX_WORDS`` characters.

    >>> in_words(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"))
    'connection refused'
    """
    said = next(filter(None, map(_words, _chain(error))), None)
    return " ".join((said or str(error) or type(error).__name__).split())[:MAX_WORDS]


def _words(error: BaseException) -> str | None:
    return next((words(error) for kind, words in _KINDS if isinstance(error, kind)), None)


def _attribute(error: BaseException, name: str) -> str:
    """An attribute that only exceptions raised by OpenSSL have; else the message."""
    return getattr(error, name, None) or str(error)


_KINDS: tuple[tuple[type[BaseException], Callable[[Any], str]], ...] = (
    (NameLookupError, lambda error: f"{_LOOKUPS.get(error.kind, error.kind)}: {error.name}"),
    (ssl.SSLCertVerificationError, lambda error: f"TLS certificate: {_attribute(error, 'verify_message')}"),
    (ssl.SSLError, lambda error: f"TLS: {_attribute(error, 'reason').replace('_', ' ').lower()}"),
    (ConnectionRefusedError, lambda _: "connection refused"),
    (ConnectionResetError, lambda _: "connection reset"),
    (aiohttp.ServerDisconnectedError, lambda _: "connection closed without an answer"),
    (aiohttp.ConnectionTimeoutError, lambda _: "no connection in time (FRONTIER_CONNECT_TIMEOUT)"),
    (aiohttp.ServerTimeoutError, lambda _: "no answer in time (DOWNLOAD_TIMEOUT)"),
    (DownloadTimeoutError, lambda _: "no answer in time (DOWNLOAD_TIMEOUT)"),
)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The causes of ``error``, root cause first, then ``error`` itself."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(found) < _MAX_CHAIN:
        found.append(following)
        os_error = getattr(following, "os_error", None)  # aiohttp's
        following = os_error if isinstance(os_error, BaseException) else following.__cause__ or following.__context__
    return reversed(found)
