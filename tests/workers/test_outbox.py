"""URLs that wait to be sent: which links, batches, sizes, what cannot be sent."""

import pytest

from crawlproject.frontier import Entry
from crawlproject.workers import outbox as module
from crawlproject.workers.blobs import MAX_URL, decode_message
from crawlproject.workers.outbox import BYTES, ENTRIES, Outbox
from crawlproject.workers.partitions import Partitions

ONE, OTHER = "http://a.example/", "http://b.example/"


def entry(number: int, payload: bytes | None = None) -> Entry:
    return Entry(f"http://example.org/{number}", 1.0, payload=payload)


def sent(outbox: Outbox) -> list[list[str]]:
    return [[each.url for each in decode_message(blob)[0]] for _, blob in outbox.take()]


def test_messages_are_bounded_in_entries_and_in_bytes() -> None:
    """A large one goes alone; the order is kept, nothing is left."""
    outbox = Outbox(Partitions(4))
    outbox.send([entry(number) for number in range(ENTRIES + 1)])
    assert outbox.length == ENTRIES + 1
    assert [len(urls) for urls in sent(outbox)] == [ENTRIES, 1]
    outbox.send([entry(1), entry(2, bytes(BYTES)), entry(3), entry(4)])
    assert [len(urls) for urls in sent(outbox)] == [1, 1, 2]
    assert (outbox.length, outbox.total, outbox.take()) == (0, ENTRIES + 5, [])


def test_each_partition_has_its_messages() -> None:
    partitions = Partitions(256)
    outbox = Outbox(partitions)
    outbox.send([Entry(f"http://site{number}.test/") for number in range(20)])
    for partition, blob in outbox.take():
        assert {partitions.of_url(each.url) for each in decode_message(blob)[0]} == {partition}


def test_what_cannot_be_sent_is_counted_and_costs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """A URL that is too long, and an entry that cannot be encoded."""
    outbox = Outbox(Partitions(1))
    outbox.send([entry(1), Entry("http://example.org/" + "a" * MAX_URL), entry(2)._replace(priority=1 << 40), entry(3)])
    assert sent(outbox) == [["http://example.org/1"], ["http://example.org/3"]]
    assert outbox.refused == 2
    assert caplog.text.count("cannot be sent to other workers") == 1


def test_a_url_is_sent_once() -> None:
    """However often it is found, until all is sent again; repeats go together if they add to the URL's quality."""
    box = Outbox(Partitions(4))
    assert box.unsent([ONE, OTHER, ONE]) == [1, 1, 0]
    assert box.unsent([ONE]) == [0]
    box.forget_sent()
    assert box.unsent([ONE]) == [1]
    box = Outbox(Partitions(4))
    assert [box.unsent([ONE], repeats=True)[0] for _ in range(22)] == [1, *[0] * 6, 7, *[0] * 13, 0]


def test_the_urls_found_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded number of them."""
    monkeypatch.setattr(module, "REMEMBERED", 4)
    box = Outbox(Partitions(4))
    box.unsent([ONE, OTHER])
    box.unsent([ONE])
    box.unsent(["http://c.example/"])
    assert box.unsent([ONE]) == [0]
    assert box.unsent([OTHER]) == [1]
    for number in range(20):
        box.unsent([f"http://{number}.example/"])
        assert len(box._sent) + len(box._older) <= 4
