"""Creates the sockets of one connection, except for addresses that the guard refuses."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.download.address_guard import AddressGuard, Refusal


class GuardedSockets:
    """A factory of sockets: called with each address before a connection to it is opened.

    Every address passes here, whether it comes from DNS, a redirect or a retry.  A refused address is handled like one
    that does not answer: the host's next address is tried.
    """

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._to_proxy = False
        self._refusal: Refusal | None = None
        self._tried = 0  # addresses not refused

    def expect(self, *, to_proxy: bool) -> None:
        """Called before each request. ``to_proxy``: it goes to the user's proxy, whose address is not checked."""
        self._to_proxy = to_proxy
        self._refusal = None
        self._tried = 0

    @property
    def refusal(self) -> Refusal | None:
        """The reason why the connection of this request was not opened; None if an address was tried."""
        return self._refusal if not self._tried else None

    def __call__(self, address_info: Any) -> socket.socket:
        """Create the socket for an entry of ``getaddrinfo``; raises PermissionError if its address is refused."""
        family, kind, protocol, _, address = address_info
        refusal = None if self._to_proxy else self._guard.refusal(address[0])
        if refusal is not None:
            self._refusal = refusal
            raise PermissionError(errno.EACCES, str(refusal))
        self._tried += 1
        return socket.socket(family, kind, protocol)
