"""The exact seen-set on disk: one key per URL, nothing else."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from crawlproject.seen import key_bytes
from crawlproject.seen.fingerprint import KEY_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch

TABLE = "seen"

#: Keys that a step of ``drop`` counts.
COUNTED_AT_ONCE = 20_000


class DiskSeenStore:
    """The keys seen (96-bit numbers), a ``Part`` of the store: uncommitted ones in memory, the others on disk.

    Raises StoreError if the disk fails.
    """

    def __init__(self, store: DiskStore) -> None:
        self._store = store
        self._rocks = store.rocks
        self._fresh: set[bytes] = set()
        self._count = int.from_bytes(self._rocks.get("state", b"seen") or b"", "big")
        store.add(self)

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        """Add ``keys``; returns for each whether it is new, also among ``keys``. A few µs each."""
        fresh = self._fresh
        answers = []
        codes = list(map(key_bytes, keys))
        for code, is_stored in zip(codes, self._are_stored(codes), strict=True):
            is_new = not is_stored and code not in fresh
            if is_new:
                fresh.add(code)
            answers.append(is_new)
        return answers

    def take_back(self, key: int) -> bool:
        """Remove ``key`` if it was added since the last commit; returns whether it was. O(1)."""
        code = key_bytes(key)
        was_fresh = code in self._fresh
        self._fresh.discard(code)
        return was_fresh

    def contains(self, keys: Sequence[int]) -> list[bool]:
        """For each of ``keys``, whether it is in the set. A few µs each."""
        codes = list(map(key_bytes, keys))
        stored = self._are_stored(codes)
        return [is_stored or code in self._fresh for code, is_stored in zip(codes, stored, strict=True)]

    def load(self, keys: Iterable[int]) -> None:
        """Add ``keys`` that another process stored, as committed: no ``Changes`` contain them. A few µs each.

        Raises StoreError.
        """
        codes = list(dict.fromkeys(map(key_bytes, keys)))
        new = [code for code, is_stored in zip(codes, self._are_stored(codes), strict=True) if not is_stored]
        self._fresh.difference_update(new)
        self._store.load({TABLE: ((code, b"") for code in new)})
        self._set_count(self._count + len(new))

    def drop(self, first: int, end: int) -> Iterator[None]:
        """Remove the keys ``first`` to ``end`` - 1, including uncommitted ones. A generator of steps of some 10 ms.

        Add no key of the range before its end.  Call ``SeenSet.dropped`` of a seen-set in front of this store.
        O(keys in the range), to count them: about 1 µs each.  Raises StoreError.
        """
        start, stop = _bound(first), _bound(end)
        self._fresh = {code for code in self._fresh if not start <= code < stop}
        rows = self._store.scan(TABLE, start, stop)
        count = 0
        while step := sum(1 for _ in islice(rows, COUNTED_AT_ONCE)):
            count += step
            yield
        self._store.drop([(TABLE, start, stop)])
        self._set_count(self._count - count)

    def __len__(self) -> int:
        return self._count + len(self._fresh)

    def write_to(self, batch: Batch) -> None:
        for code in self._fresh:
            batch.put(TABLE, code, b"")
        if self._fresh:
            batch.put("state", b"seen", len(self).to_bytes(8, "big"))

    def written(self) -> None:
        self._count += len(self._fresh)
        self._fresh.clear()

    def _set_count(self, count: int) -> None:
        self._count = count
        self._store.load({"state": [(b"seen", count.to_bytes(8, "big"))]})

    def _are_stored(self, codes: list[bytes]) -> list[bool]:
        return [value is not None for value in self._rocks.get_many(TABLE, codes)]


def _bound(key: int) -> bytes:
    """``key`` as stored; the number after the last key sorts after all of them."""
    return key_bytes(key) if key < 1 << 8 * KEY_BYTES else b"\xff" * (KEY_BYTES + 1)
