"""The pages that have been fetched, for recrawls: key = server number, path; value = when, validators, how to fetch it.

A page costs its path and 21 bytes before compression, and its validators.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.frontier.queues.sort_key import Row, decode_row, encode_row
from crawlproject.storage.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

TABLE = "fetched"
#: Validators that are longer are not kept, as if the page had none (bytes).
MAX_ETAG, MAX_MODIFIED = 1000, 100
#: Largest quality that fits (IEEE 754 single precision).
MAX_QUALITY = 3.4e38

_number = struct.Struct(">I")
_head = struct.Struct(">IfiHB")


class FetchedPage(NamedTuple):
    """What is kept of a page that has been fetched, besides its URL."""

    #: By the wall clock, seconds.
    fetched: int
    #: ``ETag`` and ``Last-Modified`` as they were sent; empty where there was none.
    etag: bytes = b""
    modified: bytes = b""
    #: As of the ``Entry`` that it came from; ``payload`` tells how to fetch and parse it.
    quality: float = 1.0
    priority: int = 0
    depth: int = 0
    payload: bytes | None = None

    def encode(self) -> bytes:
        """As bytes. O(size)."""
        etag = self.etag if len(self.etag) <= MAX_ETAG else b""
        modified = self.modified if len(self.modified) <= MAX_MODIFIED else b""
        quality = min(self.quality, MAX_QUALITY)
        head = _head.pack(self.fetched, quality, self.priority, len(etag), len(modified))
        return head + etag + modified + encode_row(Row("", self.depth, self.payload))

    @classmethod
    def decode(cls, data: bytes) -> FetchedPage:
        """What ``encode`` wrote. Raises ValueError where it is something else."""
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

    Raises StoreError where the disk fails.
    """

    def __init__(self, store: DiskStore) -> None:
        self._store = store
        self._changes: dict[bytes, bytes | None] = {}
        store.add(self)

    def put(self, server: int, path: str, page: FetchedPage) -> None:
        """Keep ``page``, instead of what was known of it. O(size)."""
        self._changes[_key(server, path)] = page.encode()

    def delete(self, server: int, path: str) -> None:
        """Forget a page, known or not. O(length)."""
        self._changes[_key(server, path)] = None

    def stored(self) -> Iterator[tuple[int, str, FetchedPage]]:
        """Server, path and page of all that were committed when this was called; those of a server together.

        A few µs each; memory does not grow with them.
        """
        for key, value in self._store.rocks.rows(TABLE, b""):
            try:
                path, page = key[_number.size :].decode("utf-8", "surrogatepass"), FetchedPage.decode(value)
            except ValueError as error:
                raise StoreError(self._store.path, f"damaged: a page cannot be read: {error}") from error
            yield int.from_bytes(key[: _number.size], "big"), path, page

    def write_to(self, batch: Batch) -> None:
        """See ``Part``."""
        for key, value in self._changes.items():
            if value is None:
                batch.delete(TABLE, key)
            else:
                batch.put(TABLE, key, value)

    def written(self) -> None:
        """See ``Part``."""
        self._changes.clear()


def _key(server: int, path: str) -> bytes:
    return _number.pack(server) + path.encode("utf-8", "surrogatepass")
