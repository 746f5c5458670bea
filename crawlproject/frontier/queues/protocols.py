"""Interfaces: what the frontier requires of a server's URL queue, and a stored queue of its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from crawlproject.frontier.entry import Entry


class ServerUrls(Protocol):
    """Priority queue of one server's URLs; ``UrlQueue`` in memory, ``StoredUrlQueue`` over a store."""

    def __len__(self) -> int:
        """Number of queued URLs."""

    @property
    def window_sum(self) -> float:
        """Summed quality of the best URLs, as many as ``set_window`` says."""

    @property
    def best_quality(self) -> float:
        """Quality of the URL that ``pop`` would return; 0.0 when empty."""

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        """Maximum worth per second over k ≤ window best URLs: max of Σ (quality + bonus) / (setup + k · page_time)."""

    def set_window(self, window: int) -> None:
        """Change the number of URLs that ``window_sum`` adds up."""

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """Add ``entry`` with its ``arrival`` number; ``path`` is its URL without the server (``entry.path_of``)."""

    def raise_quality(self, path: str, gain: float) -> float | None:
        """Add ``gain`` > 0 to the quality of the URL of ``path``; returns the new quality, None if it is not queued."""

    def first(self, prefix: str, count: int) -> list[Entry]:
        """The entries that ``pop`` would return next, at most ``count``; may be fewer than are queued, but at least
        ``window``. O(count)."""

    def pop(self, prefix: str) -> Entry:
        """Remove and return the best entry; a store keeps it until ``acknowledge``."""

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """Delete an entry that ``pop`` returned from the store: it is done, or was pushed again."""

    def rewrite(
        self, prefix: str, judge: Callable[[Entry], Entry | None], count: int
    ) -> Generator[list[tuple[Entry, Entry | None]], None, None]:
        """Replace each entry by the result of ``judge``, in steps of at most ``count``; None removes it.

        Yields what each step has changed: (before, after).  For an entry to keep, ``judge`` returns the same object;
        what it has returned it must keep.  The queue may be used between steps: entries pushed then may be judged, or
        not; those not judged yet may be missing until the iterator ends or is closed.  Ends at ``abandon``.
        """

    def abandon(self, prefix: str) -> Iterator[Entry]:
        """Remove all entries of a queue whose later ones are popped as soon as they are pushed. O(1).

        Yields them in any order, each built on demand.  Memory does not grow with the entries of a store, acknowledged
        or not.
        """


class UrlRows(Protocol):
    """Rows of URLs in a store, sorted within each server; servers have numbers. Implemented in ``storage``."""

    def put(self, server: int, sort_key: bytes, row: bytes, digest: bytes | None) -> None:
        """Store ``row`` under ``sort_key``; index it by ``digest`` unless that is None."""

    def delete(self, server: int, sort_key: bytes, digest: bytes | None) -> None:
        """Delete the row of ``sort_key``, which must exist, and the entry of ``digest`` if it points to that row."""

    def move(self, server: int, digest: bytes, old: bytes, sort_key: bytes, row: bytes) -> None:
        """Move the ``row`` of ``digest`` from the sort key ``old`` to ``sort_key``."""

    def get(self, server: int, sort_key: bytes) -> bytes | None:
        """The row of ``sort_key``."""

    def find(self, server: int, digest: bytes) -> tuple[bytes, bytes] | None:
        """Sort key and row of the URL of ``digest``."""

    def after(self, server: int, sort_key: bytes, count: int) -> list[bytes]:
        """The first ``count`` sort keys after ``sort_key``, in order."""
