"""Formats of what is stored in Redis: journal, snapshot, seen keys and messages, each a *blob*.

A blob is one byte of version, four of checksum, and columns (``columns``).  Small is what counts: values of one kind
stand together, the bytes of equal position of all sort keys too, and what can be compressed is (zstd).  The 64 bits of
a seen key that identify a URL cannot; they are stored as they are, grouped by server.

Rows of table ``urls`` and keys of ``seen`` have columns of their own.  Anything else, in any table, is stored in
general columns, so that no table depends on this module for being stored.

A reader need not trust the data: if they are damaged it raises BlobError, and sizes are bounded (``columns``).
"""

from __future__ import annotations

import struct
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.entry import Entry
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES
from crawlproject.seen.fingerprint import FINGERPRINT_BYTES, KEY_BYTES, SERVER_BYTES
from crawlproject.workers.columns import (
    MAX_BYTES,
    BlobError,
    check_count,
    deltas,
    from_deltas,
    join_texts,
    pack,
    planes,
    read_blob,
    read_numbers,
    rows_of_planes,
    split_lengths,
    split_texts,
    unpack,
    unzipped,
    write_blob,
    write_numbers,
    zipped,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "MAX_BYTES",
    "MAX_URL",
    "BlobError",
    "Tables",
    "decode_journal",
    "decode_message",
    "decode_rows",
    "decode_seen",
    "encode_journal",
    "encode_message",
    "encode_rows",
    "encode_seen",
]

#: Table -> key -> value; None removes the key.
Tables = dict[str, dict[bytes, bytes | None]]
Row = tuple[bytes, bytes]
#: The same for both: a removed key has no value.
OptionalRow = tuple[bytes, bytes | None]

#: Bytes of a URL in a message, at most.
MAX_URL = 65_536

_NUMBER_BYTES = 4
_URL_KEY_BYTES = _NUMBER_BYTES + SORT_KEY_BYTES
#: Depth and length of the payload, if both are short (``sort_key.encode_row``): nearly always the same.
_HEAD_BYTES = 2
_entry = struct.Struct(">diI")  # quality, priority, depth

_JOURNAL, _ROWS, _SEEN, _MESSAGE = range(4)  # kinds of blobs
_server = itemgetter(slice(_NUMBER_BYTES))


def encode_journal(seq: int, tables: Tables) -> bytes:
    """The changes ``tables`` of a partition, the ``seq``-th ones. O(size): 40 µs, and 1.5 µs a row.

    Raises BlobError if they are too large.
    """
    rows, removed, seen, others = _by_format(tables)
    columns = [*_url_columns(rows), *_key_columns(removed)]
    for table, changes in others.items():
        columns += _general_columns(table, changes)
    return write_blob(_JOURNAL, [write_numbers([seq]), *_seen_columns(seen), zipped(pack(columns))])


def decode_journal(blob: bytes) -> tuple[int, Tables]:
    """The inverse of ``encode_journal``; the order of keys may differ. O(size). Raises BlobError."""
    seq, parts, counts, fingerprints, rest = read_blob(_JOURNAL, blob, 5)
    columns = iter(unpack(unzipped(rest)))
    tables: Tables = {}
    _add(tables, "urls", _read_urls(*_take(columns, 5)))
    _add(tables, "urls", ((key, None) for key in _read_keys(*_take(columns, 3))))
    _add(tables, "seen", ((key, b"") for key in _read_seen(parts, counts, fingerprints)))
    for name in columns:
        table, changes = _read_general(name, *_take(columns, 4))
        _add(tables, table, changes)
    (number,) = read_numbers(seq, count=1)
    return number, tables


def encode_rows(table: str, rows: Sequence[Row]) -> bytes:
    """``rows`` of ``table``, best in key order. O(size): 1.3 µs a row. Raises BlobError if they are too large."""
    if table == "urls" and all(_is_url_row(key, row) for key, row in rows):
        columns = [b"", *_url_columns(rows)]
    else:
        columns = _general_columns(table, rows)
    return write_blob(_ROWS, [zipped(pack(columns))])


def decode_rows(blob: bytes) -> tuple[str, list[Row]]:
    """The inverse of ``encode_rows``; the order is kept. O(size). Raises BlobError."""
    (data,) = read_blob(_ROWS, blob, 1)
    columns = iter(unpack(unzipped(data)))
    name = next(columns, b"")
    if not name:
        return "urls", list(_read_urls(*_take(columns, 5)))
    table, rows = _read_general(name, *_take(columns, 4))
    return table, [(key, row) for key, row in rows if row is not None]


def encode_seen(keys: Sequence[bytes]) -> bytes:
    """Sorted seen keys (12 bytes each). O(n): 0.3 µs a key; 8.1 bytes a key if a server has 50."""
    return write_blob(_SEEN, _seen_columns(keys))


def decode_seen(blob: bytes) -> list[bytes]:
    """The inverse of ``encode_seen``. O(n). Raises BlobError."""
    parts, counts, fingerprints = read_blob(_SEEN, blob, 3)
    return list(_read_seen(parts, counts, fingerprints))


def encode_message(entries: Sequence[Entry]) -> bytes:
    """``entries`` for another worker; each payload is bytes or None, ``place`` is left out.

    O(size): 10 µs, and 1 µs an entry.  Raises ValueError for a priority or depth beyond 32 bits; BlobError if they
    are too large.
    """
    try:
        numbers = b"".join([_entry.pack(entry.quality, entry.priority, entry.depth) for entry in entries])
    except struct.error as error:
        raise ValueError(f"quality, priority or depth of an entry: {error}") from error
    urls = [entry.url.encode("utf-8", "surrogatepass") for entry in entries]
    payloads = [entry.payload for entry in entries]
    columns = [numbers, *join_texts(urls)]
    if any(payload is not None for payload in payloads):  # links have none
        columns.append(write_numbers([0 if payload is None else len(payload) + 1 for payload in payloads]))
        columns.append(b"".join([payload for payload in payloads if payload is not None]))
    return write_blob(_MESSAGE, [zipped(pack(columns))])


def decode_message(blob: bytes) -> tuple[list[Entry], int]:
    """The inverse of ``encode_message``; and how many entries were skipped: those with a bad URL or number.

    O(size). Raises BlobError.
    """
    (data,) = read_blob(_MESSAGE, blob, 1)
    columns = unpack(unzipped(data))
    numbers, text_lengths, texts = _take(iter(columns), 3)
    count, rest = divmod(len(numbers), _entry.size)
    check_count(count)
    if rest:
        raise BlobError("damaged: numbers of entries")
    urls = split_texts(text_lengths, texts, count)
    payloads: list[bytes | None] = [None] * count
    if len(columns) > 3:
        lengths, data = _take(iter(columns[3:]), 2)
        payloads = _optional(read_numbers(lengths, count), data)
    entries = [
        Entry(url, quality, priority, depth, payload)
        for text, (quality, priority, depth), payload in zip(urls, _entry.iter_unpack(numbers), payloads, strict=True)
        if (url := _text(text)) and isfinite(quality) and quality >= 0.0
    ]
    return entries, count - len(entries)


def _text(url: bytes) -> str:
    try:
        return url.decode("utf-8", "surrogatepass") if len(url) <= MAX_URL else ""
    except UnicodeDecodeError:
        return ""


def _by_format(tables: Tables) -> tuple[list[Row], list[bytes], list[bytes], dict[str, list[OptionalRow]]]:
    """New rows of URLs, removed ones, and seen keys, each sorted by server; everything else by table."""
    rows: list[Row] = []
    removed: list[bytes] = []
    seen: list[bytes] = []
    others: dict[str, list[OptionalRow]] = {}
    for table, changes in tables.items():
        if table == "urls" and set(map(len, changes)) == {_URL_KEY_BYTES}:
            removed = sorted([key for key, value in changes.items() if value is None])
            new = [(key, value) for key, value in changes.items() if value is not None]
            rows = sorted([row for row in new if len(row[1]) >= _HEAD_BYTES])
            if len(rows) < len(new):
                others[table] = [row for row in new if len(row[1]) < _HEAD_BYTES]
        elif table == "seen" and set(map(len, changes)) == {KEY_BYTES} and set(changes.values()) == {b""}:
            seen = sorted(changes)
        elif changes:
            others[table] = list(changes.items())
    return rows, removed, seen, others


def _is_url_row(key: bytes, row: bytes) -> bool:
    return len(key) == _URL_KEY_BYTES and len(row) >= _HEAD_BYTES


def _url_columns(rows: Sequence[Row]) -> list[bytes]:
    """Five columns: servers, rows of each, sort keys and heads, lengths of paths, paths."""
    if not rows:
        return [b""] * 5
    fixed = b"".join([key[_NUMBER_BYTES:] + row[:_HEAD_BYTES] for key, row in rows])
    paths = [row[_HEAD_BYTES:] for _, row in rows]
    return [*_servers(key for key, _ in rows), planes(fixed, SORT_KEY_BYTES + _HEAD_BYTES), *join_texts(paths)]


def _read_urls(numbers: bytes, counts: bytes, fixed: bytes, lengths: bytes, texts: bytes) -> Iterator[Row]:
    servers = _read_servers(numbers, counts)
    size = SORT_KEY_BYTES + _HEAD_BYTES
    data = rows_of_planes(fixed, size, len(servers))
    paths = split_texts(lengths, texts, len(servers))
    for at, (server, path) in enumerate(zip(servers, paths, strict=True)):
        start, end = at * size, (at + 1) * size
        yield server + data[start : end - _HEAD_BYTES], data[end - _HEAD_BYTES : end] + path


def _key_columns(keys: Sequence[bytes]) -> list[bytes]:
    """Three columns: servers, keys of each, sort keys."""
    if not keys:
        return [b""] * 3
    return [*_servers(keys), planes(b"".join([key[_NUMBER_BYTES:] for key in keys]), SORT_KEY_BYTES)]


def _read_keys(numbers: bytes, counts: bytes, fixed: bytes) -> Iterator[bytes]:
    servers = _read_servers(numbers, counts)
    data = rows_of_planes(fixed, SORT_KEY_BYTES, len(servers))
    for at, server in enumerate(servers):
        yield server + data[at * SORT_KEY_BYTES : (at + 1) * SORT_KEY_BYTES]


def _servers(keys: Iterable[bytes]) -> tuple[bytes, bytes]:
    """The server numbers that ``keys`` begin with, each once as long as it does not change; and how often."""
    servers, counts = _runs(keys)
    check_count(sum(counts))
    return write_numbers(deltas([int.from_bytes(server, "big") for server in servers])), write_numbers(counts)


def _runs(keys: Iterable[bytes]) -> tuple[list[bytes], list[int]]:
    """The first four bytes of ``keys``, each once as long as they do not change; and how often."""
    servers: list[bytes] = []
    counts: list[int] = []
    last = None
    for server in map(_server, keys):
        if server == last:
            counts[-1] += 1
        else:
            servers.append(server)
            counts.append(1)
            last = server
    return servers, counts


def _read_servers(numbers: bytes, counts: bytes) -> list[bytes]:
    """The server number (4 bytes) of each key."""
    sizes = read_numbers(counts)
    servers = from_deltas(read_numbers(numbers, len(sizes)))
    check_count(sum(sizes))
    if max(servers, default=0) >= 1 << 8 * _NUMBER_BYTES:
        raise BlobError("damaged: number of a server")
    result: list[bytes] = []
    for number, size in zip(servers, sizes, strict=True):
        result += [number.to_bytes(_NUMBER_BYTES, "big")] * size
    return result


def _seen_columns(keys: Sequence[bytes]) -> list[bytes]:
    """Three columns: servers' parts, keys of each, fingerprints."""
    parts, counts = _runs(keys)
    return [b"".join(parts), write_numbers(counts), b"".join([key[SERVER_BYTES:] for key in keys])]


def _read_seen(parts: bytes, counts: bytes, fingerprints: bytes) -> Iterator[bytes]:
    sizes = read_numbers(counts, len(parts) // SERVER_BYTES)
    if len(parts) % SERVER_BYTES or sum(sizes) * FINGERPRINT_BYTES != len(fingerprints):
        raise BlobError("damaged: seen keys")
    at = 0
    for number, size in enumerate(sizes):
        part = parts[number * SERVER_BYTES : (number + 1) * SERVER_BYTES]
        for _ in range(size):
            yield part + fingerprints[at : at + FINGERPRINT_BYTES]
            at += FINGERPRINT_BYTES


def _general_columns(table: str, rows: Sequence[OptionalRow]) -> list[bytes]:
    """Five columns: name, lengths of keys, keys, lengths of values (0: removed, else 1 more), values."""
    return [
        table.encode(),
        write_numbers([len(key) for key, _ in rows]),
        b"".join([key for key, _ in rows]),
        write_numbers([0 if row is None else len(row) + 1 for _, row in rows]),
        b"".join([row for _, row in rows if row is not None]),
    ]


def _read_general(
    name: bytes, key_lengths: bytes, keys: bytes, lengths: bytes, values: bytes
) -> tuple[str, list[OptionalRow]]:
    sizes = read_numbers(key_lengths)
    rows = _optional(read_numbers(lengths, len(sizes)), values)
    try:
        return name.decode(), list(zip(split_lengths(sizes, keys), rows, strict=True))
    except UnicodeDecodeError as error:
        raise BlobError("damaged: name of a table") from error


def _optional(lengths: list[int], data: bytes) -> list[bytes | None]:
    """``data`` split into values; their ``lengths`` are one more, 0 for None."""
    values = split_lengths([max(0, length - 1) for length in lengths], data)
    return [value if length else None for length, value in zip(lengths, values, strict=True)]


def _take(columns: Iterator[bytes], count: int) -> list[bytes]:
    taken = [column for _, column in zip(range(count), columns, strict=False)]
    if len(taken) < count:
        raise BlobError("damaged: columns are missing")
    return taken


def _add(tables: Tables, table: str, rows: Iterable[tuple[bytes, Any]]) -> None:
    changes = dict(rows)
    if changes:
        tables.setdefault(table, {}).update(changes)
