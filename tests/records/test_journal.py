"""Records that wait for the database: in a file, which survives everything."""

import asyncio
import errno
import fcntl
import os
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.records.database import AwayError
from crawlproject.records.journal import Journal
from crawlproject.records.pipeline import DatabasePipeline, Writer
from crawlproject.records.record import Row


def rows(*keys: int) -> list[Row]:
    return [
        Row("t", "s", str(key), 1.0, {"n": key, "on": date(2024, 1, 2), "at": datetime(2024, 1, 2)}) for key in keys
    ]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """In order, in batches, after a crash, whatever JSON a page had; when all are done, nothing is left."""
    odd = Row("t", "s", "k", 1.0, {"any": [{"$datetime": "soon"}, {"$date": "x"}, {"$date": 1}]})
    journal = Journal(tmp_path / "j")
    journal.append([*rows(1, 2), odd])
    found, place, bad = journal.read(2)
    assert (found, bad) == (rows(1, 2), 0)
    journal.done(place)
    os.close(journal._file)  # a crash
    again = Journal(tmp_path / "j")
    found, place, _ = again.read(10)
    assert found == [*rows(1, 2), odd]  # some again, which changes nothing
    assert again.count() == 3
    again.append(rows(4))
    again.done(place)
    found, place, _ = again.read(10)
    assert found == rows(4)
    again.done(place)
    assert again.is_empty
    again.close()
    assert list(tmp_path.iterdir()) == []


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


def test_each_process_has_its_own_and_takes_over_those_of_the_dead(tmp_path: Path) -> None:
    """Of three processes that shared a database, two were killed, one of which starts again; refused rows as well."""
    one, other, third = (Journal(tmp_path / "j") for _ in range(3))
    aside = Journal(tmp_path / "j.aside")
    assert [journal.path.name for journal in (one, other, third)] == ["j", "j.2", "j.3"]
    for number, journal in enumerate((one, other, third, aside)):
        journal.append(rows(number))
    os.write(other._file, b'["torn')
    for journal in (one, other, aside):
        os.close(journal._file)  # crashes
    (tmp_path / "j.4.bak").touch()
    again = Journal(tmp_path / "j")
    found, _, bad = again.read(10)
    assert (sorted(row.key for row in found), bad) == (["0", "1", "3"], 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j", "j.3", "j.4.bak"]
    again.append(rows(5))
    assert again.read(10)[0][-1:] == rows(5)
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


class Books:
    """A crawl's writer, and its database, which is away until told, and refuses the key 13."""

    def __init__(self, folder: Path) -> None:
        self.journal, self.aside = Journal(folder / "j"), Journal(folder / "j.aside")
        self.is_away = False
        self.error: Exception = AwayError("connection refused")
        self.written: list[str] = []
        self.asked = Event()
        self.counts: Counter[str] = Counter()

    def start(self, patience: float = 0.0) -> Writer:
        writer = Writer(self, self.journal, self.aside, self.count, patience)  # type: ignore[arg-type]
        writer.start()
        return writer

    def end(self) -> None:
        self.journal.close()
        self.aside.close()

    def count(self, stat: str, number: int) -> None:
        self.counts[stat] += number

    def write(self, rows: list[Row]) -> list[tuple[Row, str]]:
        self.asked.set()
        if self.is_away:
            raise self.error
        self.written += [row.key for row in rows if row.key != "13"]
        return [(row, "unlucky") for row in rows if row.key == "13"]

    def close(self) -> None:
        pass


@pytest.fixture
def books(tmp_path: Path) -> Iterator[Books]:
    made = Books(tmp_path)
    yield made
    made.end()


def test_writer_writes_everything(books: Books, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What an earlier crawl left as well; a refused row costs one stat and one line."""
    books.journal.append(rows(1, 13))
    writer = books.start()
    books.journal.append(rows(2))
    writer.wake()
    assert writer.close()
    assert sorted(books.written) == ["1", "2"]
    assert books.counts == {"records/db/written": 2, "records/db/failed": 1}
    (line,) = (record.getMessage() for record in caplog.records)
    assert line == f"Record t '13' of s is refused (unlucky): it is kept in {tmp_path / 'j.aside'}"
    assert books.aside.read(10)[0] == rows(13)


def test_refused_rows_that_cannot_be_kept(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk they stay in the journal."""
    tried = Event()

    def full(_: list[Row]) -> None:
        tried.set()
        raise OSError(errno.ENOSPC, "No space left on device")

    books.journal.append(rows(13))
    monkeypatch.setattr(books.aside, "append", full)
    writer = books.start()
    assert tried.wait(60)
    assert not writer.close()
    assert books.counts == {"records/db/away": 1}
    assert books.journal.read(10)[0] == rows(13)


def test_nothing_is_lost_while_the_database_is_away(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """To the end of the crawl: the next one writes it. One line, one stat."""
    books = Books(tmp_path)
    books.is_away = True
    books.journal.append(rows(1, 2))
    writer = books.start()
    writer.wake()
    assert books.asked.wait(60)
    assert not writer.close()
    books.end()
    assert books.counts == {"records/db/away": 1}
    assert len(caplog.records) == 1
    later = Books(tmp_path)
    assert later.start().close()
    assert later.written == ["1", "2"]
    later.end()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [AwayError("connection refused"), ZeroDivisionError()])
def test_database_that_comes_back(books: Books, error: Exception) -> None:
    """Also after an error that nobody expects."""
    books.is_away, books.error = True, error
    books.journal.append(rows(1))
    writer = books.start(patience=120.0)
    assert books.asked.wait(60)
    books.is_away = False
    assert writer.close()
    assert books.written == ["1"]


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[DatabasePipeline]:
    settings = {"FRONTIER_RECORDS_DB": f"sqlite:///{tmp_path}/r.db", "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/pending"}
    made = DatabasePipeline.from_crawler(get_crawler(settings_dict=settings))
    yield made
    made._journal.close()


def test_keys_that_json_lacks_cost_no_item(pipeline: DatabasePipeline) -> None:
    """Numbers beside texts, which cannot be sorted, and tuples become texts."""
    item = {"url": "http://a.example/", "sizes": {"S": 1, 40: 2, None: 3, (1, 2): [{True: 4, "x": (5,)}]}}
    assert asyncio.run(pipeline.process_item(item)) is item
    ((row,), *_) = pipeline._journal.read(10)
    assert row.values["sizes"] == {"S": 1, "40": 2, "None": 3, "(1, 2)": [{"True": 4, "x": [5]}]}


def test_item_that_is_nested_too_deeply_costs_one_stat_and_one_line(
    pipeline: DatabasePipeline, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes on to the feeds; the database, and the crawl, get the next one."""
    deep: dict[str, Any] = {}
    for _ in range(2000):
        deep = {"in": deep}
    endless: dict[str, Any] = {"url": "http://a.example/1"}
    endless["self"] = endless
    for item in (deep, endless):
        assert asyncio.run(pipeline.process_item(item)) is item
    assert asyncio.run(pipeline.process_item({"url": "http://a.example/"}))
    assert len(pipeline._journal.read(10)[0]) == 1
    assert pipeline._stats.get_value("records/lost") == 2
    assert caplog.text.count("nested in itself") == 1
