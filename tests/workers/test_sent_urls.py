"""Which links to servers of other workers are sent."""

import pytest

from crawlproject.workers import exchange
from crawlproject.workers.exchange import Outbox
from crawlproject.workers.partitions import Partitions

ONE, OTHER = "http://a.example/", "http://b.example/"


def test_a_url_is_sent_once() -> None:
    """However often it is found; until all is sent again."""
    box = Outbox(Partitions(4))
    assert box.unsent([ONE, OTHER, ONE]) == [1, 1, 0]
    assert box.unsent([ONE]) == [0]
    box.forget_sent()
    assert box.unsent([ONE]) == [1]


def test_repeated_links_are_sent_together() -> None:
    """If they add to the quality of their URL; the others do not count."""
    box = Outbox(Partitions(4))
    assert [box.unsent([ONE], repeats=True)[0] for _ in range(22)] == [1, *[0] * 6, 7, *[0] * 13, 0]
    assert box.unsent([OTHER]) == [1]
    assert [box.unsent([OTHER])[0] for _ in range(5)] == [0] * 5


def test_the_urls_found_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded number of them."""
    monkeypatch.setattr(exchange, "REMEMBERED", 4)
    box = Outbox(Partitions(4))
    box.unsent([ONE, OTHER])
    box.unsent([ONE])
    box.unsent(["http://c.example/"])
    assert box.unsent([ONE]) == [0]
    assert box.unsent([OTHER]) == [1]
    for number in range(20):
        box.unsent([f"http://{number}.example/"])
        assert len(box._sent) + len(box._older) <= 4
