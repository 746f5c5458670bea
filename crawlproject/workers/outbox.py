"""URLs for other partitions, until Redis has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.seen.cache import LruCache
from crawlproject.seen.fingerprint import url_fingerprint
from crawlproject.workers.blobs import encode_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.partitions import Partitions

#: URLs of a message, at most.
ENTRIES = 500
#: Bytes of a message after which the next one begins.
BYTES = 1 << 20
#: URLs remembered as sent; 100 bytes each. They are sent again once they are forgotten: the seen-set refuses them.
REMEMBERED = 1 << 17


class Outbox:
    """Implements ``Exchange``. A partition is *own* while this worker owns it and has loaded it."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._own = bytearray(partitions.count)
        self._sent = LruCache(REMEMBERED)
        self._entries: dict[int, list[Entry]] = {}
        #: URLs that wait.
        self.length = 0
        #: URLs sent so far.
        self.total = 0

    def set_own(self, partition: int, *, own: bool) -> None:
        """Say whether URLs of ``partition`` go to this worker's frontier."""
        self._own[partition] = own

    def is_own(self, url: str) -> bool:
        """Whether ``url`` goes to this worker's frontier. 0.5 µs."""
        return bool(self._own[self._partitions.of_url(url)])

    def unsent(self, urls: Sequence[str]) -> list[bool]:
        """For each of the canonical ``urls``, whether it was not sent recently; from now on it was. 2 µs each."""
        add = self._sent.add
        return [not add(url_fingerprint(url)) for url in urls]

    def send(self, entries: Iterable[Entry]) -> None:
        """Put ``entries`` into the outbox; their payloads are bytes or None."""
        of_url = self._partitions.of_url
        for entry in entries:
            self._entries.setdefault(of_url(entry.url), []).append(entry._replace(place=None))
            self.length += 1

    def take(self) -> list[tuple[int, bytes]]:
        """Empty it; returns partitions and messages. O(entries)."""
        messages = [
            (partition, encode_message(some))
            for partition, entries in self._entries.items()
            for some in _split(entries)
        ]
        self.total += self.length
        self._entries, self.length = {}, 0
        return messages

    def forget_sent(self) -> None:
        """Send all URLs again that are found from now on: Redis may have lost some."""
        self._sent.clear()


def _split(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """``entries`` in messages."""
    some: list[Entry] = []
    size = 0
    for entry in entries:
        some.append(entry)
        size += len(entry.url) + len(entry.payload or b"")
        if len(some) == ENTRIES or size > BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some
