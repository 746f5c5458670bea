"""The servers met: what is learned of each, and by that its place in the server queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of
from crawlproject.frontier.guard.copies import CopyRun, learn_shared
from crawlproject.frontier.learning.expectation import Expectations
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Server
from crawlproject.frontier.server_queue import ServerQueue
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.frontier.policy import Policy
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.frontier.queues.protocols import FrontierStore, ServerUrls
    from crawlproject.frontier.session import Measurement, Session

#: How many servers a page may cause to be ranked anew, about 10 µs each: no pause, however many servers wait.
RANKED_PER_PAGE = 4
#: Only so many, about the best, are: those that may get one of the next sessions. The others are when they come to
#: the top.
RANKED_AT_MOST = 2000


class ServerTable:
    """Servers by key. Whatever is learned here moves the server in ``queue`` and is told the ``store``.

    Arguments as of ``Frontier``.
    """

    def __init__(
        self,
        policy: Policy,
        politeness: Politeness,
        max_batch: int,
        group_of: Callable[[str], str] | None,
    ) -> None:
        self.by_key: dict[str, Server] = {}
        self.queue = ServerQueue(policy)
        self.expectations = Expectations(policy)
        self.store: FrontierStore | None = None
        self._outdated: list[Server] = []  # to be ranked anew
        self._by_quality = policy.by_quality
        self._politeness = politeness
        self._politeness_by_host = politeness.by_host()
        self._max_batch = max_batch
        self._group_of = group_of

    def meet(self, key: str) -> Server:
        """The server ``key``, met before or not. O(1)."""
        server = self.by_key.get(key)
        if server is None:
            server = self.add(key, None if self.store is None else self.store.open_queue(key))
            self.changed(server)
        return server

    def locate(self, url: str) -> tuple[Server, str]:
        """The server of ``url``, met before or not, and what its queue keeps of the URL. O(length of the host).

        Raises ValueError where there is no server.
        """
        return self._locate_known(url) or (server := self.meet(server_key(url)), path_of(url, server.key))

    def _locate_known(self, url: str) -> tuple[Server, str] | None:
        """``locate``, if the server was met before."""
        end = url.find("/", 8)  # the shortest "https://" ends there
        # a URL that starts with a key and a slash, as all canonical ones do, is of that server: no need to parse it
        server = self.by_key.get(url[:end]) if end > 0 else None
        if server is not None:
            return server, url[end:]
        server = self.by_key.get(server_key(url))
        return None if server is None else (server, path_of(url, server.key))

    def add(self, key: str, urls: ServerUrls | None = None) -> Server:
        """A server not met before, with a queue of its own or the one given. O(1)."""
        own = UrlQueue(by_quality=self._by_quality, window=1) if urls is None else urls
        server = self.by_key[key] = Server(key, own, limit=1)
        if self._group_of is not None:
            server.group = self.queue.group(self._group_of(key))
        self.expectations.meet(server)
        self.foresee(server)
        return server

    def raise_quality(self, gains: Iterable[tuple[str, float]]) -> None:
        """See ``Frontier.raise_quality``."""
        found = [(located, gain) for url, gain in gains if (located := self._locate_known(url)) is not None]
        if self.store is not None:  # which reads the URLs all at once
            self.store.read_ahead([located for located, _ in found])
        changed: dict[Server, None] = {}
        for (server, path), gain in found:
            quality = server.urls.raise_quality(path, gain)
            if quality is not None and quality > server.moving_quality:
                changed[server] = None
        self.place(changed)

    def expect(self, server: Server) -> None:
        """Expect of it what all servers have taught, if it was never contacted, and foresee its next session."""
        if self.expectations.meet(server):
            self.foresee(server)
            self.expectations.update(server)

    def expect_afresh(self) -> None:
        """Rank the best ready servers by what has been learned over all, ``RANKED_PER_PAGE`` of them at a time."""
        if not self._outdated and self.expectations.is_outdated(len(self.queue.ready)):
            self.raise_quality(self.expectations.sitemaps.raised())
            self._outdated = self.queue.ready.about_first(RANKED_AT_MOST)[::-1]  # the best last
        if self._outdated:
            for server in self._outdated[-RANKED_PER_PAGE:]:
                self._rank_anew(server)
            del self._outdated[-RANKED_PER_PAGE:]

    def freshen_best(self, now: float) -> None:
        """Rank the best ready server anew, and what then is the best, ``RANKED_PER_PAGE`` at most. O(log servers).

        Of a server that was met long ago, or ranked so, less may be expected now.
        """
        if not self.expectations.are_learned:
            return
        ready = self.queue.ready
        self.queue.best_rank(now)  # those whose rest is over are among them
        for _ in range(RANKED_PER_PAGE):
            best = ready.peek()
            if best is not None:
                self._rank_anew(best)
            if best is ready.peek():
                return

    def _rank_anew(self, server: Server) -> None:
        self.expect(server)
        self.queue.place(server)

    def _politeness_of(self, server: Server) -> Politeness:
        """The rules of waiting that hold for it. O(1)."""
        if not self._politeness_by_host:
            return self._politeness
        return self._politeness_by_host.get(host_of(server.key), self._politeness)

    def foresee(self, server: Server) -> None:
        """What its next session carries. O(1), or O(batch) where that changes."""
        server.set_limit(self._politeness_of(server), self._max_batch)

    def changed(self, server: Server) -> None:
        """Have the store keep it. O(1)."""
        if self.store is not None:
            self.store.changed(server)

    def place(self, servers: Iterable[Server]) -> None:
        """Put each where its URLs say. O(log servers) each."""
        place = self.queue.place
        for server in servers:
            if server.away_wait:  # the more URLs, the more urgent
                self.expectations.update(server)
            place(server)

    def move(self, server: Server) -> None:
        """Put it where it belongs now, and have the store keep it. O(log servers)."""
        self.queue.place(server)
        self.changed(server)

    # Sessions

    def release(self, session: Session, now: float, *, park: bool = False) -> bool:
        """See ``Frontier.close_session``, ``Frontier.park_session``."""
        server = session.server
        if server.session is not session:
            raise ValueError(f"session is not open: {session!r}")
        self.queue.tick(now)
        server.rest_after(session, self._politeness_of(server))
        if park:
            idle_time = (
                0.0 if session.is_spent or not session.carried else server.idle_time(self._politeness_of(server))
            )
            session.parked_until = session.last_end + idle_time
            if session.parked_until <= max(now, server.ready_at):
                return False
            server.parked = session
        server.session = None
        self.expectations.update(server)
        self.queue.release(server)
        self.changed(server)
        return True

    def unpark(self, session: Session, now: float) -> None:
        """See ``Frontier.unpark``."""
        self.queue.tick(now)
        session.server.parked = None
        self.queue.place(session.server)

    # What a server did and said

    def learn(self, measurement: Measurement) -> Server:
        """See ``Frontier.record``; the server must then be moved."""
        self.queue.tick(measurement.now)
        server = self.meet(measurement.server_key)
        politeness = self._politeness_of(server)
        server.learn(measurement, self.expectations.prior, politeness)
        server.set_limit(politeness, self._max_batch)
        return server

    def rest(self, key: str, now: float, fetch_time: float) -> None:
        """See ``Frontier.rest``."""
        server = self.meet(key)
        self.queue.tick(now)
        server.ready_at = max(server.ready_at, now + server.wait_after(fetch_time, self._politeness_of(server)))
        server.last_end = now
        if server.session is not None:
            server.session.ready_at = server.ready_at
            server.session.last_end = now
        self.move(server)

    def back_off(self, key: str, now: float, failures: int, retry_after: float | None, error: str) -> float:
        """See ``Frontier.back_off``."""
        server = self.meet(key)
        if error:
            server.note_error(error)
        self.queue.tick(now)
        server.ready_at = max(server.ready_at, now + self._politeness.backoff(failures, retry_after))
        if server.session is not None:
            server.session.ready_at = server.ready_at
            server.session.ending = True
        self.move(server)
        return server.ready_at

    def set_crawl_delay(self, key: str, delay: float) -> None:
        """See ``Frontier.set_crawl_delay``."""
        server = self.meet(key)
        server.crawl_delay = delay
        self.foresee(server)
        self.expectations.update(server)
        last_end = server.last_end if server.session is None else server.session.last_end
        server.ready_at = max(server.ready_at, last_end + self._politeness_of(server).request_wait(0.0, delay))
        if server.session is not None:
            server.session.ready_at = max(server.session.ready_at, server.ready_at)
        self.move(server)

    def learn_content(self, key: str, *, copy: bool, counts: bool) -> None:
        """See ``Frontier.learn_content``; ``counts``: whether copies count against a rank."""
        server = self.meet(key)
        server.pages += 1
        server.copies += copy
        if not copy:
            server.copy_run = None
        server.weigh(by_copies=counts)
        self.move(server)

    def learn_copy(self, key: str, content: int) -> int:
        """See ``Frontier.learn_copy``."""
        server = self.meet(key)
        server.copy_run = server.copy_run or CopyRun()
        self.changed(server)
        return server.copy_run.add(content)

    def learn_shared(self, key: str, first: str) -> str | None:
        """See ``Frontier.learn_shared``."""
        servers = self.meet(key), self.meet(first)
        mirror = learn_shared(*servers)
        for server in servers:
            self.changed(server)
        return None if mirror is None else mirror.key

    def demote(self, key: str, factor: float, *, copies_count: bool) -> None:
        """See ``Frontier.demote``."""
        server = self.meet(key)
        server.demotion = factor
        server.weigh(by_copies=copies_count)
        self.move(server)

    def connection_lost(self, key: str, now: float) -> None:
        """See ``Frontier.connection_lost``."""
        server = self.meet(key)
        server.learn_close(now)
        self.foresee(server)
        self.changed(server)
