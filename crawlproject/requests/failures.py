"""How requests fail: kinds for stats, words for the log."""

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

#: Failed downloads: exception -> (label in stats, whether the server could not be reached or did not answer).
DOWNLOAD_FAILURES: dict[type[Exception], tuple[str, bool]] = {
    DownloadTimeoutError: ("timeout", True),
    DownloadConnectionRefusedError: ("refused", True),
    CannotResolveHostError: ("dns", True),
    DownloadFailedError: ("broken_response", True),
    ResponseDataLossError: ("truncated_body", False),
    DownloadCancelledError: ("too_large", False),
}

#: What a fetch can end in besides a response.
FETCH_FAILURES = (*DOWNLOAD_FAILURES, UnsupportedURLSchemeError, IgnoreRequest)

#: Longest description, characters: errors quote what servers send.
MAX_WORDS = 200

#: Exceptions that are looked at, from one to its causes.
_MAX_CHAIN = 10

_LOOKUPS = {
    "nxdomain": "no such name",
    "no_address": "the name has no address",
    "servfail": "its name servers fail",
    "timeout": "its name servers do not answer",
    "malformed": "not a host name",
}


def failure_kind(error: Exception) -> tuple[str, bool]:
    """The label and the verdict of ``DOWNLOAD_FAILURES``; another error says nothing about the server."""
    return next((kind for of, kind in DOWNLOAD_FAILURES.items() if isinstance(error, of)), ("other", False))


def in_words(error: BaseException) -> str:
    """One line, its length bounded.

    >>> in_words(ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"))
    'connection refused'
    """
    said = next(filter(None, map(_words, _chain(error))), None)
    return " ".join((said or str(error) or type(error).__name__).split())[:MAX_WORDS]


def _words(error: BaseException) -> str | None:
    return next((words(error) for kind, words in _KINDS if isinstance(error, kind)), None)


def _attribute(error: BaseException, name: str) -> str:
    """Which exceptions made by OpenSSL have, others not."""
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
    """The causes of ``error``, the first before the later ones, and it."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and len(found) < _MAX_CHAIN:
        found.append(following)
        os_error = getattr(following, "os_error", None)  # aiohttp's
        following = os_error if isinstance(os_error, BaseException) else following.__cause__ or following.__context__
    return reversed(found)
