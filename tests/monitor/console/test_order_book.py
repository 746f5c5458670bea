"""Orders that outlive the process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawlproject.monitor.console.order_book import MAX_DELAY, OrderBook, Orders, checked_delay, checked_limit

ORDERS = Orders(True, (8, 64), {"a.example": 2.5}, ["http://b.example"], ["c.example"])


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        json.dumps({"version": 2}),
        json.dumps({"version": 1, "delays": [1]}),
        json.dumps({"version": 1, "delays": {"a.example": -1}}),
        json.dumps({"version": 1, "delays": {"a.example": 10**400}}),
        json.dumps({"version": 1, "blocked": ["a b"]}),
        json.dumps({"version": 1, "blocked": ["a.example"] * 10_001}),
        json.dumps({"version": 1, "sessions": [0, 64]}),
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


@pytest.mark.parametrize("value", [-1, MAX_DELAY + 1, float("nan"), float("inf"), True, "5", None])
def test_wrong_delays(value: Any) -> None:
    """One line."""
    with pytest.raises(ValueError, match=r"^seconds: must be"):
        checked_delay(value)


@pytest.mark.parametrize("value", [0, -1, 10_001, 2.0, True, "5", None])
def test_wrong_limits(value: Any) -> None:
    """One line."""
    with pytest.raises(ValueError, match=r"^limit: must be"):
        checked_limit(value)
