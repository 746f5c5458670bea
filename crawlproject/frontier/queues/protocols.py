"""What the frontier asks of a server's URL queue, and what a stored queue asks of its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.entry import Entry


class ServerUrls(Protocol):
    """Priority queue of one server's URLs; ``UrlQueue`` in memory, ``StoredUrlQueue`` over a store."""

    def __len__(self) -> int:
        """How many URLs are queued."""
        ...

    @property
    def window(self) -> int:
        """How many of the best URLs ``window_sum`` adds up."""
        ...

    @property
    def window_sum(self) -> float:
        """Summed quality of the best ``window`` URLs."""
        ...

    @property
    def best_quality(self) -> float:
        """Quality of the URL that ``pop`` would return; 0.0 when empty."""
        ...

    def best_rate(self, setup: float, page_time: float, bonus: float) -> float:
        """Most worth per second of any k ≤ window best URLs: max of Σ (quality + bonus) / (setup + k · page_time)."""
        ...

    def set_window(self, window: int) -> None:
        """Change the number of URLs that ``window_sum`` adds up."""
        ...

    def push(self, entry: Entry, path: str, arrival: int) -> None:
        """Add ``entry``, number ``arrival`` in all; ``path`` is what is kept of its URL (``entry.path_of``)."""
        ...

    def raise_quality(self, path: str, gain: float) -> float | None:
        """Add ``gain`` > 0 to the quality of the URL of ``path``; its new quality, or None if it is not queued."""
        ...

    def best(self, prefix: str) -> Entry:
        """The entry that ``pop`` would return; raises IndexError when the queue is empty."""
        ...

    def pop(self, prefix: str) -> Entry:
        """Remove and return the best entry; where it is stored, it stays there until ``acknowledge``."""
        ...

    def acknowledge(self, entry: Entry, prefix: str) -> None:
        """An entry that ``pop`` returned has been dealt with, or was pushed again: remove it from the store."""
        ...

    def drain(self, prefix: str) -> Iterator[Entry]:
        """Remove all entries, as ``pop`` does; they come best first, each made when it is asked for."""
        ...

    def check(self) -> None:
        """Assert every invariant; for tests."""
        ...


class UrlRows(Protocol):
    """Rows of URLs in a store: sorted within a server, which goes by a number. Implemented in ``storage``."""

    def put(self, server: int, place: bytes, row: bytes, digest: bytes | None) -> None:
        """Keep ``row`` at ``place``; ``digest``, unless None, finds it there from now on."""
        ...

    def delete(self, server: int, place: bytes, digest: bytes | None) -> None:
        """Remove the row at ``place``, which is there, and that ``digest`` finds it, if it does."""
        ...

    def move(self, server: int, digest: bytes, old: bytes, place: bytes, row: bytes) -> None:
        """Keep the ``row`` that is at ``old`` at ``place`` instead, where ``digest`` finds it."""
        ...

    def get(self, server: int, place: bytes) -> bytes | None:
        """The row at ``place``."""
        ...

    def find(self, server: int, digest: bytes) -> tuple[bytes, bytes] | None:
        """Place and row of the URL of ``digest``."""
        ...

    def after(self, server: int, place: bytes, count: int) -> list[bytes]:
        """The first ``count`` places behind ``place``, in order."""
        ...
