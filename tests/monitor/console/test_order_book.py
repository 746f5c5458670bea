"""Orders that outlive the process."""

import json
from pathlib import Path

import pytest

from crawlproject.monitor.console.order_book import OrderBook, checked_orders

ORDERS = {
    "paused": "1",
    "sessions": "8",
    "delay a.example": "2.5",
    "block http://b.example": "1",
    "release c.example": "1",
    "limit pages": "100",
    "limit depth": "0",
    "exclude *a b*": "1",
    "include /docs/": "1",
    "raise *.html$": "1",
}


def test_orders_come_back(tmp_path: Path) -> None:
    """All of them; without a file there are none."""
    book = OrderBook(tmp_path / "orders.json")
    book.load()
    assert not book.orders
    book.orders = ORDERS
    assert book.save()
    again = OrderBook(tmp_path / "orders.json")
    again.load()
    assert again.orders == ORDERS


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        json.dumps({"version": 2}),
        json.dumps({"version": 1}),
        json.dumps({"version": 1, "given": ["paused"]}),
        json.dumps({"version": 1, "given": {"paused": 1}}),
        "\x00\xff",
    ],
)
def test_a_damaged_file_is_put_aside(text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With one line in the log; the crawl starts without orders, and the file can be repaired."""
    path = tmp_path / "orders.json"
    path.write_text(text, encoding="latin-1")
    book = OrderBook(path)
    book.load()
    assert not book.orders
    assert caplog.text.count("cannot be read") == 1
    assert path.with_suffix(".damaged").read_text(encoding="latin-1") == text
    assert book.save()


def test_a_disk_that_is_full_does_not_undo_an_order(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log says that it is not kept."""
    book = OrderBook(tmp_path / "missing" / "orders.json")
    assert not book.save()
    assert "cannot be kept" in caplog.text


def test_orders_are_noted_and_undone() -> None:
    """An earlier stop is over, and ends a pause; what has been given since then counts."""
    assert checked_orders({"stopped": "abc", **ORDERS}) == ORDERS
    book = OrderBook(None)
    for order, value in ORDERS.items():
        book.check(order, value)
        book.note(order, value)
    assert book.orders == ORDERS
    assert book.of("limit") == {"pages": "100", "depth": "0"}
    book.note("stopped", "abc")
    assert "paused" not in book.orders
    for order in ORDERS:
        book.note(order, None)
    assert not book.orders


def test_shared_orders_that_are_wrong(caplog: pytest.LogCaptureFixture) -> None:
    """Each costs a line of the log."""
    wrong = {
        "dance": "1",
        "block": "1",
        "block a b": "1",
        "block A.example": "1",
        "paused x": "1",
        "delay a.example": "-1",
        "delay b.example": "1e400",
        "sessions": "0",
        "release " + "x" * 1_000: "1",
        "limit speed": "1",
        "limit pages": "-1",
        "exclude re:(": "1",
        "exclude x": "1",
    }
    assert checked_orders({**wrong, "paused": "1"}) == {"paused": "1"}
    assert caplog.text.count("An order of the console is ignored") == len(wrong)
    assert len(caplog.text) < 10_000


def test_too_many_names() -> None:
    """The next one is refused, and one that is there is not."""
    book = OrderBook(None)
    book.orders = checked_orders({f"block h{number}.example": "1" for number in range(10_001)})
    assert len(book.of("block")) == 10_000
    book.check("block h5.example", "1")
    with pytest.raises(ValueError, match="at most 10000 of a kind"):
        book.check("block new.example", "1")
    book.check("delay new.example", "1")
