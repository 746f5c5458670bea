"""Finds the line of a key in a TOML text: ``tomllib`` gives lines only for errors of syntax."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple[str | int, ...]

_ENDS = ("]", "}", '"""', "'''")

_stated_line = re.compile(r"\(at line ([0-9]{1,9}), column [0-9]{1,9}\)").search


def error_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    """The line of an error of syntax; the last one for an unexpected end."""
    stated = _stated_line(str(error))
    return int(stated[1]) if stated else max(1, len(text.splitlines()))


def line_of(text: str, path: Path) -> int:
    """The line, from 1, of the statement that gives the value at ``path``, or of the nearest table above that exists.

    ``text`` is valid TOML.  O(length), and O(log statements) parses.
    """
    while path and not _has(tomllib.loads(text), path):
        path = path[:-1]
    if not path:
        return 1
    lines = text.splitlines(keepends=True)
    starts = _statements(lines)
    ends = [*starts[1:], len(lines)]

    def is_given(number: int) -> bool:
        return _has(tomllib.loads("".join(lines[: ends[number]])), path)

    return starts[bisect_left(range(len(starts)), True, key=is_given)] + 1


def _statements(lines: Sequence[str]) -> list[int]:
    """The first line, from 0, of each statement: the shortest piece that is valid by itself.

    A statement of several lines ends with a bracket, a brace or three quotes: only there it is worth a parse.
    """
    starts: list[int] = []
    piece = ""
    for number, line in enumerate(lines):
        if not piece:
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            starts.append(number)
        elif not any(end in line for end in _ENDS):
            piece += line
            continue
        piece += line
        try:
            tomllib.loads(piece)
        except tomllib.TOMLDecodeError:
            continue
        piece = ""
    return starts


def _has(data: Any, path: Path) -> bool:
    for key in path:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True
