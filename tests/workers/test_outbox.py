"""URLs on their way to other workers."""

from __future__ import annotations

from crawlproject.frontier import Entry
from crawlproject.workers.blobs import decode_message
from crawlproject.workers.outbox import BYTES, ENTRIES, Outbox
from crawlproject.workers.partitions import Partitions


def test_messages_are_bounded() -> None:
    """By their number of URLs and by their bytes; the order is kept, nothing is left out."""
    outbox = Outbox(Partitions(1))
    short = [Entry(f"http://a.example/{number}", 1.0) for number in range(ENTRIES + 1)]
    long = [Entry(f"http://a.example/long/{number}", 1.0, 0, 0, b"x" * (BYTES // 2)) for number in range(5)]
    outbox.send([*short, *long])
    assert outbox.length == len(short) + len(long)
    messages = [decode_message(blob)[0] for _, blob in outbox.take()]
    assert [entry for entries in messages for entry in entries] == [*short, *long]
    assert [len(entries) for entries in messages] == [ENTRIES, 3, 2, 1]
    assert (outbox.take(), outbox.length, outbox.total) == ([], 0, len(short) + len(long))
