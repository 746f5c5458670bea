"""The exact seen-set on disk: one key per URL, and beside it one byte for what became of it (``fates.encoded``)."""

from __future__ import annotations

from collections import Counter
from itertools import compress, islice
from typing import TYPE_CHECKING

from crawlproject.seen.fingerprint import KEY_BYTES, key_bytes

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
        self._marks: dict[bytes, bytes] = {}
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

    def add(self, keys: Sequence[int]) -> None:
        """Add ``keys``, which must be new and distinct. O(1) each."""
        self._fresh.update(map(key_bytes, keys))

    def take_back(self, key: int) -> bool:
        """Remove ``key`` if it was added since the last commit; returns whether it was. O(1)."""
        code = key_bytes(key)
        was_fresh = code in self._fresh
        self._fresh.discard(code)
        return was_fresh

    def mark(self, key: int, number: int) -> None:
        """Keep ``number``, 1 to 255, beside ``key`` if that is in the set at the next commit. O(1)."""
        self._marks[key_bytes(key)] = bytes((number,))

    def marked(self, key: int) -> int | None:
        """The number committed beside ``key``, 0 if there is none; None if the key is not stored. A few µs."""
        value = self._rocks.get(TABLE, key_bytes(key))
        return None if value is None else int.from_bytes(value, "big")

    def count_marks(self) -> Counter[int]:
        """Number -> committed keys that have it; 0: those without one. About 1 µs for each key."""
        values = Counter(value for _, value in self._rocks.rows(TABLE))
        return Counter({int.from_bytes(value, "big"): count for value, count in values.items()})

    def contains(self, keys: Sequence[int]) -> list[bool]:
        """For each of ``keys``, whether it is in the set. A few µs each."""
        codes = list(map(key_bytes, keys))
        stored = self._are_stored(codes)
        return [is_stored or code in self._fresh for code, is_stored in zip(codes, stored, strict=True)]

    def load(self, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Add keys that another process stored, with their marks, as committed: no ``Changes`` contain them.

        A few µs each.  Call ``SeenUrls.loaded`` of a seen-set in front of this store.  Raises StoreError.
        """
        values = {code: value or b"" for code, value in rows}
        codes = list(values)
        new = [code for code, is_stored in zip(codes, self._are_stored(codes), strict=True) if not is_stored]
        self._fresh.difference_update(new)
        known = set(codes).difference(new)
        self._store.load({TABLE: ((code, value) for code, value in values.items() if value or code not in known)})
        self._set_count(self._count + len(new))

    def drop(self, first: int, end: int) -> Iterator[None]:
        """Remove the keys ``first`` to ``end`` - 1, including uncommitted ones. A generator of steps of some 10 ms.

        Add no key of the range before its end.  Call ``SeenUrls.dropped`` of a seen-set in front of this store.
        O(keys in the range), to count them: about 1 µs each.  Raises StoreError.
        """
        start, stop = _bound(first), _bound(end)
        self._fresh = {code for code in self._fresh if not start <= code < stop}
        self._marks = {code: mark for code, mark in self._marks.items() if not start <= code < stop}
        rows = self._store.scan(TABLE, start, stop)
        count = 0
        while step := sum(1 for _ in islice(rows, COUNTED_AT_ONCE)):
            count += step
            yield
        self._store.drop([(TABLE, start, stop)])
        self._set_count(self._count - count)

    def __len__(self) -> int:
        return self._count + len(self._fresh)

    def __iter__(self) -> Iterator[int]:
        """All keys, about 1 µs each."""
        for code, _ in self._rocks.rows(TABLE):
            yield int.from_bytes(code, "big")
        for code in self._fresh:
            yield int.from_bytes(code, "big")

    def write_to(self, batch: Batch) -> None:
        """Of marks those of stored keys, too: a look-up for each."""
        older = [code for code in self._marks if code not in self._fresh]
        rows = {code: self._marks.get(code, b"") for code in self._fresh}
        rows |= {code: self._marks[code] for code in compress(older, self._are_stored(older) if older else ())}
        batch.change(TABLE, rows)
        if self._fresh:
            batch.put("state", b"seen", len(self).to_bytes(8, "big"))

    def written(self) -> None:
        self._count += len(self._fresh)
        self._fresh.clear()
        self._marks.clear()

    def _set_count(self, count: int) -> None:
        self._count = count
        self._store.load({"state": [(b"seen", count.to_bytes(8, "big"))]})

    def _are_stored(self, codes: list[bytes]) -> list[bool]:
        return [value is not None for value in self._rocks.get_many(TABLE, codes)]


def _bound(key: int) -> bytes:
    """``key`` as stored; the number after the last key sorts after all of them."""
    return key_bytes(key) if key < 1 << 8 * KEY_BYTES else b"\xff" * (KEY_BYTES + 1)
