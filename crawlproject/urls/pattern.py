"""Computes the pattern of a URL: the path with numbers replaced, and the names of the parameters.

A server that generates URLs generates many of one pattern; each handwritten URL has a pattern of its own.
"""

from __future__ import annotations

import re

# UUIDs; hexadecimal numbers of at least eight digits with a decimal digit; numbers.
_number = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-z])"
    r"|(?<![0-9a-z])(?=[a-f]*[0-9])[0-9a-f]{8,}(?![0-9a-z])|[0-9]+"
)
_final_date = re.compile(r"/(?:19|20)[0-9]{2}[/-](?:0?[1-9]|1[0-2])([/-](?:0?[1-9]|[12][0-9]|3[01]))?/?\Z")
_numbers_in_a_row = re.compile(r"#(?:[/,._-]+#)+")
_digit = re.compile(r"[0-9]").search
_is_of_dates = re.compile(r"(?:\A|[_-])(?:year|yr|month|mon|week|day|date|time)\Z|date\Z|month\Z|year\Z").search

#: Represents a month in a pattern; twice, a day.
DATE = "@"

#: Path segments kept in the pattern of a URL with parameters: later segments may be arguments of a script.
_SCRIPT_SEGMENTS = 2

#: Maximum length of a pattern (characters): keeps a server's table small.
_MAX_LENGTH = 120


def pattern_of(url: str) -> str | None:
    """The pattern of the canonical *url* within its server; None if the URL has no variable part.

    Numbers become ``#``, adjacent numbers one ``#``, a date at the end of the path ``@``; parameters count by name, and
    all date parameters become one ``@``.
    O(length); 2-4 us, 0.4 us without a variable part.
    """
    start = url.find("/", 8)
    if _digit(url, start) is None and "?" not in url:
        return None
    path, mark, query = url[start:].lower().partition("?")
    path = _final_date.sub(lambda date: "/@@" if date[1] else "/@", path)
    pattern = _numbers_in_a_row.sub("#", _number.sub("#", path)).rstrip("/")
    if not mark:
        return pattern[:_MAX_LENGTH] if "#" in pattern or "@" in pattern else None
    names = {parameter.partition("=")[0] for parameter in query.replace(";", "&").split("&")}
    plain = {name for name in names if _is_of_dates(name) is None}
    segments = pattern.split("/")
    if not plain:  # one pattern for a calendar's day.php, week.php and month.php
        return f"{'/'.join(segments[:-1][: _SCRIPT_SEGMENTS + 1])}/?{DATE}"[:_MAX_LENGTH]
    if len(segments) > _SCRIPT_SEGMENTS + 1:
        pattern = "/".join(segments[: _SCRIPT_SEGMENTS + 1]) + "/*"
    dates = [DATE] if len(plain) < len(names) else []
    return f"{pattern}?{'&'.join([*dates, *sorted(plain)])}"[:_MAX_LENGTH]


def folder_of(url: str) -> str:
    """The pattern of all names in the first folder of the canonical *url*: ``/wiki/*``, ``/*``. O(length)."""
    start = url.find("/", 8) + 1
    end = url.find("/", start)
    return f"/{url[start:end].lower()}/*"[:_MAX_LENGTH] if start <= end < len(url) - 1 else "/*"


def script_of(pattern: str) -> str | None:
    """The path, which all patterns of one script share; None for dates and for paths without parameters. O(length)."""
    path, mark, names = pattern.partition("?")
    return path + mark if names and names != DATE else None
