"""The log of URLs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from crawlproject.storage.crawl_log import CrawlLog
from crawlproject.urls.fates import STATS, Ending, Outcome, Reason, Stage

if TYPE_CHECKING:
    from pathlib import Path

#: Of Heritrix's crawl.log.
COLUMNS = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +(-?\d+) +(\d+|-) (\S+) (L*|-) (\S+) (\S+) #\d{3} "
    r"(\d{17}\+\d+|-) - - (\S+)\n"
).fullmatch

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


def test_columns_are_those_of_heritrix(tmp_path: Path) -> None:
    """Whatever the reason, and whatever is in the URL."""
    (line,) = written(tmp_path / "a.log", PAGE)
    assert line == (
        "2001-09-09T01:46:40.500Z   200       1234 http://a.example/x LL http://a.example/ text/html #000 "
        "20010909014640125+375 - - answer:fetched\n"
    )
    odd = [Outcome("http://a.example/a b\nc\x7f", stage, reason) for stage, reason in STATS]
    for line in written(tmp_path / "b.log", *odd):
        found = COLUMNS(line)
        assert found is not None, line
        assert found[3] == "http://a.example/a%20b%0Ac%7F"
        assert int(found[1]) < 0


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


def test_a_full_file_gets_a_number(tmp_path: Path) -> None:
    """No line is lost, and no file replaced."""
    path = tmp_path / "a.log"
    (tmp_path / "a.log.1").write_text("of an earlier run\n")
    for _ in range(3):
        log = CrawlLog(path, 200)
        log.add(PAGE)
        log.add(PAGE)
        log.close()
    texts = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert texts["a.log"] == ""
    assert [texts[f"a.log.{number}"].count("fetched") for number in (1, 2, 3, 4)] == [0, 2, 2, 2]


def test_a_part_of_a_line_is_removed(tmp_path: Path) -> None:
    """A crash has left it."""
    path = tmp_path / "a.log"
    path.write_text("one\nhal")
    assert written(path, PAGE)[0] == "one\n"


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """Before the crawl starts."""
    with pytest.raises(ValueError, match="FRONTIER_CRAWL_LOG="):
        CrawlLog(tmp_path)
