"""The fetched pages, for recrawls: key = server number, path; value = time, validators, request data.

A page needs 21 bytes, its path and its validators, before compression.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.frontier.quality import MAX_QUALITY
from crawlproject.frontier.queues.sort_key import decode_row, encode_row
from crawlproject.storage.errors import StoreError
from crawlproject.storage.rocks import row_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

TABLE = "fetched"
#: Longer validators (bytes) are dropped, as if the page had none.
MAX_ETAG, MAX_MODIFIED = 1000, 100

_head = struct.Struct(">IfiHB")


class FetchedPage(NamedTuple):
    """The stored data of a fetched page, without its URL."""

    #: Seconds on the wall clock.
    fetched: int
    #: ``ETag`` and ``Last-Modified`` as sent; empty if missing.
    etag: bytes = b""
    modified: bytes = b""
    #: Those of its ``Entry``; ``payload`` says how to fetch and parse it.
    quality: float = 1.0
    priority: int = 0
    depth: int = 0
    payload: bytes | None = None

    def encode(self) -> bytes:
        etag = self.etag if len(self.etag) <= MAX_ETAG else b""
        modified = self.modified if len(self.modified) <= MAX_MODIFIED else b""
        quality = min(self.quality, MAX_QUALITY)
        head = _head.pack(self.fetched, quality, self.priority, len(etag), len(modified))
        return head + etag + modified + encode_row(b"", self.depth, self.payload)

    @classmethod
    def decode(cls, data: bytes) -> FetchedPage:
        """The inverse of ``encode``. Raises ValueError for other data."""
        try:
            fetched, quality, priority, etag, modified = _head.unpack_from(data)
            middle = _head.size + etag
            end = middle + modified
            row = decode_row(data[end:])
        except (struct.error, IndexError) as error:
            raise ValueError(f"not a page: {data[:40]!r}") from error
        return cls(fetched, data[_head.size : middle], data[middle:end], quality, priority, row.depth, row.payload)


class DiskFetchedPages:
    """Pages by server number and path (``frontier.entry.path_of``); a ``Part`` of the store.

    Raises StoreError if the disk fails.
    """

    def __init__(self, store: DiskStore) -> None:
        self._store = store
        self._changes: dict[bytes, bytes | None] = {}
        store.add(self)

    def put(self, server: int, path: str, page: FetchedPage) -> None:
        """Store ``page``, replacing the old record. O(size)."""
        self._changes[row_key(server, path)] = page.encode()

    def delete(self, server: int, path: str) -> None:
        """Remove a page if it is stored. O(length)."""
        self._changes[row_key(server, path)] = None

    def committed(self, server: int, path: str) -> FetchedPage | None:
        """The page as committed; None if it is not stored. A few µs."""
        value = self._store.rocks.get(TABLE, row_key(server, path))
        try:
            return None if value is None else FetchedPage.decode(value)
        except ValueError as error:
            raise self._damaged(error) from error

    def stored(self) -> Iterator[tuple[int, str, FetchedPage]]:
        """Server, path and page of all pages committed when this was called, grouped by server.

        A few µs each; constant memory.
        """
        for key, value in self._store.rocks.rows(TABLE):
            try:
                path, page = key[4:].decode("utf-8", "surrogatepass"), FetchedPage.decode(value)
            except ValueError as error:
                raise self._damaged(error) from error
            yield int.from_bytes(key[:4], "big"), path, page

    def write_to(self, batch: Batch) -> None:
        batch.change(TABLE, self._changes)

    def written(self) -> None:
        self._changes.clear()

    def _damaged(self, error: ValueError) -> StoreError:
        return StoreError(self._store.path, f"damaged: a page cannot be read: {error}")
