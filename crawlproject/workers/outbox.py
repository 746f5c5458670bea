"""URLs for other partitions, until Redis has them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crawlproject.frontier.learning.cross_links import CrossLinks
from crawlproject.workers.blobs import MAX_URL, BlobError, encode_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.partitions import Partitions

logger = logging.getLogger(__name__)

#: URLs of a message, at most.
ENTRIES = 500
#: Bytes of URLs and payloads in a message; one larger than that is sent alone.
BYTES = 1 << 20
#: URLs remembered as sent, at most; 130 bytes each. They are sent again once they are forgotten: the seen-set refuses
#: them.
REMEMBERED = 1 << 17


class Outbox:
    """Implements ``Exchange``. A partition is *own* while this worker owns it and has loaded it."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._own = bytearray(partitions.count)
        self._is_alone = False  # whether all partitions are own
        self._sent: dict[int, int] = {}  # hash of a URL -> state of ``CrossLinks``
        self._older: dict[int, int] = {}  # the same of URLs not found since ``_sent`` was begun
        self._links = CrossLinks()
        self._entries: dict[int, list[Entry]] = {}
        #: URLs that wait.
        self.length = 0
        #: URLs sent so far.
        self.total = 0
        #: URLs that cannot be sent: too long, or with too large a request.
        self.refused = 0

    def set_own(self, partition: int, *, own: bool) -> None:
        """Say whether URLs of ``partition`` go to this worker's frontier."""
        self._own[partition] = own
        self._is_alone = all(self._own)

    def is_own(self, url: str) -> bool:
        """Whether ``url`` goes to this worker's frontier. 0.5 µs, 0.05 µs if all partitions are own."""
        return self._is_alone or bool(self._own[self._partitions.of_url(url)])

    def unsent(self, urls: Sequence[str], *, repeats: bool = False) -> list[int]:
        """See ``Exchange``. 1 µs each."""
        sent, older, found = self._sent, self._older, self._links.found
        counts = []
        for key in map(hash, urls):
            count, state = 0, sent.get(key)
            if state is None:
                state = older.pop(key, 0)
                if state:
                    sent[key] = state
            if repeats or not state:
                sent[key], count = found(state)
            counts.append(count)
        if len(sent) >= REMEMBERED // 2:
            self._sent, self._older = {}, sent
        return counts

    def send(self, entries: Iterable[Entry]) -> None:
        """Put ``entries`` into the outbox; their payloads are bytes or None."""
        of_url = self._partitions.of_url
        for entry in entries:
            if len(entry.url) > MAX_URL:
                self._refuse(entry, f"it has {len(entry.url)} characters")
                continue
            if entry.place is not None:
                entry = entry._replace(place=None)
            self._entries.setdefault(of_url(entry.url), []).append(entry)
            self.length += 1

    def take(self) -> list[tuple[int, bytes]]:
        """Empty it; returns partitions and messages. O(size)."""
        messages = [
            (partition, message) for partition, entries in self._entries.items() for message in self.encoded(entries)
        ]
        self.total += self.length
        self._entries, self.length = {}, 0
        return messages

    def forget_sent(self) -> None:
        """Send all URLs again that are found from now on: Redis may have lost some."""
        self._sent.clear()
        self._older.clear()

    def encoded(self, entries: Iterable[Entry]) -> Iterator[bytes]:
        """Messages with ``entries``, all of one partition; those that cannot be sent are counted. O(size)."""
        for batch in _batches(entries):
            try:
                yield encode_message(batch)
            except (ValueError, BlobError) as error:
                if len(batch) == 1:
                    self._refuse(batch[0], str(error))
                else:
                    for entry in batch:
                        yield from self.encoded([entry])

    def _refuse(self, entry: Entry, reason: str) -> None:
        self.refused += 1
        if self.refused == 1:
            logger.error("A URL cannot be sent to other workers (more are only counted): %.200s: %s", entry.url, reason)


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """``entries`` in order, cut where a message is full."""
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        more = len(entry.url) + len(entry.payload or b"")
        if batch and (len(batch) == ENTRIES or size + more > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += more
    if batch:
        yield batch
