"""The worker's own copy of its partitions: a frontier over a scratch store.

Redis holds the truth.  The copy is made when a partition is taken, written first with every change, and thrown away
with the partition, or with the process.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.entry import Entry, url_of
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES, decode_row, decode_sort_key
from crawlproject.frontier.snapshot import frontier_state, restore_frontier
from crawlproject.storage.changes import Changes
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server
    from crawlproject.storage.directory import StoreLabel
    from crawlproject.workers.blobs import Tables
    from crawlproject.workers.partitions import Partitions

#: Bytes of a server number at the start of a key.
NUMBER = 4
#: Tables with one range of keys for each partition; "places" follows from "urls".
TABLES = ("urls", "servers", "lengths", "seen")
#: A key after all others of a table.
_LAST = b"\xff" * 16


class LocalCopy:
    """Frontier, store and seen-set of the owned partitions. ``clock``: the frontier's, seconds."""

    def __init__(
        self,
        frontier: Frontier,
        partitions: Partitions,
        path: Path,
        label: StoreLabel,
        *,
        indexed: bool,
        clock: Callable[[], float],
    ) -> None:
        self.frontier = frontier
        self._partitions = partitions
        self._store = DiskStore.scratch(path, label)
        self._by_quality = label.order == "quality"
        self._next: dict[int, int] = {}  # partition -> next server number
        self.servers = DiskFrontierStore(self._store, 0.0, indexed=indexed, number_of=self._number_of)
        self.seen = DiskSeenStore(self._store)
        self._rows: dict[int, int] = defaultdict(int)  # partition -> rows stored
        self._clock = clock
        frontier.keep_in(self.servers, clock())

    def follow_clock(self, redis_time: float) -> None:
        """Store times on Redis's clock, which shows ``redis_time`` now."""
        self.servers.clock_offset = redis_time - self._clock()

    def on_frontier_clock(self, redis_time: float) -> float:
        """A time of Redis's clock on the frontier's."""
        return redis_time - self.servers.clock_offset

    def partition_of_url(self, url: str) -> int:
        """The partition of a URL's server."""
        return self._partitions.of_url(url)

    def key_of(self, number: int) -> str | None:
        """The key of a server by its number."""
        server = self.servers.server(number)
        return None if server is None else server.key

    def arrivals(self) -> dict[str, int]:
        """Highest and lowest arrival number so far, for the next owner of a partition."""
        first, last = self.frontier.arrivals
        return {"arrivals": first, "returns": last}

    def raise_arrivals(self, stored: Mapping[str, Any]) -> None:
        """Number URLs after those of a partition with the ``arrivals`` ``stored``."""
        if stored:
            self.frontier.raise_arrivals(int(stored["arrivals"]), int(stored["returns"]))

    def state(self) -> bytes:
        """What was learned from all servers."""
        return json.dumps(frontier_state(self.frontier), separators=(",", ":")).encode("ascii")

    def learn(self, state: bytes) -> None:
        """Begin with what other workers learned. Raises ValueError for anything but the result of ``state``."""
        values = json.loads(state)
        restore_frontier(self.frontier, {name: values[name] for name in ("version", "learned") if name in values})

    def rows(self, partition: int) -> int:
        """URLs of ``partition`` stored, as of the last ``commit``."""
        return self._rows[partition]

    def server_count(self, partition: int) -> int:
        """Servers of ``partition``."""
        return self._next.get(partition, 0) - self._partitions.first_number(partition) if partition in self._next else 0

    # changes

    def commit(self) -> dict[int, Tables]:
        """Write all changes to the scratch store; returns them by partition. O(changes)."""
        changes = Changes()
        resized = self.servers.rows.resized()
        self._store.commit(changes)
        for number, more in resized.items():
            self._rows[self._partitions.of_number(number)] += more
        return self._by_partition(changes.tables)

    def _by_partition(self, tables: Mapping[str, Mapping[bytes, bytes | None]]) -> dict[int, Tables]:
        found: dict[int, Tables] = {}
        partition_of = self._partitions.of_number
        for table in TABLES:
            for key, value in tables.get(table, {}).items():
                partition = partition_of(int.from_bytes(key[:NUMBER], "big"))
                found.setdefault(partition, {}).setdefault(table, {})[key] = value
        return found

    def sessions(self) -> dict[int, list[int]]:
        """Partition -> numbers of its servers in session. O(sessions)."""
        found: dict[int, list[int]] = {}
        for number in self.servers.in_session():
            found.setdefault(self._partitions.of_number(number), []).append(number)
        return found

    # a partition comes and goes

    def write(self, tables: Mapping[str, Iterable[tuple[bytes, bytes | None]]]) -> None:
        """Write rows of a partition that is being loaded. O(rows)."""
        self._store.load(tables)

    def restore(self, partition: int) -> Iterator[None]:
        """Put the servers written by ``write`` into the frontier, in steps of 100 servers at most."""
        first, end = self._partitions.first_number(partition), self._partitions.end_number(partition)
        self._next[partition] = first
        yield from self.servers.load_range(first, end)
        numbers = [int.from_bytes(key, "big") for key, _ in self._store.scan("servers", *_range(first, end))]
        self._next[partition] = max(numbers, default=first - 1) + 1
        self._rows[partition] = sum(
            int.from_bytes(value, "big") for _, value in self._store.scan("lengths", *_range(first, end))
        )

    def unload(self, partition: int) -> Iterator[None]:
        """Drop a partition whose servers have no session, in steps of 100 servers at most."""
        first, end = self._partitions.first_number(partition), self._partitions.end_number(partition)
        yield from self.servers.unload_range(first, end)
        self.seen.drop(self._partitions.first_seen(partition), self._partitions.end_seen(partition))
        self._next.pop(partition, None)
        self._rows.pop(partition, None)

    def servers_of(self, partition: int) -> Iterator[Server]:
        """The servers of ``partition``. O(servers)."""
        first = self._partitions.first_number(partition)
        for number in range(first, self._next.get(partition, first)):
            server = self.servers.server(number)
            if server is not None:
                yield server

    def scan(self, partition: int) -> Iterator[tuple[str, bytes, bytes]]:
        """Table, key and value of all rows of ``partition``, as of the last ``commit``."""
        first, end = self._partitions.first_number(partition), self._partitions.end_number(partition)
        for table in TABLES:
            for key, value in self._store.scan(table, *_range(first, end)):
                yield table, key, value

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
        """Throw the copy away."""
        self._store.close()

    def _number_of(self, key: str) -> int:
        partition = self._partitions.of(key)
        number = self._next.setdefault(partition, self._partitions.first_number(partition))
        if number >= self._partitions.end_number(partition):
            raise ValueError(f"partition {partition} has no room for more servers")
        self._next[partition] = number + 1
        return number


def merged(older: Tables | None, newer: Tables | None) -> Tables:
    """Two successive changes of a partition as one."""
    found: dict[str, dict[bytes, bytes | None]] = {}
    for tables in (older or {}, newer or {}):
        for table, rows in tables.items():
            found.setdefault(table, {}).update(rows)
    return found


def _range(first: int, end: int) -> tuple[bytes, bytes]:
    """The first key of a range of numbers, and the key after it."""
    return first.to_bytes(NUMBER, "big"), (_LAST if end >> 32 else end.to_bytes(NUMBER, "big"))
