"""URLs for other partitions, until Redis has them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from crawlproject.frontier.learning.cross_links import CrossLinks
from crawlproject.seen.fingerprint import url_fingerprint
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
#: URLs remembered as sent; 130 bytes each. They are sent again once they are forgotten: the seen-set refuses them.
REMEMBERED = 1 << 17


class Outbox:
    """Implements ``Exchange``. A partition is *own* while this worker owns it and has loaded it."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._own = bytearray(partitions.count)
        self._sent: OrderedDict[int, int] = OrderedDict()  # URL -> state; the least recently found URL first
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

    def is_own(self, url: str) -> bool:
        """Whether ``url`` goes to this worker's frontier. 0.5 µs."""
        return bool(self._own[self._partitions.of_url(url)])

    def unsent(self, urls: Sequence[str], *, repeats: bool = False) -> list[int]:
        """See ``Exchange``. 3 µs each."""
        return [self._to_send(url_fingerprint(url), repeats=repeats) for url in urls]

    def _to_send(self, key: int, *, repeats: bool) -> int:
        sent = self._sent
        state = sent.get(key, 0)
        if state and not repeats:
            sent.move_to_end(key)
            return 0
        if not state and len(sent) == REMEMBERED:
            sent.popitem(last=False)
        sent[key], count = self._links.found(state)
        sent.move_to_end(key)
        return count

    def send(self, entries: Iterable[Entry]) -> None:
        """Put ``entries`` into the outbox; their payloads are bytes or None."""
        of_url = self._partitions.of_url
        for entry in entries:
            if len(entry.url) > MAX_URL:
                self._refuse(entry, f"it has {len(entry.url)} characters")
                continue
            self._entries.setdefault(of_url(entry.url), []).append(entry._replace(place=None))
            self.length += 1

    def take(self) -> list[tuple[int, bytes]]:
        """Empty it; returns partitions and messages. O(size)."""
        messages = [
            (partition, message) for partition, entries in self._entries.items() for message in self._encoded(entries)
        ]
        self.total += self.length
        self._entries, self.length = {}, 0
        return messages

    def forget_sent(self) -> None:
        """Send all URLs again that are found from now on: Redis may have lost some."""
        self._sent.clear()

    def _encoded(self, entries: Sequence[Entry]) -> Iterator[bytes]:
        for batch in _batches(entries):
            try:
                yield encode_message(batch)
            except (ValueError, BlobError) as error:
                if len(batch) == 1:
                    self._refuse(batch[0], str(error))
                else:
                    for entry in batch:
                        yield from self._encoded([entry])

    def _refuse(self, entry: Entry, reason: str) -> None:
        self.refused += 1
        if self.refused == 1:
            logger.error("A URL cannot be sent to other workers (more are only counted): %.200s: %s", entry.url, reason)


def _batches(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
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
