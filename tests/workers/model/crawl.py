"""The process around a ``Worker``: a frontier without ranks, its local copy, and sessions that take virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from crawlproject.frontier.entry import Entry
from crawlproject.urls.server_key import server_key
from crawlproject.workers.blobs import Tables
from crawlproject.workers.control import Spent
from crawlproject.workers.outbox import Outbox
from crawlproject.workers.partitions import Partitions
from crawlproject.workers.worker import Worker
from tests.workers.model.operator import Obeyed, Operator
from tests.workers.model.simulation import Process, Simulation
from tests.workers.model.web import Observer, Page, Web

#: Servers restored, or unloaded, in a step.
STEP = 2
#: Sessions of a worker at once, and pages of one.
SESSIONS = 4
BATCH = 5


@dataclass(eq=False)
class Server:
    """Its queued URLs, and those handed out."""

    key: str
    number: int
    queue: dict[bytes, Entry] = field(default_factory=dict)
    leased: set[bytes] = field(default_factory=set)
    is_held: bool = False
    is_connected: bool = False
    ready_at: float = 0.0
    #: When somebody sent it a request for the last time, as far as this worker knows.
    contacted: float = 0.0


class ModelCopy:
    """Implements ``Copy``: rows by partition, as they are committed, and the changes since.

    Rows: ``servers``: number -> key; ``rests``: number -> last contact and end of the rest, on Redis's clock; ``urls``:
    number and page -> depth; ``seen``: keys of URLs.
    """

    def __init__(
        self,
        web: Web,
        partitions: Partitions,
        redis_time: Callable[[], float],
        has_stepped: Callable[[float], bool] = lambda _: False,
    ) -> None:
        self.servers: dict[str, Server] = {}
        self._redis_time = redis_time
        self._has_stepped = has_stepped
        self.clock_offset = self._clock_error = 0.0
        self._web = web
        self._partitions = partitions
        self._stored: dict[int, dict[str, dict[bytes, bytes]]] = {}
        self._changes: dict[int, Tables] = {}
        self._next: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._rows: dict[int, int] = {}
        self._arrivals = 0

    def follow_clock(self, redis_time: float, age: float) -> None:
        self.clock_offset = redis_time - asyncio.get_running_loop().time()
        self._clock_error = age + 0.002
        late = self._redis_time() - redis_time
        is_right = 0 <= late <= age + 0.002 or self._has_stepped(age)
        assert is_right, f"Redis showed {redis_time} {late} s ago, not within {age} s"

    def clock_set(self, seconds: float) -> None:
        for server in self.servers.values():
            self.rest(server, server.contacted)

    def on_frontier_clock(self, redis_time: float) -> float:
        return redis_time - self.clock_offset

    def partition_of_url(self, url: str) -> int:
        return self._partitions.of_url(url)

    def partitions_of(self, urls: Iterable[str]) -> set[int]:
        return set(map(self._partitions.of_url, urls))

    def number(self, key: str) -> int | None:
        server = self.servers.get(key)
        return None if server is None else server.number

    def numbers(self, keys: Iterable[str]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number in sorted(self.servers[key].number for key in keys if key in self.servers):
            found.setdefault(self._partitions.of_number(number), []).append(number)
        return found

    def keys_of(self, partition: int) -> list[str]:
        return [key for key in self.servers if self._partitions.of(key) == partition]

    def rows(self, partition: int) -> int:
        return self._rows.get(partition, 0)

    def server_count(self, partition: int) -> int:
        first = self._partitions.first_number(partition)
        return self._next.get(partition, self._ends.get(partition, first)) - first

    def arrivals(self) -> dict[str, int]:
        return {"arrivals": self._arrivals, "returns": 0}

    def state(self) -> bytes:
        return b"{}"

    def learn(self, state: bytes) -> None:
        assert state == b"{}"

    def commit(self) -> dict[int, Tables]:
        changes, self._changes = self._changes, {}
        for partition, tables in changes.items():
            self.write_to(partition, tables)
            if partition in self._rows:
                self._rows[partition] = len(self._stored[partition].get("urls", ()))
        return changes

    def entries(self, tables: Tables) -> Iterator[Entry]:
        for key, row in tables.get("urls", {}).items():
            if row is not None:
                yield self._entry(key, row)

    def scan(self, partition: int) -> Iterator[tuple[str, bytes, bytes]]:
        tables = {table: sorted(rows.items()) for table, rows in self._stored.get(partition, {}).items()}
        return iter([(table, *row) for table in sorted(tables) for row in tables[table]])

    def write(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None:
        for table, rows in tables.items():
            for key, value in rows:
                self.write_to(self._partitions.of_number(int.from_bytes(key[:4], "big")), {table: {key: value}})

    def write_to(self, partition: int, tables: Tables) -> None:
        stored = self._stored.setdefault(partition, {})
        for table, rows in tables.items():
            found = stored.setdefault(table, {})
            for key, value in rows.items():
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value

    def restore(self, partition: int, extra: Mapping[str, Any]) -> Iterator[list[str]]:
        self._arrivals = max(self._arrivals, int(extra.get("arrivals", 0)))
        stored = self._stored.get(partition, {})
        self._rows[partition] = len(stored.get("urls", ()))
        numbers = sorted(stored.get("servers", {}))
        last = int.from_bytes(numbers[-1], "big") + 1 if numbers else self._partitions.first_number(partition)
        self._ends[partition] = last
        return self._restore(partition, numbers)

    def _restore(self, partition: int, numbers: list[bytes]) -> Iterator[list[str]]:
        stored = self._stored.get(partition, {})
        for start in range(0, len(numbers), STEP):
            keys = []
            for name in numbers[start : start + STEP]:
                server = Server(stored["servers"][name].decode(), int.from_bytes(name, "big"))
                rows = ((key, row) for key, row in stored.get("urls", {}).items() if key.startswith(name))
                server.queue = {key: self._entry(key, row) for key, row in rows}
                rest = stored.get("rests", {}).get(name, b"0 0").split()
                server.contacted, server.ready_at = (self.on_frontier_clock(float(time)) for time in rest)
                assert server.key not in self.servers, f"{server.key} is loaded twice"
                self.servers[server.key] = server
                keys.append(server.key)
            yield keys
        self._next[partition] = self._ends.pop(partition)

    def close_partition(self, partition: int) -> None:
        self._next.pop(partition, None)
        self._ends.pop(partition, None)
        self._rows.pop(partition, None)

    def unload(self, partition: int) -> Iterator[None]:
        keys = self.keys_of(partition)
        for start in range(0, len(keys), STEP):
            for key in keys[start : start + STEP]:
                server = self.servers.pop(key)
                assert server.is_held, f"{key} is unloaded and not held"
                assert not server.is_connected, f"{key} is unloaded and connected"
            yield
        self._stored.pop(partition, None)
        self._changes.pop(partition, None)

    # for the crawl

    def rest(self, server: Server, contacted: float, ready_at: float = 0.0) -> None:
        """Note a contact, and until when the server rests."""
        server.contacted, server.ready_at = max(server.contacted, contacted), max(server.ready_at, ready_at)
        partition = self._partitions.of_number(server.number)
        if self.servers.get(server.key) is server and partition in {**self._next, **self._ends}:
            more = self.clock_offset + self._clock_error
            row = f"{server.contacted + more!r} {server.ready_at + more!r}".encode()
            self._changes.setdefault(partition, {}).setdefault("rests", {})[server.number.to_bytes(4, "big")] = row

    def push(self, entries: Iterable[Entry]) -> None:
        """Queue those of ``entries`` that are new; their partitions are own."""
        for entry in entries:
            partition = self._partitions.of_url(entry.url)
            assert partition in self._next, f"{entry.url} is queued by a worker that does not own it"
            seen = self._partitions.url_key(entry.url).to_bytes(12, "big")
            changes = self._changes.setdefault(partition, {})
            if seen in self._stored.get(partition, {}).get("seen", ()) or seen in changes.get("seen", {}):
                continue
            changes.setdefault("seen", {})[seen] = b""
            server = self._server(partition, entry.url)
            key = server.number.to_bytes(4, "big") + self._web.pages[entry.url].number.to_bytes(4, "big")
            changes.setdefault("urls", {})[key] = bytes([entry.depth % 256])
            server.queue[key] = entry._replace(place=key)
            self._arrivals += 1

    def _server(self, partition: int, url: str) -> Server:
        name = server_key(url)
        if name not in self.servers:
            number = self._next[partition]
            self._next[partition] = number + 1
            self.servers[name] = Server(name, number)
            self._changes[partition].setdefault("servers", {})[number.to_bytes(4, "big")] = name.encode()
        return self.servers[name]

    def acknowledge(self, entry: Entry) -> None:
        server = self.servers.get(server_key(entry.url))
        if server is not None and entry.place in server.leased:
            server.leased.discard(entry.place)
            rows = self._changes.setdefault(self._partitions.of_url(entry.url), {}).setdefault("urls", {})
            rows[entry.place] = None

    def _entry(self, key: bytes, row: bytes) -> Entry:
        return Entry(self._web.urls[int.from_bytes(key[4:], "big")], depth=row[0], place=key)


class ModelCrawl:
    """Implements ``Crawl``, and runs it. ``seeds``: URLs that this process begins with."""

    def __init__(
        self, process: Process, web: Web, observer: Observer, copy: ModelCopy, outbox: Outbox, seeds: Sequence[str]
    ) -> None:
        self.worker: Worker  # set by the caller
        self.failed = ""
        self._simulation: Simulation = process.simulation
        self._process = process
        self._random: Random = process.simulation.random
        self._web = web
        self._observer = observer
        self._copy = copy
        self._outbox = outbox
        self._seeds = list(seeds)
        self._is_starting = True
        self._is_closing = False
        self._in_progress: dict[str, Entry] = {}
        self._done: list[Entry] = []
        self._sessions: dict[str, asyncio.Task[None]] = {}
        self._processing: set[asyncio.Task[None]] = set()
        self._event = asyncio.Event()
        self._pages = 0
        self._unchecked: set[str] = set()  # servers that came when the lease was over
        #: The operator, and what this worker obeys; None: there is none.
        self.operator: Operator | None = None
        self.obeyed: Obeyed | None = None

    async def run(self) -> None:
        """Crawl until the crawl has ended for all workers, or this one is asked to leave."""
        await self.worker.start()
        if self.obeyed is not None:
            await self.obeyed.shared.begin(self.obeyed.restore, self.obeyed.apply)
        self._route([Entry(url) for url in self._seeds])
        self._is_starting = False
        while not self._is_over():
            self._open_sessions()
            self._event.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._event.wait()
        if self.obeyed is not None:
            await self.obeyed.shared.close()
        await self.worker.stop()
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            self._observer.error(f"{self._process.name} has stopped, and goes on with {left}")

    def close(self) -> None:
        """Leave, as after Ctrl-C: pages in progress are done first."""
        self._is_closing = True
        self._event.set()

    def _is_over(self) -> bool:
        return (self._is_closing or not self.worker.goes_on()) and not self._sessions and not self._processing

    def _open_sessions(self) -> None:
        now = asyncio.get_running_loop().time()
        for server in self._copy.servers.values():
            if len(self._sessions) >= SESSIONS or self._is_closing or not self._may_start():
                return
            if self._has_work(server) and not server.is_held and not server.is_connected and server.ready_at <= now:
                server.is_connected = True
                task = asyncio.get_running_loop().create_task(self._session(server))
                self._sessions[server.key] = task
                task.add_done_callback(lambda task, server=server: self._closed(server, task))  # type: ignore[misc]

    def _closed(self, server: Server, task: asyncio.Task[None]) -> None:
        if self._sessions.get(server.key) is task:
            del self._sessions[server.key]
            server.is_connected = False
        self._event.set()
        if not task.cancelled():
            task.result()

    async def _session(self, server: Server) -> None:
        for _ in range(BATCH):
            if not server.queue or server.is_held or self._is_closing or not self._may_start():
                break
            if self._is_blocked(server.key):
                break
            key = next(iter(server.queue))
            entry = server.queue.pop(key)
            server.leased.add(key)
            self._in_progress[entry.url] = entry
            page = self._web.pages[entry.url]
            if self.operator is not None and self.obeyed is not None:
                self.operator.check(self._process.name, page, self.obeyed.orders)
            if server.key in self._unchecked:
                self._unchecked.discard(server.key)
                self._check_contacted(server)
            fetch = self._observer.started(page, self._process.name)
            self._copy.rest(server, asyncio.get_running_loop().time())
            try:
                await asyncio.sleep(page.seconds)
            except asyncio.CancelledError:
                self._observer.ended(fetch)
                self._in_progress.pop(entry.url, None)
                server.leased.discard(key)
                server.queue[key] = entry  # as the retry of a failed request
                raise
            self._observer.ended(fetch)
            task = asyncio.get_running_loop().create_task(self._process_page(page, entry))
            self._processing.add(task)
            task.add_done_callback(self._processing.discard)
            await asyncio.shield(task)  # a page goes on when its connection is closed
            await asyncio.sleep(self._random.choice([0.0, 0.2, 1.0]))
        now = asyncio.get_running_loop().time()
        self._copy.rest(server, 0.0, now + self._random.choice([0.0, 0.5]))

    async def _process_page(self, page: Page, entry: Entry) -> None:
        half = len(page.links) // 2
        for links in (page.links[:half], page.links[half:]):
            self._route([Entry(url, depth=entry.depth + 1) for url in links])
            await asyncio.sleep(self._random.choice([0.0, 0.0, 0.3]))
        self._in_progress.pop(entry.url, None)
        self._done.append(entry)
        self._pages += 1
        self._observer.processed(page)

    def _route(self, entries: Sequence[Entry]) -> None:
        own = [self._outbox.is_own(entry.url) for entry in entries]
        self._copy.push(entry for entry, is_own in zip(entries, own, strict=True) if is_own)
        foreign = [entry for entry, is_own in zip(entries, own, strict=True) if not is_own]
        unsent = self._outbox.unsent([entry.url for entry in foreign])
        self._outbox.send(entry for entry, is_one in zip(foreign, unsent, strict=True) if is_one)

    # for the worker

    def finished(self) -> list[Entry]:
        done, self._done = self._done, []
        return done

    def acknowledge(self, entry: Entry) -> None:
        self._copy.acknowledge(entry)

    def urls_in_progress(self) -> Iterable[str]:
        return list(self._in_progress)

    def urls_waiting(self) -> Iterable[str]:
        return ()

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        self._copy.push(entries)
        yield

    def release(self, keys: Sequence[str]) -> bool:
        for key in keys:
            self._copy.servers[key].is_held = True
        return not any(self._copy.servers[key].is_connected for key in keys)

    def abandon(self, keys: Sequence[str]) -> None:
        for key in keys:
            server = self._copy.servers[key]
            server.is_held = True
            if server.is_connected:
                server.is_connected = False
                self._sessions.pop(key).cancel()

    def disconnect(self) -> None:
        for key, task in list(self._sessions.items()):
            self._copy.servers[key].is_connected = False
            del self._sessions[key]
            task.cancel()

    def came(self, keys: Sequence[str], *, closed_at: Mapping[str, float], contacted: float) -> None:
        for key in keys:
            server = self._copy.servers[key]
            self._copy.rest(server, contacted, closed_at.get(key, 0.0))
            if self.worker.may_send():
                self._check_contacted(server)
            else:  # the partition may be another's by now, and this worker about to learn it
                self._unchecked.add(server.key)

    def _check_contacted(self, server: Server) -> None:
        """Those who had this server have sent it no request of which nothing is known."""
        last = self._observer.last(server.key)
        if last is not None and last.worker != self._process.name:
            at, known = last.at + self._process.clock_offset, server.contacted
            if at > known + 0.005:
                self._observer.error(
                    f"{self._process.name} does not know of the contact of {last.worker} with {server.key} at "
                    f"{last.at:.3f}, only of one at {known - self._process.clock_offset:.3f}"
                )

    def served(self) -> Sequence[str]:
        return [key for key, server in self._copy.servers.items() if server.is_connected]

    def info(self) -> dict[str, Any]:
        is_busy = any(self._has_work(server) or server.leased for server in self._copy.servers.values())
        actions = 0 if self.obeyed is None else self.obeyed.shared.number
        return {"pages": self._pages, "busy": self._is_starting or is_busy, "actions": actions}

    def _has_work(self, server: Server) -> bool:
        return bool(server.queue) and not self._is_blocked(server.key)

    def _is_blocked(self, key: str) -> bool:
        return key in self._web.blocked or (self.obeyed is not None and self.obeyed.blocks(key))

    def _may_start(self) -> bool:
        return self.worker.may_start() and (self.obeyed is None or self.obeyed.may_start())

    async def give(self, changes: Mapping[str, str | None]) -> None:
        """An order at the console of this worker; if Redis does not answer it may be in force or not."""
        assert self.obeyed is not None
        with suppress(ConnectionError):
            await self.obeyed.shared.give(changes)

    def are_all_blocked(self) -> bool:
        is_busy = self._is_starting or self._in_progress or any(map(self._has_work, self._copy.servers.values()))
        is_any = bool(self._web.blocked) or (self.obeyed is not None and self.obeyed.blocks_any())
        return is_any and not is_busy

    def is_closing(self) -> bool:
        return self._is_closing

    def acted(self, mark: str) -> None:
        if self.obeyed is not None:
            self.obeyed.shared.announced(mark)

    def share_limits(self, own: Spent, total: Spent, workers: int) -> None:
        """No limits."""

    def report(self, counts: Mapping[str, float]) -> None:
        pass

    def stats(self) -> Mapping[str, float]:
        return {}

    def is_hungry(self) -> bool:
        return sum(len(server.queue) for server in self._copy.servers.values()) < 2 * SESSIONS

    def wake(self) -> None:
        self._event.set()

    def fail(self, reason: str) -> None:
        self.failed = reason
        self._observer.error(f"{self._process.name} failed: {reason}")
        self.close()
