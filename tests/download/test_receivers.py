"""Receivers of signals that come and go while a crawl runs."""

from collections.abc import Callable
from typing import Any

from pydispatch import dispatcher
from scrapy import signals
from scrapy.utils.test import get_crawler

from crawlproject.download.receivers import Connections, Receivers

SIGNAL, OTHER = signals.item_scraped, signals.item_dropped


def test_connections_have_changed_after_any_was_connected_or_disconnected() -> None:
    """To one of the signals, or to all; also one that no longer exists."""
    crawler = get_crawler()
    connections = Connections(crawler, (SIGNAL,))
    kept: list[Callable[..., Any]] = [lambda: None for _ in range(4)]
    assert connections.have_changed()
    assert not connections.have_changed()
    crawler.signals.connect(kept[0], SIGNAL)
    assert connections.have_changed()
    crawler.signals.connect(kept[1], OTHER)
    assert not connections.have_changed()
    crawler.signals.disconnect(kept[0], SIGNAL)
    crawler.signals.connect(kept[1], SIGNAL)  # as many as before
    assert connections.have_changed()
    crawler.signals.connect(kept[2], dispatcher.Any)
    assert connections.have_changed()
    dispatcher.connect(kept[3], SIGNAL)  # whoever sends it
    try:
        assert connections.have_changed()
        assert not connections.have_changed()
    finally:
        dispatcher.disconnect(kept[3], SIGNAL)
    assert connections.have_changed()
    kept.clear()  # pydispatch refers to them weakly
    assert connections.have_changed()
    assert not connections.have_changed()


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

    receivers = Receivers(crawler, SIGNAL)
    for number, receiver in enumerate((nothing, item_only, spider_too), 1):
        crawler.signals.connect(receiver, SIGNAL)
        got.clear()
        receivers.tell(item=1)
        assert got == [(), (1,), (1, crawler.spider, True)][:number]


def test_a_signal_without_receivers() -> None:
    crawler, signal = get_crawler(), object()
    receivers = Receivers(crawler, signal)
    assert not receivers.are_there()
    assert receivers.start(item=1) is None

    def nothing() -> None:
        pass

    crawler.signals.connect(nothing, signal)
    assert receivers.are_there()
