"""Applies messages from other workers to the partitions of this one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from crawlproject.workers.blobs import BlobError, decode_message
from crawlproject.workers.part import PartState

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry
    from crawlproject.workers.holdings import Holdings
    from crawlproject.workers.part import Part

logger = logging.getLogger(__name__)

#: URLs received in one tick, about: then the next cut.
MAX_RECEIVED = 20_000
#: URLs received in one step of the event loop, about: a message may add 500 to them.
RECEIVED_AT_ONCE = 250


class Receiver:
    """Reads the inboxes of the own partitions in ``holdings``."""

    def __init__(self, holdings: Holdings) -> None:
        self._control = holdings.control
        self._parts = holdings.parts
        self._local = holdings.local
        self._crawl = holdings.crawl
        #: URLs received, and what could not be read.
        self.received = self.bad = 0

    def inboxes(self) -> dict[int, bytes]:
        """Partition -> id of the last message read, for those whose messages may be applied."""
        return {part.number: part.last for part in self._parts.values() if part.state is PartState.OWN}

    async def receive(self) -> None:
        """Apply messages of own partitions; they are deleted with the commit of what they changed."""
        inboxes = await self._control.messages(self.inboxes())
        found = [(number, *message) for number, messages in inboxes.items() for message in messages]
        names: list[tuple[Part, bytes]] = []
        entries: list[Entry] = []
        end = self.received + MAX_RECEIVED
        for number, name, blob in found:
            if len(entries) >= RECEIVED_AT_ONCE:
                self._apply(names, entries)
                names, entries = [], []
                await asyncio.sleep(0)  # here a partition may be lost
                if self.received >= end:
                    break
            part = self._parts.get(number)
            if part is not None and part.state is PartState.OWN:
                entries += self._decoded(number, blob)
                names.append((part, name))
        self._apply(names, entries)
        if found:
            self._crawl.wake()

    def _apply(self, names: list[tuple[Part, bytes]], entries: list[Entry]) -> None:
        for _ in self._crawl.receive(entries):
            pass
        self.received += len(entries)
        for part, name in names:
            part.last = name
            part.applied.append(name)

    def _decoded(self, partition: int, blob: bytes) -> list[Entry]:
        try:
            entries, bad = decode_message(blob)
        except BlobError as error:
            if not self.bad:
                logger.error("A message to partition %d cannot be read (others are only counted): %s", partition, error)
            entries, bad = [], 1
        own = [entry for entry in entries if self._local.partition_of_url(entry.url) == partition]
        self.bad += bad + len(entries) - len(own)
        return own
