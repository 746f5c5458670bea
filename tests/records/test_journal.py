"""Records that wait for the database: in a file, which survives everything."""

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.records.database import AwayError
from crawlproject.records.journal import Journal
from crawlproject.records.pipeline import DatabasePipeline
from crawlproject.records.record import Row
from crawlproject.records.writer import Writer


def rows(*keys: int) -> list[Row]:
    return [
        Row("t", "s", str(key), 1.0, {"n": key, "on": date(2024, 1, 2), "at": datetime(2024, 1, 2)}) for key in keys
    ]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """In order, in batches, after a crash; when all are done, nothing is left."""
    journal = Journal(tmp_path / "j")
    journal.append(rows(1, 2, 3))
    found, place, bad = journal.read(2)
    assert (found, bad) == (rows(1, 2), 0)
    journal.done(place)
    os.close(journal._file)  # a crash
    again = Journal(tmp_path / "j")
    found, place, _ = again.read(10)
    assert found == rows(1, 2, 3)  # some again, which changes nothing
    assert again.count() == 3
    again.append(rows(4))
    again.done(place)
    found, place, _ = again.read(10)
    assert found == rows(4)
    again.done(place)
    assert again.is_empty
    again.close()
    assert list(tmp_path.iterdir()) == []


def test_values_that_look_like_the_journals_own(tmp_path: Path) -> None:
    """JSON of a page is kept, whatever is in it."""
    row = Row("t", "s", "k", 1.0, {"any": [{"$datetime": "soon"}, {"$date": "x"}, {"$date": 1}]})
    journal = Journal(tmp_path / "j")
    journal.append([row])
    found, _, bad = journal.read(1)
    assert (found, bad) == ([row], 0)


@pytest.mark.usefixtures("no_collection")
def test_damaged_lines_cost_no_other(tmp_path: Path) -> None:
    """Torn, binary, of another shape, nested without end."""
    whole = Journal(tmp_path / "j")
    whole.append(rows(1))
    os.close(whole._file)
    line = (tmp_path / "j").read_bytes()
    deep = b"[" * 100_000
    (tmp_path / "j").write_bytes(b"\xff\n{}\n[1]\n" + deep + b"\n" + line + b'["t","s","k",1.0,7]\n' + line[:20])
    journal = Journal(tmp_path / "j")
    journal.append(rows(2))
    found, place, bad = journal.read(100)
    assert found == rows(1, 2)
    assert bad == 6
    journal.done(place)
    journal.close()


def test_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of a row before the disk was full is removed."""
    journal = Journal(tmp_path / "j")
    journal.append(rows(1))
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:-10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        journal.append(rows(2))
    monkeypatch.undo()
    journal.append(rows(3))
    assert journal.read(10)[0] == rows(1, 3)
    journal.close()


def test_each_process_has_its_own(tmp_path: Path) -> None:
    one, other = Journal(tmp_path / "j"), Journal(tmp_path / "j")
    assert [one.path.name, other.path.name] == ["j", "j.2"]
    one.close()
    other.close()


def test_rows_of_a_process_that_is_gone_are_taken_over(tmp_path: Path) -> None:
    """Of two processes that shared a database and were killed, one starts again; a third one lives."""
    one, other, third = (Journal(tmp_path / "j") for _ in range(3))
    for number, journal in enumerate((one, other, third)):
        journal.append(rows(number))
    os.write(other._file, b'["torn')
    os.close(one._file)
    os.close(other._file)  # crashes
    (tmp_path / "j.aside").touch()
    (tmp_path / "j.4.bak").touch()
    again = Journal(tmp_path / "j")
    found, _, bad = again.read(10)
    assert (found, bad) == (rows(0, 1), 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j", "j.3", "j.4.bak", "j.aside"]
    again.append(rows(5))
    assert again.read(10)[0] == rows(0, 1, 5)
    assert third.read(10)[0] == rows(2)


def test_a_file_that_its_process_removes_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It closes between the opening and the lock: what is written there would be lost."""
    last = Journal(tmp_path / "j")
    lock = fcntl.flock

    def close_first(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        last.close()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", close_first)
    journal = Journal(tmp_path / "j")
    journal.append(rows(1))
    os.close(journal._file)  # a crash
    assert Journal(tmp_path / "j").read(10)[0] == rows(1)


def aside_of(journal: Journal) -> Journal:
    return Journal(journal.path.with_name(f"{journal.path.name}.aside"))


class Books:
    """A database that is away until told, and refuses the key 13."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away
        self.written: list[str] = []
        self.asked = Event()

    def write(self, rows: list[Row]) -> list[tuple[Row, str]]:
        self.asked.set()
        if self.is_away:
            raise AwayError("connection refused")
        self.written += [row.key for row in rows if row.key != "13"]
        return [(row, "unlucky") for row in rows if row.key == "13"]

    def close(self) -> None:
        pass


def writing(
    books: Books,
    journal: Journal,
    counts: dict[str, int],
    patience: float = 0.0,
    before: Callable[[Journal], None] = lambda _: None,
) -> Writer:
    def count(stat: str, number: int) -> None:
        counts[stat] = counts.get(stat, 0) + number

    aside = aside_of(journal)
    before(aside)
    writer = Writer(books, journal, 100, count, patience=patience, aside=aside)  # type: ignore[arg-type]
    writer.start()
    return writer


def test_writer_writes_everything(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What an earlier crawl left as well; a refused row costs one stat and one line."""
    books, counts, journal = Books(), dict[str, int](), Journal(tmp_path / "j")
    journal.append(rows(1, 13))
    writer = writing(books, journal, counts)
    journal.append(rows(2))
    writer.wake()
    assert writer.close()
    assert sorted(books.written) == ["1", "2"]
    assert counts == {"records/db/written": 2, "records/db/failed": 1}
    path = tmp_path / "j.aside"
    (line,) = (record.getMessage() for record in caplog.records)
    assert line == f"Record t '13' of s is refused (unlucky): it is kept in {path}"
    journal.close()
    journal = Journal(tmp_path / "j")
    writer._aside.close()
    aside = Journal(path)
    journal.absorb(aside)
    assert journal.read(10)[0] == rows(13)  # the next crawl tries it again
    aside.close()
    journal.close()


def test_refused_rows_that_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk they stay in the journal."""
    books, counts, journal = Books(), dict[str, int](), Journal(tmp_path / "j")
    books.write = lambda some: [(row, "unlucky") for row in some]  # type: ignore[method-assign]
    tried = Event()

    def full(_: list[Row]) -> None:
        tried.set()
        raise OSError(errno.ENOSPC, "No space left on device")

    journal.append(rows(1))
    with monkeypatch.context() as broken:
        writer = writing(books, journal, counts, before=lambda aside: broken.setattr(aside, "append", full))
        assert tried.wait(60)
        assert not writer.close()
    assert counts == {"records/db/away": 1}
    assert journal.read(10)[0] == rows(1)
    writer._aside.close()


def test_nothing_is_lost_while_the_database_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """To the end of the crawl: the next one writes it. One line, one stat."""
    books, counts, journal = Books(is_away=True), dict[str, int](), Journal(tmp_path / "j")
    journal.append(rows(1, 2))
    writer = writing(books, journal, counts)
    writer.wake()
    assert books.asked.wait(60)
    assert not writer.close()
    writer._aside.close()
    journal.close()
    assert counts == {"records/db/away": 1}
    assert len(caplog.records) == 1
    later, journal = Books(), Journal(tmp_path / "j")
    writer = writing(later, journal, counts)
    assert writer.close()
    assert later.written == ["1", "2"]
    writer._aside.close()
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_database_that_comes_back(tmp_path: Path) -> None:
    books, counts, journal = Books(is_away=True), dict[str, int](), Journal(tmp_path / "j")
    journal.append(rows(1))
    writer = writing(books, journal, counts, patience=120.0)
    assert books.asked.wait(60)
    books.is_away = False
    assert writer.close()
    assert books.written == ["1"]
    journal.close()


def test_after_an_unexpected_error_nothing_is_lost(tmp_path: Path) -> None:
    """Rows in the journal are written later."""
    books, counts, journal = Books(), dict[str, int](), Journal(tmp_path / "j")
    write, has_failed = books.write, Event()

    def fail_once(some: list[Row]) -> list[tuple[Row, str]]:
        if not has_failed.is_set():
            has_failed.set()
            raise ZeroDivisionError
        return write(some)

    books.write = fail_once  # type: ignore[method-assign, assignment]
    journal.append(rows(1))
    writer = writing(books, journal, counts, patience=10)
    assert writer.close()
    assert books.written == ["1"]
    journal.close()


def test_rows_of_another_journal_are_taken_over(tmp_path: Path) -> None:
    journal, other = Journal(tmp_path / "j"), Journal(tmp_path / "j.aside")
    journal.append(rows(1))
    other.append(rows(2, 3))
    journal.absorb(other)
    assert other.is_empty
    assert journal.read(10)[0] == rows(1, 2, 3)
    other.close()
    journal.close()
    assert [path.name for path in tmp_path.iterdir()] == ["j"]


def test_keys_that_json_lacks_cost_no_item(tmp_path: Path) -> None:
    """Numbers beside texts, which cannot be sorted, and tuples become texts."""
    settings = {"FRONTIER_RECORDS_DB": f"sqlite:///{tmp_path}/r.db", "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/pending"}
    pipeline = DatabasePipeline.from_crawler(get_crawler(settings_dict=settings))
    item = {"url": "http://a.example/", "sizes": {"S": 1, 40: 2, None: 3, (1, 2): [{True: 4, "x": (5,)}]}}
    assert asyncio.run(pipeline.process_item(item)) is item
    ((row,), *_) = pipeline._journal.read(10)
    pipeline._journal.close()
    assert row.values["sizes"] == {"S": 1, "40": 2, "None": 3, "(1, 2)": [{"True": 4, "x": [5]}]}


def test_item_that_is_nested_too_deeply_costs_one_stat_and_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes on to the feeds; the database, and the crawl, get the next one."""
    settings = {"FRONTIER_RECORDS_DB": f"sqlite:///{tmp_path}/r.db", "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/pending"}
    crawler = get_crawler(settings_dict=settings)
    pipeline = DatabasePipeline.from_crawler(crawler)
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"in": deep}
    endless: dict[str, Any] = {"url": "http://a.example/1"}
    endless["self"] = endless
    for item in (deep, endless):
        assert asyncio.run(pipeline.process_item(item)) is item
    assert asyncio.run(pipeline.process_item({"url": "http://a.example/"}))
    assert len(pipeline._journal.read(10)[0]) == 1
    pipeline._journal.close()
    assert crawler.stats is not None
    assert crawler.stats.get_value("records/lost") == 2
    assert caplog.text.count("nested in itself") == 1
