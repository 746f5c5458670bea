"""Keeps a panel at the bottom of a terminal while other text scrolls above it.

``rich.live`` would draw it again for every line of the log, which costs too much at level DEBUG.
"""

from __future__ import annotations

import os
import re
import select
from threading import RLock
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Fewest lines of a terminal that has room for the panel; lines left to the log.
MIN_HEIGHT, LOG_LINES = 6, 3

#: A colour (SGR), or a control character other than line end, carriage return and tab; 0x80 to 0x9f are ESC sequences
#: in one character, and marks of direction change what a line seems to say.
_CONTROLS = re.compile(
    "\x1b\\[[0-9;:]{0,30}m|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

#: Columns assumed if the terminal's width is unknown.
DEFAULT_SIZE = os.terminal_size((80, 24))


class BottomPanel:
    """Writes to ``stream``, a terminal. Thread-safe, because logging is.

    ``gone`` is called once if the terminal has vanished; after that nothing is written.
    """

    def __init__(self, stream: TextIO, gone: Callable[[], None]) -> None:
        self._stream = stream
        self._gone = gone
        self._lock = RLock()
        self._is_gone = False
        self._lengths: list[int] = []  # of the lines of the panel, in columns
        self._drawn = ""
        self._is_shown = False

    def size(self) -> os.terminal_size:
        """Columns and lines now: a terminal may be resized at any time."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return DEFAULT_SIZE
        return os.terminal_size((size.columns or DEFAULT_SIZE.columns, size.lines or DEFAULT_SIZE.lines))

    def draw(self, lines: Sequence[tuple[str, str]]) -> None:
        """Show these lines (label, text) in place of the last ones; none if the terminal is too low, or does not take
        output now (Ctrl-S), because waiting for it would stop the crawl."""
        with self._lock:
            if self._is_gone or not self._is_writable():
                return
            size = self.size()
            shown = lines[: max(0, size.lines - LOG_LINES)] if size.lines >= MIN_HEIGHT else ()
            erased = self._erased()
            self._lengths = [width(label) + 1 + width(text) for label, text in shown]
            self._drawn = styled(shown)
            self._is_shown = bool(shown)
            self._out(erased + self._drawn)

    def write(self, text: str) -> None:
        """Write ``text`` above the panel, without what would move the cursor: logs have strangers' text."""
        text = harmless(text)
        with self._lock:
            if not self._is_gone:
                erased = self._erased()
                self._is_shown = bool(self._lengths) and text.endswith("\n")
                self._out(erased + text + (self._drawn if self._is_shown else ""))

    def erase(self) -> None:
        with self._lock:
            if not self._is_gone:
                self._out(self._erased())
            self._lengths, self._drawn, self._is_shown = [], "", False

    def lose(self) -> None:
        """The terminal has vanished."""
        with self._lock:
            if not self._is_gone:
                self._is_gone = True
                self._gone()

    def _erased(self) -> str:
        """The codes that remove the panel; a line wider than the terminal now takes several of its lines."""
        if not self._is_shown:
            return ""
        columns = self.size().columns
        rows = sum(max(1, -(-length // columns)) for length in self._lengths)
        return f"\r\x1b[{rows}A\x1b[J"

    def _is_writable(self) -> bool:
        try:
            return bool(select.select((), (self._stream.fileno(),), (), 0)[1])
        except (OSError, ValueError):
            self.lose()
            return False

    def _out(self, text: str) -> None:
        if not text:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: closed
            self.lose()


class AbovePanel:
    """Stands for a stream: what is written appears above the panel, everything else is the stream's."""

    def __init__(self, stream: TextIO, panel: BottomPanel) -> None:
        self.stream = stream
        self._panel = panel

    def write(self, text: str) -> int:
        self._panel.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def harmless(text: str) -> str:
    """``text`` with colours, line ends and tabs, and no other control character: these are shown as �. O(n)."""
    return _CONTROLS.sub(lambda match: match[0] if match[0].endswith("m") else "\N{REPLACEMENT CHARACTER}", text)


def width(text: str) -> int:
    """Columns that ``text`` takes: East Asian characters take two, combining ones none."""
    from rich.cells import cell_len

    return cell_len(text)


def styled(lines: Sequence[tuple[str, str]]) -> str:
    """The lines as the terminal shows them, labels in bold type, in a colour unless ``NO_COLOR`` forbids it."""
    bold = "\x1b[1m" if os.environ.get("NO_COLOR") else "\x1b[1;36m"
    return "".join(f"{bold}{label} \x1b[0m{text}\n" for label, text in lines)
