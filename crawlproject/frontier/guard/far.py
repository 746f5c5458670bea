"""Asks whether a server makes pages of a kind without end: an address that no finite site has.

A far address differs from a known one only where two neighbours of the kind differ: the year 2091, a number of eight
digits, another hash, a name that nobody gave.  A site that has an end answers with an error, or with a page that does
not lead on from there.  If the page leads on, to neighbours of the far address, then so does every other one.
(Soft 404s are recognized in a similar way by Bar-Yossef et al., Sic transit gloria telae, WWW 2004.)
"""

from __future__ import annotations

import re
from bisect import bisect_left
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class End(StrEnum):
    """Whether a server has an end of pages of a kind."""

    #: Nobody has asked yet, or there was no answer.
    UNKNOWN = ""
    #: The question is on its way.
    ASKED = "asked"
    #: A far address does not exist.
    FINITE = "finite"
    #: A page at a far address leads on from there.
    ENDLESS = "endless"
    #: It has links of its kind that are new, but not beside it: a list of other pages, or a maze.
    OPEN = "open"


class Far(NamedTuple):
    """A far address, and what its neighbours have in their addresses."""

    url: str
    #: One of these, in lower case.
    values: tuple[str, ...]


#: Directions in which a pattern may have no end: as bits, to remember which were asked for.
UP, DOWN = 1, 2

#: Years far from now, in which no site of our time has pages.
FAR_YEARS = {UP: 2091, DOWN: 1873}
_LEAST_DISTANCE = 10
#: Placed before and behind the digits of a number: its neighbours begin alike.
_FAR_START, _FAR_DIGITS = "90", 5
#: Most repetitions, and characters, added to a path that repeats itself.
_REPETITIONS, _MAX_GROWTH = 3, 200
_NAME = "zqx"
#: Characters of addresses by which their order in time is found; a page has many links.
_MAX_COMPARED = 500

_parts = re.compile(r"[0-9]+|[^0-9/?&=;#]+|[/?&=;#]").findall
_hash = re.compile(r"(?<![0-9a-z])(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z]{6,}(?![0-9a-z])", re.IGNORECASE)
# A year, and what may be a month after it; year, month and day in one number.
_date = re.compile(r"(?<![0-9])((?:19|20)[0-9]{2})(?=[/_-]?(?:0?[1-9]|1[0-2])(?![0-9])|[01][0-9][0-3][0-9](?![0-9]))")
_year = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
_number = re.compile(r"[0-9]+")
_seconds = re.compile(r"1[0-9]{9}(?:[0-9]{3})?")
_of_date = re.compile(r"(?:^|[?&;_-])[a-z]{0,12}(?:year|yr|month|mon|week|day|date)[a-z]{0,8}=", re.IGNORECASE).search


def direction(url: str, other: str) -> int:
    """In which direction ``other`` is from the canonical ``url``: UP or DOWN in time, both if that says nothing."""
    start = url.find("/", 8)
    path, target = url[start:][:_MAX_COMPARED], other[start:][:_MAX_COMPARED]
    if not _is_of_date(path, list(_changed(path, target))):
        return UP | DOWN
    return UP if _date_of(target) >= _date_of(path) else DOWN


def far_addresses(url: str, other: str) -> list[Far]:
    """Far addresses of the kind of the canonical ``url`` and ``other``, which both exist; at most two. O(length)."""
    start = url.find("/", 8)
    if start < 0 or other.find("/", 8) < 0 or url == other:
        return []
    root, path, target = url[:start], url[start:], other[start:]
    growth = _growth(path, target)
    if growth:
        return [Far(root + path + growth * _REPETITIONS, ((path + growth * _REPETITIONS).lower(),))]
    changed = list(_changed(path, target)) or [len(path) - 1] * ("?" in path)
    if not changed:  # the other one goes on where this one ends
        stem = target.rstrip("/")
        longer = stem + stem[stem.rfind("/") :] * _REPETITIONS + target[len(stem) :]
        far = [(longer, (longer.lower(),)), *_with_value(target, len(stem) - 1)]
        return [Far(root + each, values) for each, values in far if each not in (path, target)]
    found: list[tuple[str, tuple[str, ...]]] = []
    if _is_of_date(path, changed):
        found = _with_year(path, direction(url, other))
    found = found or [*_with_value(path, changed[-1]), *_with_year(path, UP)]
    return [Far(root + far, values) for far, values in found if far not in (path, target)]


def _is_of_date(path: str, changed: list[int]) -> bool:
    for each in _date.finditer(path):
        place = bisect_left(changed, each.start())
        if place < len(changed) and changed[place] < each.end() + 6:
            return True
    mark = path.find("?")
    return (mark >= 0 and _of_date(path, mark) is not None) or any(_is_year(path, at) for at in changed)


def _date_of(path: str) -> list[int]:
    found = _year.search(path) or _date.search(path)
    return [int(digits) for digits in _number.findall(path[found.start() if found else 0 :][:40])]


def _changed(path: str, target: str) -> Iterator[int]:
    """Where the words and numbers of ``path`` differ from those of ``target``."""
    at = 0
    mine, others = _parts(path), _parts(target)
    for place, part in enumerate(mine):
        if (place >= len(others) or part != others[place]) and part not in "/?&=;#":
            yield at
        at += len(part)
        if place >= len(others):
            break


def _is_year(path: str, at: int) -> bool:
    return _year.match(path, at) is not None and (at == 0 or not path[at - 1].isdigit())


def _with_year(path: str, way: int) -> list[tuple[str, tuple[str, ...]]]:
    """``path`` in a far year."""
    found = _date.search(path) or _year.search(path)
    if found is None:
        return []
    far = FAR_YEARS.get(way, FAR_YEARS[UP])
    far += 67 if abs(int(found[0][:4]) - far) < _LEAST_DISTANCE else 0
    values = tuple(str(year) for year in range(far - 6, far + 7))
    return [(f"{path[: found.start()]}{far}{path[found.start() + 4 :]}", values)]


def _with_value(path: str, at: int) -> list[tuple[str, tuple[str, ...]]]:
    """``path`` with a far value in place of the one at ``at``."""
    for found in _hash.finditer(path):
        if found.start() <= at < found.end():
            far = _other_hash(found[0])
            return [(path[: found.start()] + far + path[found.end() :], (far,))]
    number = next((each for each in _number.finditer(path) if each.start() <= at < each.end()), None)
    if number is not None:
        far = _far_number(number[0])
        return [(path[: number.start()] + far + path[number.end() :], (far[:-3],))]
    end = next((place for place in range(at, len(path)) if path[place] in "/?&=;#.0123456789"), len(path))
    start = max((path.rfind(each, 0, at) for each in "/?&=;"), default=-1) + 1
    name = path[start:end]
    far = _NAME + name[::-1][:20].strip("%").replace("%", "").lower() + _NAME
    return [(path[:start] + far + path[end:], (far,))] if name else []


def _far_number(digits: str) -> str:
    if _seconds.fullmatch(digits):
        return str(int(digits[:10]) + 67 * 31_556_952) + digits[10:]
    return _FAR_START + "0" * max(0, _FAR_DIGITS - len(digits)) + digits + "0" * (len(digits) < _FAR_DIGITS)


def _other_hash(value: str) -> str:
    turned = {each: "0123456789"[(place * 7 + 3) % 10] for place, each in enumerate("0123456789")}
    turned |= {each: "abcdef"[(place + 3) % 6] for place, each in enumerate("abcdef")}
    return "".join(turned.get(each, each) for each in value.lower())[::-1]


def _growth(path: str, target: str) -> str:
    if not target.startswith(path) or "?" in target:
        return ""
    growth = target[len(path) :]
    is_same = path.endswith(growth) or path.rstrip("/").endswith(growth.strip("/"))
    return growth if is_same and 1 < len(growth) <= _MAX_GROWTH else ""


def end_of(far: Far, links: Iterable[str], is_of_kind: Callable[[str], bool], is_known: Callable[[str], bool]) -> End:
    """What the page at a far address tells, by the canonical ``links`` on it. O(length) each."""
    found = End.FINITE
    for url in links:
        if url == far.url or not is_of_kind(url):
            continue
        rest = url[url.find("/", 8) :].lower()
        if any(value in rest for value in far.values):
            return End.ENDLESS
        if not is_known(url):
            found = End.OPEN
    return found
