"""A terminal as a test sees it: lines of text, the cursor, and the control sequences that the panel uses."""

from __future__ import annotations

import re

SEQUENCE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Screen:
    """Endless in height; lines wrap at ``columns``. Any other sequence than the known ones raises ValueError."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self.lines = [""]
        self._row = self._column = 0

    def write(self, text: str) -> None:
        text = re.sub(r"\x1b\[[\d;]*m", "", text)
        for match in SEQUENCE.finditer(text):
            self._do(match[0], match[1], match[2])

    def _do(self, whole: str, number: str | None, letter: str | None) -> None:
        if letter == "A":
            self._row = max(0, self._row - int(number or 1))
        elif letter == "J" and not number:
            del self.lines[self._row + 1 :]
            self.lines[self._row] = self.lines[self._row][: self._column]
        elif letter:
            raise ValueError(whole)
        elif whole == "\r":
            self._column = 0
        elif whole == "\n":
            self._move(self._row + 1)
        else:
            for each in whole:
                if self._column == self.columns:
                    self._move(self._row + 1)
                line = self.lines[self._row].ljust(self._column)
                self.lines[self._row] = line[: self._column] + each + line[self._column + 1 :]
                self._column += 1

    def _move(self, row: int) -> None:
        self._row, self._column = row, 0
        while len(self.lines) <= row:
            self.lines.append("")
