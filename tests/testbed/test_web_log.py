"""The file that a log is written to."""

from pathlib import Path

from testbed.web import AccessLog, Record, read_log, read_spec

from .browser import fast

OPEN = Record("open", "127.1.0.1", 1, 0, 10.5, 10.5, 0, 0, "", "", "")
REQUEST = Record("request", "127.1.0.1", 1, 1, 10.75, 11.25, 200, 8123, "/p1.html?sid=0a", "/p1.html", "disallowed")


def test_file_gives_back_records_and_spec(tmp_path: Path) -> None:
    """What is written can be read back, with the spec and port of the web."""
    log = AccessLog(tmp_path / "log.tsv")
    log.open(fast(), 8000)
    log.add(OPEN)
    log.add(REQUEST)
    log.close()
    assert read_log(tmp_path / "log.tsv") == list(log.records) == [OPEN, REQUEST]
    assert read_spec(tmp_path / "log.tsv") == (fast(), 8000)


def test_flush_makes_records_readable(tmp_path: Path) -> None:
    """A flushed record can be read while the log is still open; a line cut off at the end is left out."""
    log = AccessLog(tmp_path / "log.tsv")
    log.open(fast(), 8000)
    log.add(OPEN)
    log.flush()
    assert read_log(tmp_path / "log.tsv") == [OPEN]
    log.close()
    with (tmp_path / "log.tsv").open("a") as file:
        file.write("request\t127.1")
    assert read_log(tmp_path / "log.tsv") == [OPEN]
