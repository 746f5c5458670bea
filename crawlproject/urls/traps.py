"""Marks URLs as doubtful by their form: endless or redundant URLs that servers generate.

A doubt refuses nothing: the guard (``frontier.guard``) examines the content of such pages.

The rules follow those of other crawlers: Heritrix's ``PathologicalPathDecideRule`` (a part of the path three times in a
row) and ``TooManyPathSegmentsDecideRule`` (20), Nutch's regex filter and BUbiNG's duplicate segments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

#: Heritrix's default; the deepest page of the uic crawl has 7, its deepest link 18.
MAX_SEGMENTS = 20

#: 30 of the 90,988 URLs of the uic crawl have more, all of them searches and prefilled forms.
MAX_PARAMETERS = 10

#: Minimum surplus of equal parts in a repetition: one part three times, or two parts twice.
_REPEATED = 2

#: Slashes of the shortest URL with a repetition: ``http://host/a/a/a``.
_MIN_SLASHES = 5

_nested = re.compile(r"(?:=|%3D|%253D)https?(?::|%3A|%253A)(?://|%2F%2F|%252F%252F)([^/?&#%:]*)", re.IGNORECASE).search
_nested_twice = re.compile(r"https?%25(?:25)*3A", re.IGNORECASE).search

# Endless calendars produce years of up to six digits.  A year and a month without a day count only with a calendar word
# in the path: "/handle/2115/12" is not a month.
_date = re.compile(r"/([0-9]{4,6})[/-](?:0[1-9]|1[0-2])([/-](?:0[1-9]|[12][0-9]|3[01]))?/?\Z").search
_DATE_END = frozenset("0123456789/")
_LONGEST_DATE = len("/100000/12/31/")
_calendar_word = re.compile(r"calend|kalend|event|agenda|schedul|archiv|month|week|day|date", re.IGNORECASE).search

# The last word of a parameter's name must be one of these.  A year has four digits, or is beyond 9999; other values are
# dates only in the format of ISO 8601.  So "candidate=12345", "month=202405" and "date=240531" are not dates.
_of_year = re.compile(r"[?&;](?:[^?=&;]*[^?=&;0-9A-Za-z])?(?:year|yr)=([0-9]{4,6})(?![^&;])", re.IGNORECASE).finditer
_of_date = re.compile(
    r"[?&;](?:[^?=&;]*[^?=&;0-9A-Za-z])?(?:month|week|day|(?:start|end)?date)=([0-9]{4,6})-(?:0[1-9]|1[0-2])(?![0-9A-Za-z])",
    re.IGNORECASE,
).finditer


@dataclass(frozen=True, slots=True)
class TrapRules:
    """Rules for canonical URLs. ``years``: first and last plausible year of a calendar page; None: any."""

    years: tuple[int, int] | None = None

    def reason(self, url: str) -> str | None:
        """Reason for doubting the canonical *url*; None if there is none. O(length); 0.5 us, 1-2 us with a query.

        One of path_depth, repeated_path, parameters, repeated_parameters, nested_url, calendar.
        """
        slashes = url.count("/")
        if slashes >= _MIN_SLASHES:
            reason = _of_path(url, slashes)
            if reason is not None:
                return reason
        mark = url.find("?", 8)
        if mark >= 0:
            reason = _of_query(url, mark)
            if reason is not None:
                return reason
        return "calendar" if self.years is not None and self._is_far(url, mark) else None

    def _is_far(self, url: str, mark: int) -> bool:
        assert self.years is not None
        first, last = self.years
        end = len(url) if mark < 0 else mark
        if url[end - 1] in _DATE_END:
            date = _date(url, max(8, end - _LONGEST_DATE), end)
            if date is not None and not first <= int(date[1]) <= last:
                return date[2] is not None or _calendar_word(url, 8, date.start()) is not None
        if mark >= 0 and "=" in url:
            dates = [*_of_year(url, mark), *_of_date(url, mark)]
            return any(not first <= int(found[1]) <= last and not _is_month(found[1], first, last) for found in dates)
        return False


def _of_path(url: str, slashes: int) -> str | None:
    end = url.find("?", 8)
    segments = (url if end < 0 else url[:end]).split("/")
    del segments[:3]
    if slashes > MAX_SEGMENTS and sum(map(bool, segments)) > MAX_SEGMENTS:
        return "path_depth"
    if len(segments) - len(set(segments)) >= _REPEATED and _is_repetitive(segments):
        return "repeated_path"
    return None


def _of_query(url: str, mark: int) -> str | None:
    query = url[mark + 1 :]
    parameters = query.replace(";", "&").split("&")
    if len(parameters) > MAX_PARAMETERS:
        return "parameters"
    if len(parameters) - len(set(parameters)) >= _REPEATED and "" not in parameters:
        return "repeated_parameters"
    if "http" in query:
        nested = _nested(url, mark)
        if nested is not None and (nested[1].lower() == _host(url) or _nested_twice(query)):
            return "nested_url"
    return None


def leads_back(url: str, page: str) -> bool:
    """Whether a parameter of the canonical *url* is the address of the *page* of the same server that links to it.

    So it is in links to logins and to other forms that return to the page: ``/login?next=/page``.  Paths are compared,
    without query and escapes.  A path of another page proves nothing: ``/browse?path=/doc`` leads to new content; nor
    does the root, which may be that of a browser of files.  O(length); 0.2 us without a parameter.
    """
    query = url.partition("?")[2]
    if "=" not in query:
        return False
    root = page[: page.find("/", 8)]
    own = _path_of(unquote(page), root)
    values = (unquote(parameter.partition("=")[2]) for parameter in query.replace(";", "&").split("&"))
    return own != "" and any("/" in value and _path_of(value, root) == own for value in values)


def _path_of(address: str, root: str) -> str:
    return address.removeprefix(root).partition("#")[0].partition("?")[0].strip("/")


def _is_repetitive(segments: list[str]) -> bool:
    """Whether a sequence of two or more segments occurs twice in a row, or one segment three times.

    Sequences of numbers do not count.  O(segments²) within the limits; called only if segments are equal.
    """
    count = len(segments)
    for size in range(1, count // 2 + 1):
        row = 0  # segments that equal the one `size` before
        for place in range(size, count):
            row = row + 1 if segments[place] == segments[place - size] else 0
            if row >= max(size, _REPEATED):
                part = segments[place - size + 1 : place + 1]
                if not all(segment.isdigit() for segment in part):
                    return True
    return False


def _host(url: str) -> str:
    return url[url.index("/") + 2 : url.find("/", 8)].partition(":")[0]


def _is_month(digits: str, first: int, last: int) -> bool:
    return len(digits) == 6 and first <= int(digits[:4]) <= last and 1 <= int(digits[4:]) <= 12
