"""The known servers by key, and what is learned about each."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Protocol

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.orders import FrontierOrders
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Server
from crawlproject.urls.server_key import covers, server_key, slot_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawlproject.frontier.budgets import Prices
    from crawlproject.frontier.learning.expectation import Expectations
    from crawlproject.frontier.measurement import Measurement
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.protocols import ServerUrls

#: Servers compared with the name of an order in one step, and of those, servers changed: a few ms.
ORDER_STEP, CHANGE_STEP = 2_000, 200


class Places(Protocol):
    """Where servers stand: the part of ``ServerQueue`` that is needed here."""

    def tick(self, now: float) -> None: ...
    def place(self, server: Server) -> None: ...
    def find_group(self, server: Server) -> None: ...


class FrontierStore(Protocol):
    """Keeps a frontier beyond the process. Implemented in ``storage``."""

    def open_queue(self, key: str) -> ServerUrls:
        """An empty queue for the new server ``key``."""

    def read_ahead(self, urls: Sequence[tuple[Server, str]]) -> None:
        """Prefetch these URLs, given by server and path: their quality is about to be raised, if they are queued."""

    def changed(self, server: Server) -> None:
        """Note that ``server`` has changed, apart from its URLs. O(1)."""


class ServerTable:
    """Servers by key. Learning about a server moves it in ``queue`` and notifies the ``store``.

    ``by_quality``: whether queues sort URLs by quality.  ``prices``: of pages and bytes.  ``politeness``,
    ``max_batch``: see ``Frontier``.
    """

    def __init__(  # noqa: PLR0913
        self,
        queue: Places,
        expectations: Expectations,
        politeness: Politeness,
        max_batch: int,
        *,
        by_quality: bool,
        prices: Prices,
    ) -> None:
        self._prices = prices
        self.store: FrontierStore | None = None
        #: Change them by ``set_delay`` and ``Frontier.block``.
        self.orders = FrontierOrders()
        #: Server -> the one whose other name it is, which is none itself.
        self.aliases: dict[str, str] = {}
        self._by_key: dict[str, Server] = {}
        self._queue = queue
        self._expectations = expectations
        self._by_quality = by_quality
        self._politeness = politeness
        self._politeness_by_host = politeness.by_host()
        self._max_batch = max_batch

    # Servers by key

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Server]:
        return iter(self._by_key.values())

    def __getitem__(self, key: str) -> Server:
        return self._by_key[key]

    def get(self, key: str) -> Server | None:
        """The server ``key``, if known. O(1)."""
        return self._by_key.get(key)

    def get_or_add(self, key: str) -> Server:
        """The server ``key``, added if unknown. O(1)."""
        server = self._by_key.get(key)
        if server is None:
            server = self.add(key, None if self.store is None else self.store.open_queue(key))
            self.changed(server)
        return server

    def add(self, key: str, urls: ServerUrls | None = None) -> Server:
        """Add a new server, with the queue ``urls`` or an empty one. O(1)."""
        own = UrlQueue(by_quality=self._by_quality, window=1) if urls is None else urls
        server = self._by_key[key] = Server(key, own, limit=1, prices=self._prices)
        server.blocked = self.orders.is_blocked(key)
        self._queue.find_group(server)
        self._expectations.meet(server)
        self._predict_session(server)
        return server

    def remove(self, server: Server) -> None:
        """Forget ``server``, which is in no heap. O(1).

        Whoever still refers to it finds an empty queue in memory, so that nothing reaches the store.
        """
        del self._by_key[server.key]
        self.aliases.pop(server.key, None)
        server.urls = UrlQueue(by_quality=self._by_quality, window=server.limit)

    def locate(self, url: str) -> tuple[Server, str]:
        """The server of ``url``, added if unknown, and the path that its queue keeps. O(length of the host).

        Raises ValueError for a URL without a server.
        """
        end = url.find("/", 8)  # as in ``locate_known``
        server = self._by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self.get_or_add(server_key(url))
        return server, path_of(url, server.key)

    def locate_known(self, url: str) -> tuple[Server, str] | None:
        """``locate`` for a known server; None if the server is unknown."""
        end = url.find("/", 8)  # 8: length of "https://"
        # A URL that starts with a known key and a slash, as canonical URLs do, is on that server: no need to parse it.
        server = self._by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self._by_key.get(server_key(url))
        return None if server is None else (server, path_of(url, server.key))

    # Position of a server in the queue

    def changed(self, server: Server) -> None:
        """Notify the store that ``server`` has changed, here or elsewhere (its guard, its kinds of files). O(1)."""
        if self.store is not None:
            self.store.changed(server)

    def move(self, server: Server) -> None:
        """Move ``server`` to its current position and notify the store. O(log servers)."""
        self._queue.place(server)
        self.changed(server)

    def restored(self, server: Server) -> None:
        """Derive the values of ``server`` that are not stored; the caller must then place it."""
        if server.alias_of:
            self.aliases[server.key] = server.alias_of
        server.update_worth()
        self._predict_session(server)
        self._expectations.update(server)

    def expect(self, server: Server) -> None:
        """Predict times and next session of a server never contacted; the caller must then place it. O(batch)."""
        if self._expectations.meet(server):
            self._predict_session(server)

    def _predict_session(self, server: Server) -> None:
        """O(1), or O(batch) if the length of its next session changes."""
        server.predict_session(self.politeness_of(server), self._max_batch)

    # Observations of a server

    def politeness_of(self, server: Server) -> Politeness:
        """The politeness rules of ``server``. O(1), with delays that were ordered O(labels)."""
        rules = self._politeness
        if self._politeness_by_host:
            rules = next(filter(None, map(self._politeness_by_host.get, slot_names(server.key))), rules)
        if len(self.orders.delays) and (delay := self.orders.delay(server.key)) > rules.request_delay:
            rules = rules.with_delay(delay)
        return rules

    def room(self, server: Server) -> int:
        """How many requests the session of ``server`` may have at once now: 1 until it has answered. O(labels)."""
        if not server.answered or server.failures or server.crawl_delay:
            return 1
        rules = self.politeness_of(server)
        return rules.connections if rules.mode == "slots" else 1

    def side_connections(self, key: str) -> int:
        """How many connections requests that bypass the frontier may have to the server ``key`` now. O(labels)."""
        server = self.get_or_add(key)
        rules = self.politeness_of(server)
        is_busy = server.session is not None or server.failures > 0
        return 1 if is_busy or server.least_wait(rules, in_session=True) else rules.connections

    def set_delay(self, name: str, seconds: float, now: float) -> Iterator[None]:
        """Keep at least ``seconds`` between any two requests to a server that ``name`` covers; 0: no such order.

        In steps, as ``for_covered``.  O(servers), or O(1) if ``name`` is a server.  Raises ValueError for too many
        names.
        """
        names = self.orders.delays
        if seconds > 0:
            names.set(name, seconds)
        elif not names.remove(name):
            return
        self._queue.tick(now)
        yield from self.for_covered(name, lambda server: self._obey_delay(server, now))

    def for_covered(self, name: str, change: Callable[[Server], None]) -> Iterator[None]:
        """Change the known servers that ``name`` covers, in steps of at most ``CHANGE_STEP`` changes; take all."""
        keys = [name] if "://" in name else [server.key for server in self]
        compared = changed = 0
        for key in keys:
            server = self.get(key) if covers(name, key) else None
            if server is not None:
                change(server)
                changed += 1
            compared += 1
            if compared == ORDER_STEP or changed == CHANGE_STEP:
                compared = changed = 0
                yield

    def _obey_delay(self, server: Server, now: float) -> None:
        """The next request waits for it, as if the last one had just ended if that is unknown. O(log servers)."""
        self._predict_session(server)
        delay = self.orders.delay(server.key)
        if delay:
            server.rest_until((now if server.latest_end == -inf else server.latest_end) + delay)
        self.move(server)

    def learn(self, measurement: Measurement) -> Server:
        """Learn from a finished request; the caller must then move the server. O(batch)."""
        self._queue.tick(measurement.now)
        server = self.get_or_add(measurement.server_key)
        politeness = self.politeness_of(server)
        server.learn(measurement, self._expectations.prior, politeness)
        server.predict_session(politeness, self._max_batch)
        return server

    def rest(self, key: str, now: float, fetch_time: float) -> None:
        """Start the polite wait of the server ``key`` after an answer, recorded or not. O(log servers)."""
        server = self.get_or_add(key)
        self._queue.tick(now)
        server.rest_until(now + server.wait_after(fetch_time, self.politeness_of(server)))
        server.last_end = now
        if server.session is not None:
            server.session.last_end = now
        self.move(server)

    def robots_failed(self, key: str, now: float, retry_after: float | None = None, error: str = "") -> Server:
        """Learn that the robots.txt of the server ``key`` is unavailable: end its session, let it rest.

        The rest is as long as after as many consecutive failures of any other kind.  O(log servers).
        """
        server = self.get_or_add(key)
        server.robots_failures += 1
        if error:
            server.note_error(error)
        self._queue.tick(now)
        server.rest_until(now + self._politeness.backoff(server.robots_failures, retry_after))
        if server.session is not None:
            server.session.ending = True
        self.move(server)
        return server

    def robots_read(self, key: str) -> None:
        """Learn that the robots.txt of the server ``key`` is available. O(1)."""
        server = self._by_key.get(key)
        if server is not None and server.robots_failures:
            server.robots_failures = 0
            self.changed(server)

    def taken_over(self, key: str, contacted: float, closed_at: float | None) -> None:
        """Let the server ``key`` rest as if the process that had it before had contacted it at ``contacted``.

        ``closed_at``: when a connection of that process is certainly closed; None: it had none.  O(log servers).
        """
        server = self._by_key[key]
        wait = server.least_wait(self.politeness_of(server), in_session=closed_at is not None)
        at = max(contacted + wait, closed_at or 0.0)
        if server.ready_at < at:
            server.ready_at = at
            self.move(server)

    def set_crawl_delay(self, key: str, delay: float) -> None:
        """Keep ``delay`` seconds between any two requests to the server ``key`` (robots.txt). O(log servers)."""
        server = self.get_or_add(key)
        server.crawl_delay = delay
        self._predict_session(server)
        server.rest_until(server.latest_end + self.politeness_of(server).request_wait(0.0, delay))
        self.move(server)

    def connection_lost(self, key: str, now: float) -> None:
        """Learn that the server ``key`` closed its session's connection: it takes no further request. O(batch)."""
        server = self.get_or_add(key)
        server.learn_close(now)
        self._predict_session(server)
        self.changed(server)

    def learn_content(self, key: str, *, copy: bool) -> None:
        """Count a page of the server ``key`` by its content; ``copy``: it was seen before. O(log servers)."""
        server = self.get_or_add(key)
        server.pages += 1
        server.copies += copy
        server.update_worth()
        self.move(server)

    def learn_misfit(self, key: str) -> None:
        """Learn that a page of the server ``key`` has a type that is not read. O(log servers)."""
        server = self.get_or_add(key)
        server.misfits += 1
        server.update_worth()
        self.move(server)

    def learn_alias(self, key: str, main: str) -> bool:
        """Learn that the known server ``key`` is another name of ``main``; False if that is one of it. O(aliases)."""
        main = self.aliases.get(main, main)
        if main == key:
            return False
        for each in (key, *(alias for alias, its in self.aliases.items() if its == key)):
            self.aliases[each] = main
            if (server := self.get(each)) is not None:
                server.alias_of = main
                self.changed(server)
        return True
