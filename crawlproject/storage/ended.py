"""What became of URLs, by URL, and when: key = server number, path; value = its last ends, the latest last.

A page that was fetched as a link has no row here: ``storage.fetched`` has it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from crawlproject.urls.fates import decoded, encoded
from crawlproject.urls.url_rows import End

if TYPE_CHECKING:
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

TABLE = "ended"

#: Ends kept of a URL.
MAX_ENDS = 8

_number = struct.Struct(">I")
_end = struct.Struct(">IBHH")

#: Bytes of an end: time, number of stage and reason, status, depth.
LENGTH = _end.size


def encode_end(end: End) -> bytes:
    depth, status = min(end.depth, 0xFFFF), min(max(0, end.status), 0xFFFF)
    return _end.pack(end.at, encoded(end.stage, end.reason), status, depth)


def decode_ends(data: bytes) -> list[End]:
    """Those of a row, the latest last; of another version or damaged, what can be read. O(``MAX_ENDS``)."""
    whole = data[: len(data) // _end.size * _end.size]
    return [
        End(at, *place, status, depth)
        for at, mark, status, depth in _end.iter_unpack(whole)
        if (place := decoded(mark)) is not None
    ]


class DiskEndedUrls:
    """Ends by server number and path (``frontier.entry.path_of``); a ``Part`` of the store."""

    def __init__(self, store: DiskStore) -> None:
        self._rocks = store.rocks
        self._changes: dict[bytes, bytes | None] = {}
        store.add(self)

    def add(self, server: int, path: str, end: End) -> None:
        """Add an end of a URL. A few µs, to read the earlier ones. Raises StoreError."""
        key = row_key(server, path)
        before = self._changes.get(key) or self._rocks.get(TABLE, key) or b""
        self._changes[key] = before[-(MAX_ENDS - 1) * _end.size :] + encode_end(end)

    def write_to(self, batch: Batch) -> None:
        batch.change(TABLE, self._changes)

    def written(self) -> None:
        self._changes.clear()


def row_key(server: int, path: str) -> bytes:
    return _number.pack(server) + path.encode("utf-8", "surrogatepass")
