"""The panel at the bottom of a terminal: what it says, where it stands, and that nothing it meets ends the crawl."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import tempfile
import termios
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest
from rich.cells import cell_len

from crawlproject.frontier.budgets import Outlook
from crawlproject.monitor.figures import Figures
from crawlproject.monitor.forecast import Forecast
from crawlproject.monitor.progress.extension import _terminal
from crawlproject.monitor.progress.terminal import BottomPanel
from crawlproject.monitor.progress.words import lines
from crawlproject.monitor.quantities import size
from testbed.web import WebSpec, running_web
from tests.monitor.screen import Screen
from tests.processes import HUNG, Forked, running
from tests.waiting import until

FIGURES = Figures(
    at=0.0,
    elapsed=600.0,
    pages=12_345,
    pages_per_second=161.5,
    mean_pages_per_second=20.6,
    bytes_per_second=1_300_000.0,
    sessions=37,
    session_limit=64,
    servers=Counter(known=1204, ready=12, resting=40, leased=37, given_up=3),
    queued=45_000,
    seen=812_004,
    failures={"not found": 12, "timeout": 3},
    forecast=Forecast(1500.0),
    quality_gathered=63.4,
    quality_queued=36.6,
    held_back="politeness: 40 of 89 servers rest",
)


BUDGET = Outlook("pages", 412.0, 1000.0, 0.00217, 0.0183, 0.0, 1.344)


def text(figures: Figures, width: int = 100) -> str:
    return "\n".join(f"{label} {words}" for label, words in lines(figures, width))


def test_the_budget_that_binds_is_told_with_what_it_is_worth() -> None:
    """Nothing without one, and no worth of what is not limited."""
    assert "Budget" not in text(FIGURES)
    assert (
        "412 pages of 1,000 pages left, worth of one page more 0.00217, one second more 0.0183, twice as much would "
        "gather 1.34 times the quality"
    ) in text(replace(FIGURES, budget=BUDGET), 300)
    bytes_bind = Outlook("size", 4e8, 1e9, 0.0, 0.0, 2e-9, None)
    assert "400 MB of 1.0 GB left, worth of one MB more 0.002" in text(replace(FIGURES, budget=bytes_bind), 300)


def test_the_panel_tells_what_a_person_asks() -> None:
    """Traced by hand."""
    assert text(FIGURES, 120) == (
        "Pages 12,345 in this run, 161.5/s now, 20.6/s mean, 1.3 MB/s, for 10 min\n"
        "Connections 37 of 64, 1,204 servers: 12 ready, 40 resting, 37 in use, 3 given up\n"
        "URLs 45,000 queued, 812,004 seen\n"
        "Quality 63% of what is known\n"
        "Failures not found: 12, timeout: 3\n"
        "Held back by politeness: 40 of 89 servers rest\n"
        "Queue fetched in about 25 min"
    )
    unknown = replace(FIGURES, forecast=Forecast(None, "too few pages yet"))
    assert text(unknown).endswith("Queue time not known: too few pages yet")
    assert "Quality" not in text(replace(unknown, quality_queued=None))
    assert "Queue" not in text(replace(FIGURES, forecast=Forecast(None)))  # the crawl is ending
    assert text(replace(FIGURES, forecast=Forecast(5.0, limit="pages"))).endswith("Limit reached in about 5 s")
    held = replace(FIGURES, queued=177, blocked=100, is_worker=True)
    assert "Pages 12,345 by this worker, " in text(held)
    assert "URLs 177 queued (100 blocked by the operator), 812,004 seen" in text(held)
    assert [size(count) for count in (0, 999, 1500, 2.5e6, 2.5e17)] == ["0 B", "999 B", "1.5 kB", "2.5 MB", "250 PB"]


@pytest.mark.parametrize("width", [200, 80, 40, 20, 5])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    """More lines instead; only a single word that is too long is cut."""
    hostile = replace(FIGURES, held_back="politeness: http://\x1b[2J\u202ex" + "long." * 10_000)
    wide = replace(FIGURES, held_back="一" * 60, failures={"二" * 10: 1, "e\u0301" * 30: 3})
    for figures in (FIGURES, hostile, wide):
        found = lines(figures, width)
        assert all(cell_len(label) + 1 + cell_len(words) <= max(width, len(label) + 3) for label, words in found)
        assert all(words.isprintable() for _, words in found)
        assert len(found) < 40


class Terminal:
    """A terminal: ``file``, to which a program writes, and what was written so far."""

    def __init__(self, columns: int, rows: int) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns, rows)
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST  # no \n -> \r\n
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.file = os.fdopen(slave, "w")
        self._read: list[bytes] = []
        self._end, self._ended = os.pipe()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def _pump(self) -> None:
        with suppress(OSError):  # nobody has it open any more
            while self._end not in select.select([self._master, self._end], [], [])[0]:
                self._read.append(os.read(self._master, 65536))

    def written(self) -> str:
        """What was written so far."""
        return b"".join(self._read).decode()

    def resize(self, columns: int, rows: int) -> None:
        """Tell programs another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def vanish(self) -> None:
        """Hang up. Again without effect: then the number of the descriptor may be another file's."""
        if self._master < 0:
            return
        os.close(self._ended)
        self._thread.join()
        os.close(self._end)
        os.close(self._master)
        self._master = -1


@contextmanager
def terminal(columns: int = 80, rows: int = 24) -> Iterator[Terminal]:
    """A terminal, gone at the end."""
    shown = Terminal(columns, rows)
    try:
        yield shown
    finally:
        shown.vanish()
        with suppress(OSError):
            shown.file.close()


def settled(written: Callable[[], str], wanted: str, process: Forked | None = None) -> str:
    """What was written, once ``wanted`` is in it; raises AssertionError if ``process`` has ended without it."""

    def all_written() -> str:
        if process is not None and process.poll() is not None:
            time.sleep(1)  # for what the thread has not read yet
        return written()

    until(lambda: wanted in all_written(), process, written)
    return written()


def test_the_log_scrolls_above_the_panel() -> None:
    """Also lines that come in pieces; erasing leaves the log alone."""
    with terminal() as shown:
        panel = BottomPanel(shown.file, lambda: None)
        panel.write("first\n")
        panel.draw([("Pages", "1"), ("End", "unknown")])
        panel.write("second\n")
        panel.draw([("Pages", "2"), ("End", "unknown"), ("More", "lines")])
        panel.write("thi")
        panel.write("rd\n")
        screen = Screen()
        screen.write(settled(shown.written, "rd\n"))
        shown.file.write("\n")  # nothing more to come
        assert screen.lines[:6] == ["first", "second", "third", "Pages 2", "End unknown", "More lines"]
        panel.erase()
        shown.file.write("MARK")
        shown.file.flush()
        screen = Screen()
        screen.write(settled(shown.written, "MARK").replace("\nMARK", "").replace("MARK", ""))
        assert screen.lines[:3] == ["first", "second", "third"]


@pytest.mark.parametrize("words", ["x" * 30, "一" * 15], ids=["narrow", "wide"])
def test_a_terminal_that_becomes_narrower(words: str) -> None:
    """The lines shown wrap: all of their rows are erased, of wide characters as well."""
    with terminal(columns=40) as shown:
        panel = BottomPanel(shown.file, lambda: None)
        panel.draw([("Label", words)])
        settled(shown.written, words)
        shown.resize(20, 24)
        panel.draw([("Label", "short")])
        assert "\x1b[2A" in settled(shown.written, "short")


def test_a_low_terminal_shows_no_panel_and_colours_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """``NO_COLOR`` leaves bold type."""
    with terminal(rows=4) as shown:
        BottomPanel(shown.file, lambda: None).draw([("Label", "text")])
        shown.file.write("END")
        shown.file.flush()
        assert settled(shown.written, "END") == "END"
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal() as shown:
        BottomPanel(shown.file, lambda: None).draw([("Label", "text")])
        colours = re.findall(r"\x1b\[([\d;]*)m", settled(shown.written, "text"))
        assert not {"36", "31", "32"} & {part for each in colours for part in each.split(";")}


def test_a_terminal_that_vanishes_is_told_once() -> None:
    """And nothing is written any more."""
    told: list[bool] = []
    with terminal() as shown:
        panel = BottomPanel(shown.file, lambda: told.append(True))
        panel.draw([("Label", "text")])
        shown.vanish()
        while not told:
            panel.write("line\n")
            panel.draw([("Label", "text")])
        panel.write("line\n")
        panel.erase()
        assert told == [True]
        with suppress(OSError):
            shown.file.close()


SPEC = WebSpec(servers=6, pages=40, time_scale=0.1)


@contextmanager
def crawl(stderr: IO[str], folder: Path, **settings: object) -> Iterator[Forked]:
    """A crawl of a few seconds by ``scrapy crawl web``."""
    settings = {
        "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
        "FRONTIER_MIN_DELAY": 1.5,
        "CLOSESPIDER_TIMEOUT": 3,
        **settings,
    }
    options = [f"-s{name}={value}" for name, value in settings.items()]
    with running_web(SPEC) as web:
        command = ["-m", "scrapy", "crawl", "web", "-a", f"seeds={','.join(web.seeds)}", *options]
        with tempfile.TemporaryFile() as out, running(command, stdout=out, stderr=stderr, cwd=folder) as process:
            yield process


PROJECT = Path(__file__).resolve().parents[2]


def test_a_crawl_in_a_terminal_that_is_resized() -> None:
    """The panel is there, then gone; the log has the summary of the crawl below everything else."""
    with terminal(columns=100) as shown, crawl(shown.file, PROJECT, LOG_LEVEL="INFO") as process:
        settled(shown.written, "Pages ", process)
        shown.resize(60, 20)
        assert process.wait(HUNG) == 0
        output = settled(shown.written, "Spider closed (", process)
        assert "Held back by" in output
        assert "Traceback" not in output
        last = output.rpartition("Stats (docs/stats.md)")[2]
        assert "\x1b[" not in last


def test_a_crawl_whose_terminal_vanishes_goes_on(tmp_path: Path) -> None:
    """SIGHUP, and a descriptor that cannot be written to; the log in a file says so."""
    log = tmp_path / "log"
    endless = {"FRONTIER_MIN_DELAY": 30, "CLOSESPIDER_TIMEOUT": 0}
    with terminal() as shown, crawl(shown.file, PROJECT, LOG_FILE=log, **endless) as process:
        settled(shown.written, "Pages ", process)
        process.send_signal(signal.SIGHUP)
        shown.vanish()
        until(lambda: "The terminal was closed" in log.read_text(), process, log)
        process.send_signal(signal.SIGINT)
        assert process.wait(HUNG) == 0
    told = log.read_text()
    assert told.count("The terminal was closed; the crawl continues without it") == 1
    assert "Spider closed (" in told


def test_strangers_text_in_the_log_cannot_move_the_cursor() -> None:
    """Sequences that clear the screen, set its title, ask the terminal; colours of a log stay."""
    with terminal() as shown:
        panel = BottomPanel(shown.file, lambda: None)
        panel.draw([("Pages", "1")])
        panel.write("a\x1b[2J\x1b]0;title\x07b\x9b2J\x1b[6n\x00c\u202ed \x1b[31mred\x1b[0m\tx\n")
        panel.draw([("End", "MARK")])
        screen = Screen()
        written = settled(shown.written, "MARK")
        screen.write(written)
        assert screen.lines[0].startswith("a�[2J�]0;title�b�2J�[6n�c�d red")
        assert "\x1b[31mred\x1b[0m" in written
        assert screen.lines[1].rstrip() == "End MARK"


def test_streams_that_are_no_terminal_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output on another terminal, closed, or None stays as it is; TERM=dumb is no terminal at all."""
    with terminal() as one, terminal() as other:
        assert _terminal(one.file) is not None
        assert _terminal(other.file) != _terminal(one.file)
        assert _terminal(io.StringIO()) is _terminal(None) is None
        monkeypatch.setenv("TERM", "dumb")
        assert _terminal(one.file) is None
        monkeypatch.setenv("TERM", "xterm")
        other.file.close()
        assert _terminal(other.file) is None
