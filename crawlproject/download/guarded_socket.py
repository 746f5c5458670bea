"""The sockets of one connection: none is made to an address that the guard refuses."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.download.address_guard import AddressGuard, Refusal


class GuardedSockets:
    """aiohttp's ``socket_factory``: it is given each address that a connection is about to be opened to.

    Whatever led there, a name, a redirect, a second try, passes here.  An address that is refused is like one that
    does not answer: aiohttp goes on to the name's next one.
    """

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._to_proxy = False
        self._refusal: Refusal | None = None
        self._tried = 0  # addresses that were not refused

    def expect(self, *, to_proxy: bool) -> None:
        """A request follows. ``to_proxy``: it goes to the user's own proxy, which may be anywhere."""
        self._to_proxy = to_proxy
        self._refusal = None
        self._tried = 0

    @property
    def refusal(self) -> Refusal | None:
        """Why the connection of this request was not opened; None if an address was tried."""
        return self._refusal if not self._tried else None

    def __call__(self, address_info: Any) -> socket.socket:
        """Make the socket for an entry of ``getaddrinfo``; raises PermissionError where its address is refused."""
        family, kind, protocol, _, address = address_info
        refusal = None if self._to_proxy else self._guard.refusal(address[0])
        if refusal is not None:
            self._refusal = refusal
            raise PermissionError(errno.EACCES, str(refusal))
        self._tried += 1
        return socket.socket(family, kind, protocol)
