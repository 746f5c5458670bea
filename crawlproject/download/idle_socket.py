"""Looks for data in an idle connection's socket that the event loop has not read yet."""

from __future__ import annotations

import asyncio
import select
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def is_readable(transport: asyncio.BaseTransport | None) -> bool:
    """Whether the socket holds data, or its end."""
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None or sock.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def count_unread(transport: asyncio.BaseTransport | None, on_unsolicited: Callable[[], None]) -> None:
    """Call ``on_unsolicited`` if the socket, for which ``is_readable`` is true, holds data.

    TLS's close message is no data: its protocol tells.
    """
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is not None and transport is not None and transport.get_extra_info("ssl_object") is None:
        with socket.socket(fileno=socket.dup(sock.fileno())) as same:
            if _holds_data(same):
                on_unsolicited()
    else:
        for _ in range(2):  # the loop reads, decrypts and calls ``data_received`` if there is data
            await asyncio.sleep(0)


def _holds_data(sock: socket.socket) -> bool:
    try:
        return bool(sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except OSError:
        return False
