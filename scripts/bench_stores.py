#!/usr/bin/env python3
"""Embedded stores under the frontier's load: us per link and pop, bytes per URL, memory, stalls.

    scripts/bench_stores.py [--urls 100000,1000000] [--servers 10000] [--stores rocksdict,lmdb,sqlite]

Each store is filled with N queued and N seen URLs, then measured: pages of 60 links, 12 of them new (seen key, URL row
and the records of the servers touched in one transaction), then sessions of 10 URLs, leased (read in order) and
acknowledged (deleted).  Committed and synced once a second.  "no cache": all 48 old links are looked up; else only the
10 of them that a URL cache would miss.  Times by the clock / CPU time of all threads.  Each store runs in a process of
its own.  ``lmdb`` is not among the requirements.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import struct
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.storage.rocks import Batch, Rocks

NEW_LINKS, OLD_LINKS, CACHE_MISSES = 12, 48, 10
SESSION = 10
RECORD = 300  # bytes of a server's record
COMMIT_INTERVAL = 1.0
PAGES, SESSIONS = 5000, 3000

Row = tuple[bytes, bytes]


class RocksStore:
    """The project's own tables (``crawlproject.storage.rocks``): changes wait in memory, and are synced at commit."""

    def __init__(self, path: Path) -> None:
        self._rocks = Rocks(path)
        self._fresh: set[bytes] = set()
        self._gone: set[bytes] = set()
        self._batch = Batch(self._rocks)

    def new(self, keys: list[bytes]) -> list[bool]:
        stored = self._rocks.get_many("seen", keys)
        return [value is None and key not in self._fresh for key, value in zip(keys, stored, strict=True)]

    def write(self, rows: list[Row], seen: list[bytes], gone: list[bytes]) -> None:
        for key, value in rows:
            self._batch.put("urls", key, value)
        for key in seen:
            self._batch.put("seen", key, b"")
        for key in gone:
            self._batch.delete("urls", key)
        self._fresh.update(seen)
        self._gone.update(gone)

    def records(self, rows: list[Row]) -> None:
        for key, value in rows:
            self._batch.put("servers", key, value)

    def head(self, prefix: bytes, n: int) -> list[Row]:
        rows = self._rocks.rows("urls", prefix, prefix + b"\xff" * 18)
        return list(islice((row for row in rows if row[0] not in self._gone), n))

    def commit(self) -> None:
        self._rocks.write(self._batch)
        self._batch = Batch(self._rocks)
        self._fresh.clear()
        self._gone.clear()

    def close(self) -> None:
        self._rocks.flush()
        self._rocks.close()


class LmdbStore:
    """One write transaction from commit to commit, synced at commit."""

    def __init__(self, path: Path) -> None:
        import lmdb

        self._env = lmdb.open(str(path), map_size=64 << 30, max_dbs=3, sync=False, metasync=False)
        self._dbs = [self._env.open_db(name) for name in (b"urls", b"seen", b"servers")]
        self._txn = self._env.begin(write=True)

    def new(self, keys: list[bytes]) -> list[bool]:
        get, seen = self._txn.get, self._dbs[1]
        return [get(key, db=seen) is None for key in keys]

    def write(self, rows: list[Row], seen: list[bytes], gone: list[bytes]) -> None:
        put = self._txn.put
        for key, value in rows:
            put(key, value, db=self._dbs[0])
        for key in seen:
            put(key, b"", db=self._dbs[1])
        for key in gone:
            self._txn.delete(key, db=self._dbs[0])

    def records(self, rows: list[Row]) -> None:
        for key, value in rows:
            self._txn.put(key, value, db=self._dbs[2])

    def head(self, prefix: bytes, n: int) -> list[Row]:
        rows: list[Row] = []
        with self._txn.cursor(self._dbs[0]) as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if len(rows) == n or not key.startswith(prefix):
                        break
                    rows.append((key, value))
        return rows

    def commit(self) -> None:
        self._txn.commit()
        self._env.sync(True)
        self._txn = self._env.begin(write=True)

    def close(self) -> None:
        self._txn.commit()
        self._env.sync(True)
        self._env.close()


class SqliteStore:
    """Tables without row ids, WAL, synchronous=NORMAL (a checkpoint syncs)."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        self._db = sqlite3.connect(path / "store.sqlite", isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-131072"):
            self._db.execute(f"PRAGMA {pragma}")
        for table in ("urls", "servers"):
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {table}(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID")
        self._db.execute("CREATE TABLE IF NOT EXISTS seen(k BLOB PRIMARY KEY) WITHOUT ROWID")
        self._db.execute("BEGIN")

    def new(self, keys: list[bytes]) -> list[bool]:
        marks = ",".join("?" * len(keys))
        found = {row[0] for row in self._db.execute(f"SELECT k FROM seen WHERE k IN ({marks})", keys)}
        return [key not in found for key in keys]

    def write(self, rows: list[Row], seen: list[bytes], gone: list[bytes]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO urls VALUES(?,?)", rows)
        self._db.executemany("INSERT OR IGNORE INTO seen VALUES(?)", [(key,) for key in seen])
        self._db.executemany("DELETE FROM urls WHERE k=?", [(key,) for key in gone])

    def records(self, rows: list[Row]) -> None:
        self._db.executemany("INSERT OR REPLACE INTO servers VALUES(?,?)", rows)

    def head(self, prefix: bytes, n: int) -> list[Row]:
        query = "SELECT k,v FROM urls WHERE k>=? AND k<? ORDER BY k LIMIT ?"
        return self._db.execute(query, (prefix, prefix + b"\xff" * 18, n)).fetchall()

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def close(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()


STORES: dict[str, Any] = {"rocksdict": RocksStore, "lmdb": LmdbStore, "sqlite": SqliteStore}


class Load:
    """The crawl that the store serves: numbered URLs, each server's in a queue by quality."""

    def __init__(self, store: Any, servers: int) -> None:
        self._store = store
        self._servers = servers
        self._chance = random.Random(1)
        self.serial = 0
        self._touched: set[int] = set()
        self._committed = time.perf_counter()
        self.stall = 0.0

    def page(self, old_links: int) -> None:
        """One page: seen-set, rows of its new links."""
        start = time.perf_counter()
        chance = self._chance
        keys = [_seen_key(chance.randrange(self.serial)) for _ in range(old_links)] if self.serial else []
        fresh = range(self.serial, self.serial + NEW_LINKS)
        self.serial += NEW_LINKS
        new_keys = [_seen_key(serial) for serial in fresh]
        assert sum(self._store.new(keys + new_keys)) == NEW_LINKS
        home = chance.randrange(self._servers)
        rows = []
        for serial in fresh:
            server = home if chance.random() < 0.75 else chance.randrange(self._servers)
            self._touched.add(server)
            key = struct.pack(">IdIIB", server, chance.random(), 1 << 31, serial >> 8, serial & 255)
            rows.append((key, b"\x03/dir/section-%d/page-%d.html" % (serial % 17, serial)))
        self._store.write(rows, new_keys, [])
        self._tick(start)

    def session(self) -> int:
        """Lease and acknowledge the best URLs of one server; returns how many."""
        start = time.perf_counter()
        server = self._chance.randrange(self._servers)
        rows = self._store.head(struct.pack(">I", server), SESSION)
        for key, _ in rows:
            self._store.write([], [], [key])
        self._touched.add(server)
        self._tick(start)
        return len(rows)

    def commit(self) -> None:
        """Write the servers touched, and sync."""
        record = os.urandom(RECORD // 4) * 4
        self._store.records([(struct.pack(">I", server), record) for server in self._touched])
        self._touched.clear()
        self._store.commit()
        self._committed = time.perf_counter()

    def _tick(self, start: float) -> None:
        if start - self._committed > COMMIT_INTERVAL:
            self.commit()
        self.stall = max(self.stall, time.perf_counter() - start)


def _seen_key(serial: int) -> bytes:
    return struct.pack(">I", serial % 99_991 * 2_654_435_761 % 2**32) + blake2b(b"%d" % serial, digest_size=8).digest()


def memory(kind: str) -> int:
    """Bytes of this process's resident memory of this kind (RssAnon, RssFile)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(kind))


class Clock:
    """Microseconds per event since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def per(self, events: int) -> str:
        """By the clock / CPU time of all threads."""
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        return f"{1e6 * wall / events:.1f}/{1e6 * cpu / events:.1f}"


def measure(name: str, size: int, servers: int, folder: Path) -> dict[str, Any]:
    """Fill one store to ``size`` and measure it."""
    store = STORES[name](folder / name)
    load = Load(store, servers)
    clock = Clock()
    while load.serial < size:
        load.page(0)
    load.commit()
    result: dict[str, Any] = {"urls": size, "us/fill": clock.per(size)}
    for label, old in (("us/link", CACHE_MISSES), ("us/link no cache", OLD_LINKS)):
        clock = Clock()
        for _ in range(PAGES):
            load.page(old)
        load.commit()
        result[label] = clock.per(PAGES * (NEW_LINKS + OLD_LINKS))
    clock = Clock()
    pops = sum(load.session() for _ in range(SESSIONS))
    load.commit()
    result |= {"us/pop": clock.per(pops), "stall s": f"{load.stall:.2f}"}
    result |= {"RSS MB": f"{memory('RssAnon') / 1e6:.0f}", "mapped MB": f"{memory('RssFile') / 1e6:.0f}"}
    store.close()
    on_disk = sum(path.stat().st_blocks * 512 for path in (folder / name).rglob("*") if path.is_file())
    result["bytes/URL"] = f"{on_disk / (load.serial - pops):.0f}"
    return result


def main() -> None:
    """Print a line per store and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", default="100000")
    parser.add_argument("--servers", type=int, default=10_000)
    parser.add_argument("--stores", default="rocksdict,sqlite")
    parser.add_argument("--folder", type=Path, help="where the stores are made (and removed); default: a temporary one")
    args = parser.parse_args()
    for size in map(int, args.urls.split(",")):
        for name in args.stores.split(","):
            with (
                tempfile.TemporaryDirectory(dir=args.folder) as folder,
                ProcessPoolExecutor(1, get_context("spawn")) as process,
            ):
                figures = process.submit(measure, name, size, args.servers, Path(folder)).result()
            print(f"{name:10}", *(f"{key} {value} |" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
