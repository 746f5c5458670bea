"""The log of URLs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from crawlproject.storage.crawl_log import CrawlLog
from crawlproject.urls.fates import Ending, Outcome, Reason, Stage

if TYPE_CHECKING:
    from pathlib import Path

PAGE = Outcome(
    "http://a.example/x",
    Stage.ANSWER,
    Reason.FETCHED,
    Ending(Reason.FETCHED, 200, 1234, "text/html", 1_000_000_000.5),
    "http://a.example/",
    2,
    {"response": 0.25, "connect": 0.125},
)


def written(path: Path, *outcomes: Outcome) -> list[str]:
    log = CrawlLog(path)
    for outcome in outcomes:
        log.add(outcome)
    log.close()
    assert (log.written, log.lost) == (len(outcomes), 0)
    return path.read_text().splitlines(keepends=True)


def test_lines_of_json(tmp_path: Path) -> None:
    """One each, with any text."""
    odd = PAGE._replace(url="http://a.example/\n\ud800\u2028")
    first, second = map(json.loads, written(tmp_path / "a.jsonl", PAGE, odd))
    assert first == {
        "time": "2001-09-09T01:46:40.500Z",
        "status": 200,
        "bytes": 1234,
        "url": "http://a.example/x",
        "reason": "fetched",
        "stage": "answer",
        "via": "http://a.example/",
        "depth": 2,
        "type": "text/html",
        "times": {"response": 0.25, "connect": 0.125},
    }
    assert second["url"] == odd.url


def test_a_part_of_a_line_is_removed(tmp_path: Path) -> None:
    """A crash has left it."""
    path = tmp_path / "a.log"
    path.write_text("one\nhal")
    assert written(path, PAGE)[0] == "one\n"


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """Before the crawl starts."""
    with pytest.raises(ValueError, match="FRONTIER_CRAWL_LOG="):
        CrawlLog(tmp_path)
