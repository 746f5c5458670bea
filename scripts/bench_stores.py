#!/usr/bin/env python3
"""Embedded stores under the frontier's load: links/s, pops/s, bytes per URL, memory, stalls, time to open.

    scripts/bench_stores.py [--urls 100000,1000000] [--servers 10000] [--stores rocksdict,lmdb,sqlite]

Each store is filled with N queued and N seen URLs, then measured: pages of 60 links, 12 of them new (seen key, URL row
and the records of the servers touched in one transaction), then sessions of 10 URLs, leased (read in order) and
acknowledged (deleted).  Committed and synced once a second.  "no cache": all 48 old links are looked up; else only the
10 of them that a URL cache would miss.  Each store runs in a process of its own; run it on an idle machine.
``lmdb`` is not among the requirements.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

NEW_LINKS, OLD_LINKS, CACHE_MISSES = 12, 48, 10
SESSION = 10
RECORD = 300  # bytes of a server's record
COMMIT_INTERVAL = 1.0

Row = tuple[bytes, bytes]


class RocksStore:
    """Column families with LZ4 above and ZSTD below; WAL written with each page, synced at commit."""

    def __init__(self, path: Path) -> None:
        import rocksdict as r

        def options(*, points: bool) -> r.Options:
            o = r.Options(raw_mode=True)
            o.set_write_buffer_size(32 << 20)
            o.set_compression_type(r.DBCompressionType.lz4())
            o.set_bottommost_compression_type(r.DBCompressionType.zstd())
            o.set_level_compaction_dynamic_level_bytes(True)
            table = r.BlockBasedOptions()
            table.set_block_cache(cache)
            table.set_cache_index_and_filter_blocks(True)
            table.set_index_type(r.BlockBasedIndexType.two_level_index_search())
            table.set_partition_filters(True)
            table.set_pin_top_level_index_and_filter(True)
            table.set_format_version(5)
            if points:
                table.set_bloom_filter(10, False)
            table.set_block_size(4 << 10 if points else 16 << 10)
            o.set_block_based_table_factory(table)
            return o

        cache = r.Cache(128 << 20)
        top = r.Options(raw_mode=True)
        top.create_if_missing(True)
        top.create_missing_column_families(True)
        top.set_max_background_jobs(2)
        families = {"urls": options(points=False), "seen": options(points=True), "servers": options(points=False)}
        self._r = r
        self._db = r.Rdict(str(path), top, families)
        self._urls, self._seen_db, self._servers = map(self._db.get_column_family, ("urls", "seen", "servers"))
        self._handles = [self._db.get_column_family_handle(n) for n in ("urls", "seen", "servers")]

    def new(self, keys: list[bytes]) -> list[bool]:
        return [value is None for value in self._seen_db.get(keys)]

    def write(self, rows: list[Row], seen: list[bytes], gone: list[bytes]) -> None:
        batch = self._r.WriteBatch(raw_mode=True)
        urls, seen_handle, _ = self._handles
        for key, value in rows:
            batch.put(key, value, urls)
        for key in seen:
            batch.put(key, b"", seen_handle)
        for key in gone:
            batch.delete(key, urls)
        self._db.write(batch)

    def records(self, rows: list[Row]) -> None:
        batch = self._r.WriteBatch(raw_mode=True)
        for key, value in rows:
            batch.put(key, value, self._handles[2])
        self._db.write(batch)

    def head(self, prefix: bytes, n: int) -> list[Row]:
        rows = []
        for row in self._urls.items(from_key=prefix):
            if len(rows) == n or not row[0].startswith(prefix):
                break
            rows.append(row)
        return rows

    def all_records(self) -> int:
        return sum(1 for _ in self._servers.items())

    def commit(self) -> None:
        self._db.flush_wal(True)

    def close(self) -> None:
        for family in (self._urls, self._seen_db, self._servers):
            family.flush()
            family.close()
        self._handles.clear()  # they keep the database open
        self._db.close()


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

    def all_records(self) -> int:
        with self._txn.cursor(self._dbs[2]) as cursor:
            return sum(1 for _ in cursor)

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

    def all_records(self) -> int:
        return len(self._db.execute("SELECT k,v FROM servers").fetchall())

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
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(kind):
            return int(line.split()[1]) * 1024
    return 0


def measure(name: str, size: int, servers: int, folder: Path) -> dict[str, float]:
    """Fill one store to ``size`` and measure it."""
    store = STORES[name](folder / name)
    load = Load(store, servers)
    start = time.perf_counter()
    while load.serial < size:
        load.page(0)
    load.commit()
    filled = time.perf_counter() - start
    result = {"urls": size, "fill/s": size / filled}
    pages = 5000
    for label, old in (("links/s", CACHE_MISSES), ("links/s no cache", OLD_LINKS)):
        load.stall = 0.0
        start = time.perf_counter()
        for _ in range(pages):
            load.page(old)
        load.commit()
        result[label] = pages * (NEW_LINKS + OLD_LINKS) / (time.perf_counter() - start)
        result["stall s"] = max(result.get("stall s", 0.0), load.stall)
    start = time.perf_counter()
    pops = sum(load.session() for _ in range(3000))
    load.commit()
    result["pops/s"] = pops / (time.perf_counter() - start)
    result["RSS MB"] = memory("RssAnon") / 1e6
    result["mapped MB"] = memory("RssFile") / 1e6
    store.close()
    files = [path for path in (folder / name).rglob("*") if path.is_file()]
    result["bytes/URL"] = sum(path.stat().st_blocks * 512 for path in files) / (load.serial - pops)
    start = time.perf_counter()
    store = STORES[name](folder / name)
    result["servers"] = store.all_records()
    result["open s"] = time.perf_counter() - start
    store.close()
    return result


def main() -> None:
    """Print a line per store and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", default="100000")
    parser.add_argument("--servers", type=int, default=10_000)
    parser.add_argument("--stores", default="rocksdict,sqlite")
    parser.add_argument("--folder", type=Path, help="where the stores are made (and removed); default: a temporary one")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.one[0], int(args.one[1]), args.servers, args.folder)))
        return
    for size in args.urls.split(","):
        for name in args.stores.split(","):
            folder = Path(tempfile.mkdtemp(dir=args.folder))
            options = ["--servers", str(args.servers), "--folder", str(folder)]
            try:
                run = subprocess.run(
                    [sys.executable, __file__, *options, "--one", name, size], stdout=subprocess.PIPE, check=True
                )
            finally:
                shutil.rmtree(folder)
            figures = json.loads(run.stdout)
            print(f"{name:10}", *(f"{key} {value:.4g} |" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
