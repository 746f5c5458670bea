"""What became of URLs, besides the byte of each in the seen-set: counts and examples; the last ends of each URL.

Table ``ended``: key = server number, path; value = the last ends of a URL, the latest last.  A page that was fetched as
a link has no row there: ``storage.fetched`` has it.
"""

from __future__ import annotations

import json
from struct import Struct
from typing import TYPE_CHECKING

from crawlproject.storage.rocks import row_key
from crawlproject.urls.fates import decoded, encoded
from crawlproject.urls.url_rows import End

if TYPE_CHECKING:
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch
    from crawlproject.urls.fates import Fates

TABLE = "ended"

#: Ends kept of a URL.
MAX_ENDS = 8

_end = Struct(">IBHH")

#: Bytes of an end: time, number of stage and reason, status, depth.
LENGTH = _end.size

_KEYS = (b"links", b"examples")


class DiskFates:
    """Restores ``fates``, and stores their state with each commit in which it has changed; a ``Part`` of the store.

    Some kB: ``urls.fates.EXAMPLES`` URLs for each reason, written again only when one is new.
    """

    def __init__(self, store: DiskStore, fates: Fates) -> None:
        self._fates = fates
        self._stored = {key: store.rocks.get("state", key) or b"{}" for key in _KEYS}
        self._written: dict[bytes, bytes] = {}
        fates.restore({key.decode(): _parsed(value) for key, value in self._stored.items()})
        store.add(self)

    def write_to(self, batch: Batch) -> None:
        state = self._fates.to_state()
        values = {key: json.dumps(state[key.decode()]).encode() for key in _KEYS}
        self._written = {key: value for key, value in values.items() if value != self._stored[key]}
        for key, value in self._written.items():
            batch.put("state", key, value)

    def written(self) -> None:
        self._stored |= self._written


def _parsed(value: bytes) -> object:
    try:
        return json.loads(value)
    except ValueError:  # damaged: the counts start at zero again
        return {}


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
