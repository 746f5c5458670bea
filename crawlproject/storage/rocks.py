"""RocksDB for the store: eight tables, atomic batches, StoreError for all errors. Reasons: docs/research/stores.md.

Keys and values are bytes (rocksdict's raw mode: nothing is pickled).  rocksdict is imported when a store is opened: a
crawl in memory does not need it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from struct import Struct
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rocksdict import Cache, Options, ReadOptions

logger = logging.getLogger(__name__)

#: Tables, and whether each is read by single keys only (then bloom filters and fast decompression pay off).
TABLES = {
    "urls": False,
    "places": True,
    "seen": True,
    "servers": False,
    "lengths": False,
    "state": False,
    "fetched": False,
    "ended": True,
}

#: Tables that are not copied to other processes: rows that follow from others.
DERIVED = frozenset({"places"})

MEMORY = 1 << 20
BLOCK_CACHE = 192 * MEMORY
#: Bytes read and decompressed for one row: in tables read by single keys, and in the others.
POINT_BLOCK, BLOCK = 4096, 8192
#: Block size of filters and indexes (bytes): with larger blocks there are fewer to choose from (with 10 million keys a
#: look-up takes 8 µs instead of 12 with RocksDB's default, 4 kB).
METADATA_BLOCK = 65_536
#: Rows per entry of the hash index in a block of a table read by single keys.
HASH_LOAD = 0.75
#: Bytes of each table in memory before they are written to disk.
WRITE_BUFFER = 16 * MEMORY
WAL_SIZE = 64 * MEMORY

#: The number of a server in keys.
number_key = Struct(">I").pack

#: Above the last number: it sorts after every key.
_AFTER_ALL = b"\xff" * 64

#: Table -> key -> new value, None if the row was removed. A later change of a row replaces an earlier one.
Changes = dict[str, dict[bytes, "bytes | None"]]


class Batch:
    """Changes of several tables, written atomically; ``changes`` gets them as well, but for ``DERIVED``."""

    def __init__(self, rocks: Rocks, changes: Changes | None = None) -> None:
        from rocksdict import WriteBatch

        self._handles = rocks.handles
        self._copy = changes
        self.raw = WriteBatch(raw_mode=True)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        self.change(table, {key: value})

    def change(self, table: str, changes: Mapping[bytes, bytes | None], prefix: bytes = b"") -> None:
        """Set keys, each prefixed with ``prefix``; remove those whose value is None. O(size)."""
        put, delete, handle = self.raw.put, self.raw.delete, self._handles[table]
        for key, value in changes.items():
            if value is None:
                delete(prefix + key, handle)
            else:
                put(prefix + key, value, handle)
        if changes and self._copy is not None and table not in DERIVED:
            self._copy.setdefault(table, {}).update((prefix + key, value) for key, value in changes.items())

    def delete_range(self, table: str, start: bytes, end: bytes) -> None:
        """Remove the keys from ``start`` (inclusive) to ``end`` (exclusive). O(1)."""
        self.raw.delete_range(start, end, self._handles[table])

    def __len__(self) -> int:
        return self.raw.len()


class Rocks:
    """An open database; every method raises StoreError if the disk or the database fails.

    ``read_only``: the state at opening; another process may be writing to the database.  ``durable``: whether a write
    survives a crash; otherwise it is neither logged nor synced.
    """

    def __init__(self, path: Path, *, read_only: bool = False, durable: bool = True) -> None:
        from rocksdict import AccessType, Cache, Rdict

        self._path = path
        self._durable = durable
        #: The first error: after a failure the database must not be written to until it is reopened.
        self.failure: StoreError | None = None
        cache = Cache.new_hyper_clock_cache(BLOCK_CACHE, POINT_BLOCK)  # CLOCK: unlike LRU's, a hit moves nothing
        tables = {name: _table_options(cache, points=points) for name, points in TABLES.items()}
        access = AccessType.read_only() if read_only else AccessType.read_write()
        with self._errors("cannot be opened"):
            self._db = Rdict(str(path), _options(), tables, access)
            self._tables = {name: self._db.get_column_family(name) for name in tables}
            self.handles = {name: self._db.get_column_family_handle(name) for name in tables}

    def get(self, table: str, key: bytes) -> bytes | None:
        """The value of ``key``. A few microseconds, or one disk read."""
        try:  # not `_errors`, for speed
            value: bytes | None = self._tables[table].get(key)
        except Exception as error:
            raise StoreError(self._path, f"cannot be read: {error}") from error
        return value

    def get_many(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._errors("cannot be read"):
            values: Any = self._tables[table].get(list(keys))
        return list(values)

    def rows(self, table: str, start: bytes = b"", end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in key order from ``start`` (inclusive) to ``end`` (exclusive); none if there is no table.

        As they are now, whatever is written while they are read.
        """
        from rocksdict import ReadOptions

        if table not in self._tables:
            return iter(())
        options = ReadOptions()
        if end is not None:
            options.set_iterate_upper_bound(end)
        try:  # not `_errors`, for speed
            rows = self._tables[table].items(from_key=start, read_opt=options)
        except Exception as error:
            raise self._failed("cannot be read", error) from error
        return self._checked(rows, options)

    def write(self, batch: Batch) -> None:
        """Write ``batch`` atomically, and durably with one fsync unless the database is not durable."""
        from rocksdict import WriteOptions

        options: Any = WriteOptions()  # its stub is wrong about ``disable_wal``
        options.sync = self._durable
        options.disable_wal = not self._durable
        with self._errors("cannot be written"):
            self._db.write(batch.raw, options)

    def flush(self) -> None:
        """Move the contents of the log into the tables, compressed."""
        with self._errors("cannot be written"):
            for table in self._tables.values():
                table.flush()

    def close(self) -> None:
        """Release the database; without a call nothing is lost. Never raises: a first failure (disk full) is logged."""
        self.handles.clear()
        known = self.failure
        for table in (*self._tables.values(), self._db):
            with suppress(StoreError), self._errors("cannot be closed"):
                table.close()
        self._tables.clear()
        if self.failure is not known:
            logger.error("%s; what was committed is safe", self.failure)

    def _checked(self, rows: Any, options: ReadOptions) -> Iterator[tuple[bytes, bytes]]:
        """``rows``; keeps ``options`` alive, because the iterator only borrows the bound in them."""
        with self._errors("cannot be read"):
            yield from rows
        del options

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except (GeneratorExit, StoreError):
            raise
        except Exception as error:  # rocksdict raises nothing more specific
            raise self._failed(what, error) from error

    def _failed(self, what: str, error: Exception) -> StoreError:
        failure = StoreError(self._path, f"{what}: {error}")
        self.failure = self.failure or failure
        return failure


def number_range(first: int, end: int) -> tuple[bytes, bytes]:
    """The keys of the servers ``first`` to ``end`` - 1 in a table: (first key, key after the last).

    Numbers have 32 bits.  Raises ValueError unless 0 <= first <= end <= 2**32.
    """
    if not 0 <= first <= end <= 1 << 32:
        raise ValueError(f"first={first}, end={end}: not a range of server numbers")
    ends = [number_key(number) if number < 1 << 32 else _AFTER_ALL for number in (first, end)]
    return ends[0], ends[1]


def row_key(server: int, path: str) -> bytes:
    """The key of a URL by its path (``frontier.entry.path_of``)."""
    return number_key(server) + path.encode("utf-8", "surrogatepass")


def _options() -> Options:
    from rocksdict import DBRecoveryMode, Options

    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_background_jobs(2)
    options.set_max_total_wal_size(WAL_SIZE)
    # A power cut may leave an incomplete record at the end of the log; any other damage is reported, not dropped.
    options.set_wal_recovery_mode(DBRecoveryMode.tolerate_corrupted_tail_records())
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(MEMORY)
    options.set_max_open_files(512)
    options.set_allow_concurrent_memtable_write(False)  # one thread writes
    return options


def _table_options(cache: Cache, *, points: bool) -> Options:
    from rocksdict import BlockBasedIndexType, BlockBasedOptions, DataBlockIndexType, DBCompressionType, Options

    options = Options(raw_mode=True)
    options.set_write_buffer_size(WRITE_BUFFER)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_bottommost_compression_type(DBCompressionType.lz4() if points else DBCompressionType.zstd())
    options.set_memtable_whole_key_filtering(points)
    options.set_memtable_prefix_bloom_ratio(0.02 if points else 0.0)
    options.set_level_compaction_dynamic_level_bytes(True)
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_cache_index_and_filter_blocks(True)
    # Partitioned: a filter of some MB would not fit into its part of the cache, and would be read for each key.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_metadata_block_size(METADATA_BLOCK)
    table.set_pin_top_level_index_and_filter(True)
    table.set_format_version(5)
    table.set_block_size(POINT_BLOCK if points else BLOCK)
    if points:
        table.set_bloom_filter(10, False)
        table.set_data_block_index_type(DataBlockIndexType.binary_and_hash())
        table.set_data_block_hash_ratio(HASH_LOAD)
    options.set_block_based_table_factory(table)
    return options
