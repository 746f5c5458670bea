"""Records what each place of a crawl's connections is used for: an extension, and the spans of what it recorded.

It wraps methods of sessions, connections and of the download handler inside the crawl's process: no signal tells all of
this, and a receiver of one would slow the crawl down.  ``SLOT_LOG``: the file, JSON lines, written when the spider has
closed.

    ["step", time, session, server, event]             Session.step
    ["place", server, from, to]                        a wait until a closing connection has freed its place
    ["close", server, from, to]                        a connection closes
    ["request", server, path, started, dns, connect, tls, reused, sent, head, end]
    ["ready", time, servers]                           servers that might get a session
"""

from __future__ import annotations

import json
from collections import defaultdict
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crawlproject.clock import CLOCK
from crawlproject.simulation import spans as phase
from crawlproject.simulation.spans import Spans

#: Seconds between two looks at the number of ready servers.
INTERVAL = 0.1


class SlotLog:
    """The extension; times are ``time.monotonic()``, as in the servers' log."""

    def __init__(self, crawler: Any) -> None:
        from scrapy import signals

        self._crawler = crawler
        self._path = Path(crawler.settings["SLOT_LOG"])
        self._events: list[list[Any]] = []
        self._heads: dict[int, float] = {}  # by the identity of a Timing
        self._numbers: dict[int, tuple[Any, int]] = {}  # the session is kept: its identity must stay unique
        self._looked = 0.0
        self._wrap()
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Any) -> SlotLog:
        return cls(crawler)

    def closed(self) -> None:
        with self._path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(event) + "\n" for event in self._events)

    def _wrap(self) -> None:
        from crawlproject.download.connection import ConnectionPool
        from crawlproject.download.handler import FrontierDownloadHandler
        from crawlproject.download.session_connection import Connection
        from crawlproject.frontier.server import Session
        from crawlproject.requests.meta import TIMING

        step, noted = Session.step, Connection.noted
        take, close = ConnectionPool._take_place, ConnectionPool._close
        download = FrontierDownloadHandler.download_request

        @wraps(step)
        def stepped(session: Any, event: Any) -> None:
            step(session, event)
            _, number = self._numbers.setdefault(id(session), (session, len(self._numbers)))
            self._events.append(["step", CLOCK(), number, session.server.key, event.value])
            self._look()

        @wraps(noted)
        def headed(connection: Any, timing: Any, on_lost: Any) -> Any:
            self._heads[id(timing)] = CLOCK() - timing.lag
            return noted(connection, timing, on_lost)

        @wraps(take)
        async def taken(pool: Any, connection: Any) -> None:
            start = CLOCK()
            await take(pool, connection)
            key = next((key for key, known in pool._connections.items() if known is connection), "")
            self._events.append(["place", key, start, CLOCK()])

        @wraps(close)
        async def shut(pool: Any, key: str, connection: Any, before: Any) -> None:
            start, had_place = CLOCK(), connection.has_place
            await close(pool, key, connection, before)
            if had_place:
                self._events.append(["close", key, start, CLOCK()])

        @wraps(download)
        async def downloaded(handler: Any, request: Any) -> Any:
            timing = None
            try:
                response = await download(handler, request)
                timing = request.meta.get(TIMING)
            finally:
                timing = timing or request.meta.get(TIMING)
                if timing is not None:
                    self._note(request.url, timing)
            return response

        for owner, method, wrapped in (
            (Session, "step", stepped),
            (Connection, "noted", headed),
            (ConnectionPool, "_take_place", taken),
            (ConnectionPool, "_close", shut),
            (FrontierDownloadHandler, "download_request", downloaded),
        ):
            setattr(owner, method, wrapped)

    def _note(self, url: str, timing: Any) -> None:
        from crawlproject.urls.server_key import server_key

        sent = timing.sent or CLOCK()
        end = sent + timing.fetch_time
        head = self._heads.pop(id(timing), end)
        times = [timing.started, timing.dns_time or 0.0, timing.connect_time or 0.0, timing.tls_time or 0.0]
        self._events.append(["request", server_key(url), urlsplit(url).path, *times, timing.reused, sent, head, end])

    def _look(self) -> None:
        now = CLOCK()
        if now >= self._looked + INTERVAL:
            from crawlproject.crawl_frontier import frontier_of

            self._looked = now
            crawl = frontier_of(self._crawler)
            if crawl is not None:
                self._events.append(["ready", now, crawl.frontier.counts()["ready"]])


class Slots:
    """The spans of a recorded crawl, and the number of ready servers over time; seconds since ``start``."""

    def __init__(self, path: Path, start: float) -> None:
        self.spans = Spans()
        self.ready: list[tuple[float, int]] = []
        closing: list[tuple[float, int]] = []
        places: defaultdict[str, list[tuple[str, float, float]]] = defaultdict(list)
        requests: defaultdict[str, list[list[Any]]] = defaultdict(list)
        steps: defaultdict[tuple[int, str], list[tuple[float, str]]] = defaultdict(list)
        with path.open(encoding="utf-8") as lines:
            for kind, *rest in map(json.loads, lines):
                if kind == "step":
                    time, number, key, event = rest
                    steps[number, key].append((time - start, event))
                elif kind == "request":
                    key, file, *times = rest
                    requests[key].append([file, *times])
                elif kind in ("place", "close"):
                    key, first, last = rest
                    waits = kind == "place"
                    closing += [(first - start, -1 if waits else 1), (last - start, 1 if waits else -1)]
                    if waits:
                        places[key].append((phase.CLOSING, first - start, last - start))
                else:
                    self.ready.append((rest[0] - start, rest[1]))
        for found in requests.values():
            found.sort(key=lambda each: each[1])
        for (_, key), events in steps.items():
            self._add_session(events, requests[key], start, places[key])
        self._add_closing(sorted(closing))

    def _add_closing(self, steps: list[tuple[float, int]]) -> None:
        """Connections that close while no session waits for their places; others are part of that session."""
        before, count = 0.0, 0
        for time, step in steps:
            for _ in range(count):
                self.spans.add(phase.CLOSING, before, time)
                self.spans.session(before, time)
            before, count = time, count + step

    def _add_session(
        self,
        events: list[tuple[float, str]],
        requests: list[list[Any]],
        start: float,
        waits: list[tuple[str, float, float]],
    ) -> None:
        """The phases of one session, from its first request to its end; ``waits``: for a place."""
        opened, closed = events[0][0], next((time for time, event in events if event == "close"), events[-1][0])
        self.spans.session(opened, closed)
        at = opened
        asides = sorted([*_asides(events), *waits], key=lambda each: each[1])
        for file, started, dns, connect, tls, reused, sent, head, end in requests:
            first = started - start
            if not opened <= first < closed:
                continue
            self._add_idle(at, first, asides)
            for name, seconds in ((phase.LOOK_UP, dns), (phase.CONNECT, connect), (phase.TLS, tls)):
                self.spans.add(name, first, first + seconds)
                first += seconds
            self.spans.add(phase.PREPARING, first, sent - start)
            is_robots = file == "/robots.txt"
            answer = phase.FURTHER if reused else phase.FIRST
            self.spans.add(phase.ROBOTS if is_robots else answer, sent - start, head - start)
            self.spans.add(phase.ROBOTS if is_robots else phase.TRANSFER, head - start, end - start)
            at = end - start
        self._add_idle(at, closed, asides)

    def _add_idle(self, start: float, end: float, asides: list[tuple[str, float, float]]) -> None:
        """Nothing is in flight: the session lingers, waits, or the crawler is busy."""
        for name, first, last in asides:
            if first < end and last > start:
                self.spans.add(phase.PREPARING, start, first)
                self.spans.add(name, max(start, first), min(end, last))
                start = max(start, last)
        self.spans.add(phase.PREPARING, start, end)

    def until_scarce(self, servers: int) -> float:
        """When the number of ready servers falls below ``servers`` for good."""
        return max((time for time, ready in self.ready if ready >= servers), default=0.0)

    def from_plenty(self, servers: int) -> float:
        """When the number of ready servers reaches ``servers`` first."""
        return min((time for time, ready in self.ready if ready >= servers), default=0.0)


def _asides(events: list[tuple[float, str]]) -> list[tuple[str, float, float]]:
    """When a session lingered or waited."""
    names = {"linger": phase.LINGERING, "hold": phase.POLITE}
    return [(names[event], time, after) for (time, event), (after, _) in pairwise(events) if event in names]
