"""Errors of a direct connection that ends before its answer is complete."""

from __future__ import annotations


class ServerDisconnectedError(Exception):
    """The server closed the connection without an answer."""

    def __init__(self) -> None:
        super().__init__("Server disconnected")


class BrokenOffError(Exception):
    """The body is incomplete, or cannot be read further."""


class ConnectTimeoutError(TimeoutError):
    """No connection in time."""
