"""Receivers of signals that come and go while a crawl runs."""

from collections.abc import Callable
from typing import Any

from pydispatch import dispatcher
from scrapy.utils.test import get_crawler

from crawlproject.download.receivers import Receivers

SIGNAL, OTHER = object(), object()


def test_receivers_are_those_that_are_connected_now() -> None:
    """To the signal, or to all."""
    crawler = get_crawler()
    receivers, called = Receivers(crawler, SIGNAL), []
    kept: list[Callable[..., Any]] = [lambda number=number: called.append(number) for number in range(4)]

    def call() -> list[int]:
        called.clear()
        receivers.send(item=1)
        assert receivers.are_there() == bool(called)
        return sorted(called)

    assert call() == []
    assert receivers.start(item=1) is None
    crawler.signals.connect(kept[0], SIGNAL)
    crawler.signals.connect(kept[1], OTHER)
    assert call() == [0]
    crawler.signals.disconnect(kept[0], SIGNAL)
    crawler.signals.connect(kept[1], SIGNAL)  # as many as before
    assert call() == [1]
    crawler.signals.connect(kept[2], dispatcher.Any)
    assert call() == [1, 2]
    dispatcher.connect(kept[3], SIGNAL)  # whoever sends it
    try:
        assert call() == [1, 2, 3]
    finally:
        dispatcher.disconnect(kept[3], SIGNAL)
    assert call() == [1, 2]


def test_each_receiver_gets_what_it_takes() -> None:
    """Sender, signal and spider as well, if it asks for them."""
    crawler = get_crawler()
    got: list[Any] = []

    def nothing() -> None:
        got.append(())

    def item_only(item: Any) -> None:
        got.append((item,))

    def spider_too(item: Any, spider: Any, sender: Any) -> None:
        got.append((item, spider, sender is crawler.signals.sender))

    def everything(**values: Any) -> None:
        got.append(sorted(values))

    receivers = Receivers(crawler, SIGNAL)
    for receiver in (nothing, item_only, spider_too, everything):
        crawler.signals.connect(receiver, SIGNAL)
    receivers.send(item=1)
    assert got == [(), (1,), (1, crawler.spider, True), ["item", "sender", "signal", "spider"]]
