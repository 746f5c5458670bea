"""Errors of a connection that ends before its answer is complete, and the causes of any error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Maximum exceptions examined in a chain of causes.
_MAX_CHAIN = 10


class ServerDisconnectedError(Exception):
    """The server closed the connection without an answer."""

    def __init__(self) -> None:
        super().__init__("Server disconnected")


class BrokenOffError(Exception):
    """The body is incomplete, or cannot be read further."""


class UnsizedBodyError(BrokenOffError):
    """The connection was cut off in a body without a stated length: how much is missing is unknown."""

    def __init__(self) -> None:
        super().__init__("the connection was cut off in the body")


class ConnectTimeoutError(TimeoutError):
    """No connection in time."""


class ProxyError(Exception):
    """The proxy is not reached, or does not pass the request on."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """``error``, its cause, the cause of that, and so on."""
    following: BaseException | None = error
    for _ in range(_MAX_CHAIN):
        if following is None:
            return
        yield following
        following = following.__cause__ or following.__context__
