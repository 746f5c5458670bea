"""The seen-set (duplicate URL eliminator) in memory, exact up to the fingerprint."""

from __future__ import annotations


class MemorySeenSet:
    """Fingerprints met before; O(1) per test, about 70 bytes each."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def add_if_new(self, fingerprint: int) -> bool:
        """Add ``fingerprint``; True if it had not been there. O(1)."""
        before = len(self._seen)
        self._seen.add(fingerprint)
        return len(self._seen) != before

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._seen

    def __len__(self) -> int:
        return len(self._seen)
