"""The worker's own copy of its partitions: a frontier over a scratch store.

Redis holds the authoritative state.  The copy is made when a partition is taken, gets every change first, and is
deleted with the partition or the process.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.entry import Entry, url_of
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES, decode_row, decode_sort_key
from crawlproject.frontier.snapshot import frontier_state, restore_frontier
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.rocks import Changes, number_range
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.urls.fates import Fates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.seen.seen_set import SeenUrls
    from crawlproject.storage.directory import StoreLabel
    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.partitions import Partitions

    Rows = Mapping[str, Iterable[tuple[bytes, bytes | None]]]


#: Bytes of a server number at the start of a key.
NUMBER = 4
#: Seconds by which a time in whole milliseconds may be too early.
MILLISECOND = 0.001
#: Tables with one range of keys for each partition; "places" follows from "urls".
TABLES = ("urls", "servers", "lengths", "seen", "ended")


class LocalCopy:
    """Frontier, store and seen-set of the owned partitions. ``clock``: the frontier's, seconds.

    ``fates``: takes the examples that other workers have.  ``longest_rest``: how long a server rests until connections
    of a former owner are closed, at most.
    """

    def __init__(  # noqa: PLR0913
        self,
        frontier: Frontier,
        partitions: Partitions,
        path: Path,
        label: StoreLabel,
        clock: Callable[[], float],
        *,
        indexed: bool,
        longest_rest: float = 0.0,
        fates: Fates | None = None,
    ) -> None:
        self.frontier = frontier
        self._partitions = partitions
        self._store = DiskStore.scratch(path, label)
        self._fates = fates or Fates()
        self._by_quality = label.order == "quality"
        self._clock = clock
        self._next: dict[int, int] = {}  # partition -> next server number
        self._ends: dict[int, int] = {}  # the same of a partition that is being restored
        self._rows: dict[int, int] = {}  # partition -> rows stored
        self._strangers: dict[int, set[str]] = {}  # partition of another worker -> servers seen nevertheless
        self.servers = DiskFrontierStore(self._store, 0.0, indexed=indexed, number_of=self._number_of)
        self.servers.load(frontier, clock(), longest_rest)
        #: Keys of all own partitions.
        self.seen = DiskSeenStore(self._store)
        #: The seen-set in front of it.
        self.seen_set: SeenUrls | None = None

    def follow_clock(self, redis_time: float, age: float) -> None:
        """Store times on Redis's clock, which showed ``redis_time`` (whole ms) at most ``age`` seconds ago."""
        self.servers.follow_clock(redis_time - self._clock(), age + MILLISECOND)

    def clock_set(self, seconds: float) -> None:
        """Redis's clock was set forward, or back if negative: store the rests of servers by it. O(servers)."""
        self.servers.clock_set(seconds)

    def on_frontier_clock(self, redis_time: float) -> float:
        """A time of Redis's clock on the frontier's: never earlier, and later by at most the time of Redis's answer."""
        return redis_time - self.servers.clock_offset

    def partition_of_url(self, url: str) -> int:
        return self._partitions.of_url(url)

    def partitions_of(self, urls: Iterable[str]) -> set[int]:
        """The partitions of the servers of ``urls``; URLs without one have none."""
        found = set()
        for url in urls:
            with suppress(ValueError):
                found.add(self._partitions.of_url(url))
        return found

    def number(self, key: str) -> int | None:
        return self.servers.number(key)

    def arrivals(self) -> dict[str, int]:
        """Highest and lowest arrival number so far, for the next owner of a partition."""
        first, last = self.frontier.arrivals
        return {"arrivals": first, "returns": last}

    def state(self) -> bytes:
        """The state learned from all servers, and examples of what became of URLs."""
        examples = {"examples": self._fates.to_state()["examples"]}
        state = {**frontier_state(self.frontier), "fates": examples}
        return json.dumps(state, separators=(",", ":")).encode("ascii")

    def learn(self, state: bytes) -> None:
        """Begin with what other workers learned. Raises ValueError for anything but the result of ``state``."""
        values = json.loads(state)
        if isinstance(values, dict) and isinstance(fates := values.get("fates"), dict):
            self._fates.restore({"examples": fates.get("examples")})
        restore_frontier(self.frontier, {name: values[name] for name in ("version", "learned") if name in values})

    def rows(self, partition: int) -> int:
        """URLs of ``partition`` stored, as of the last ``commit``."""
        return self._rows.get(partition, 0)

    def server_count(self, partition: int) -> int:
        first = self._partitions.first_number(partition)
        return self._next.get(partition, self._ends.get(partition, first)) - first

    # changes

    def commit(self) -> dict[int, Tables]:
        """Write all changes to the scratch store; returns them by partition. O(changes). Raises StoreError."""
        changes: Changes = {}
        resized = self.servers.rows.resized()
        self._store.commit(changes)
        for number, more in resized.items():
            partition = self._partitions.of_number(number)
            if partition in self._rows:
                self._rows[partition] += more
        return self._by_partition(changes)

    def _by_partition(self, tables: Mapping[str, Mapping[bytes, bytes | None]]) -> dict[int, Tables]:
        found: dict[int, Tables] = {}
        partition_of = self._partitions.of_number
        for table in TABLES:
            of_server: dict[bytes, dict[bytes, bytes | None]] = {}  # its partition's changes of this table
            for key, value in tables.get(table, {}).items():
                changes = of_server.get(server := key[:NUMBER])
                if changes is None:
                    partition = partition_of(int.from_bytes(server, "big"))
                    changes = of_server[server] = found.setdefault(partition, {}).setdefault(table, {})
                changes[key] = value
        return found

    def numbers(self, keys: Iterable[str]) -> dict[int, list[int]]:
        """Partition -> numbers of those of the servers ``keys`` that belong to it, in order."""
        found: dict[int, list[int]] = {}
        servers = (server for key in keys if (server := self.frontier.server(key)) is not None)
        for number in self.servers.numbers(servers):
            found.setdefault(self._partitions.of_number(number), []).append(number)
        return found

    # a partition comes and goes

    def write(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None:
        """Write rows of a partition that is being loaded. O(rows). Raises StoreError."""
        for table, rows in tables.items():
            if table == "seen":
                found = list(rows)
                self.seen.load(found)
                if self.seen_set is not None:
                    self.seen_set.loaded([int.from_bytes(key, "big") for key, _ in found])
            elif table in TABLES:
                self._store.load({table: rows})

    def restore(self, partition: int, extra: Mapping[str, Any]) -> Iterator[list[str]]:
        """Put the servers written by ``write`` into the frontier; yields the keys of those of each step, 100 at most.

        ``extra``: what the last commit of the partition says.  ``rows`` and ``server_count`` are right from the call
        on.  Raises StoreError or ValueError for damaged data.
        """
        if extra:
            self.frontier.raise_arrivals(int(extra["arrivals"]), int(extra["returns"]))
        first, end = self._partitions.first_number(partition), self._partitions.first_number(partition + 1)
        last, rows = first - 1, 0
        for key, value in self._store.scan("lengths", *number_range(first, end)):
            last, rows = int.from_bytes(key, "big"), rows + int.from_bytes(value, "big")
        for key, _ in self._store.scan("servers", *number_range(first, end)):
            last = max(last, int.from_bytes(key, "big"))
        self._rows[partition] = rows
        self._ends[partition] = last + 1
        return self._restore(partition, first, end)

    def _restore(self, partition: int, first: int, end: int) -> Iterator[list[str]]:
        for servers in self.servers.load_range(first, end, self._clock()):
            yield [server.key for server in servers]
        for name in self._strangers.pop(partition, ()):
            server = self.frontier.server(name)
            if server is not None and self.servers.number(name) is None and server.session is None:
                self.frontier.remove(name)
        self._next[partition] = self._ends.pop(partition)

    def close_partition(self, partition: int) -> None:
        """Number no further server of ``partition``; call ``unload`` then."""
        self._next.pop(partition, None)
        self._ends.pop(partition, None)
        self._rows.pop(partition, None)

    def unload(self, partition: int) -> Iterator[None]:
        """Drop a partition whose servers are held and have no session, in steps of some milliseconds."""
        first, end = self._partitions.first_number(partition), self._partitions.first_number(partition + 1)
        yield from self.servers.unload_range(first, end)
        yield from self.seen.drop(self._partitions.first_seen(partition), self._partitions.first_seen(partition + 1))
        if self.seen_set is not None:
            self.seen_set.dropped()

    def keys_of(self, partition: int) -> list[str]:
        """Keys of the servers of ``partition``. O(servers)."""
        first, end = self._partitions.first_number(partition), self._partitions.first_number(partition + 1)
        return [server.key for server in self.servers.servers_in(first, end)]

    def scan(self, partition: int) -> Iterator[tuple[str, bytes, bytes]]:
        """Table, key and value of all rows of ``partition``, as they are committed when this is called."""
        first, end = self._partitions.first_number(partition), self._partitions.first_number(partition + 1)
        scans = {table: self._store.scan(table, *number_range(first, end)) for table in TABLES}
        return ((table, key, value) for table, rows in scans.items() for key, value in rows)

    def entries(self, tables: Tables) -> Iterator[Entry]:
        """The URLs that ``tables``, changes of a partition, add to it."""
        for key, row in tables.get("urls", {}).items():
            server = self.servers.server(int.from_bytes(key[:NUMBER], "big"))
            if row is not None and server is not None:
                quality, priority, _ = decode_sort_key(
                    key[NUMBER : NUMBER + SORT_KEY_BYTES], by_quality=self._by_quality
                )
                path, depth, payload = decode_row(row)
                yield Entry(url_of(path, server.key), quality, priority, depth, payload)

    def close(self) -> None:
        self._store.close()

    def _number_of(self, key: str) -> int | None:
        partition = self._partitions.of(key)
        number = self._next.get(partition)
        if number is None:
            self._strangers.setdefault(partition, set()).add(key)
        elif number < self._partitions.first_number(partition + 1):
            self._next[partition] = number + 1
        else:
            raise ValueError(f"partition {partition} has no room for more servers")
        return number
