"""The register of all open connections."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING

from .log import AccessLog, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .connection import Connection


class Register:
    """Counts open connections and logs their opening and closing in the clients' order.

    If a client closes one connection and opens another, this process may accept the new one before it reads the end of
    the old one. Therefore, if a new connection would be the second to its server, or exceed the maximum so far,
    connections that their clients have already closed are first logged as closed.
    """

    def __init__(self, log: AccessLog) -> None:
        self.log = log
        self.all: dict[int, Connection] = {}
        self._by_server: defaultdict[str, dict[int, Connection]] = defaultdict(dict)
        self._opened = 0
        self._highest = 0

    def open(self, connection: Connection) -> int:
        """Register a connection; returns its number. O(1), or O(open connections) at a new maximum."""
        others = self._by_server[connection.address]
        self._drop_gone(others.values())
        if len(self.all) >= self._highest:
            self._drop_gone(self.all.values())
        self._opened += 1
        self.all[self._opened] = others[self._opened] = connection
        self._highest = max(self._highest, len(self.all))
        self._log("open", connection.address, self._opened, 0, "", connection.client)
        return self._opened

    def close(self, connection: Connection) -> None:
        """Remove a connection; no effect if it was removed before. O(1)."""
        number = connection.number
        if self.all.pop(number, None) is not None:
            del self._by_server[connection.address][number]
            self._log("close", connection.address, number, connection.requests, connection.reason)

    def _drop_gone(self, connections: Iterable[Connection]) -> None:
        """Log the closing of connections that their clients have closed. One system call each."""
        for each in [each for each in connections if each.is_gone()]:
            each.strike()

    def _log(self, kind: str, address: str, number: int, requests: int, note: str, client: str = "") -> None:  # noqa: PLR0913
        now = time.monotonic()
        self.log.add(Record(kind, address, number, requests, now, now, 0, 0, client, "", note))
