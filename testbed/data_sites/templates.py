"""What varies between pages, as a template: a title and HTML, parted by ``::``.

In braces, ``{12*...}``, a part is
repeated, and ``[i]`` in it counts from 0.  In brackets stands what varies:

    [red|blue]        one of these                  [3-90] [1.0-9.5]  a number with as many decimals
    [#12]             hexadecimal digits            [ACGT*60]         letters, so many of them
    [time]            of a day, as 17:05            [date] [n]        of the record; its number
    [5 words]         words of its own              [9 words oath]    the same on all pages
    [team/12]         one name of twelve            [3 team/12]       three of them, none twice
    [team 7]          the seventh of these names
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from random import Random

from testbed.data_sites.site import name, words

#: The day of record 0.
START = date(2022, 1, 1)

#: Title and HTML of a record by its number and random numbers that are its own.
Kind = Callable[[int, Random], tuple[str, str]]
#: What stands instead of a hole, by its form, the record's number and random numbers.
Fill = Callable[[re.Match[str], int, Random], str]

_REPEATED = re.compile(r"\{([0-9]+)\*([^{}]*)\}")
_HOLE = re.compile(r"\[([^\[\]]+)\]")


def filling(template: str) -> Kind:
    """The records of a template. Raises ValueError for an unknown form."""
    whole = _REPEATED.sub(lambda part: "".join(part[2].replace("[i]", str(at)) for at in range(int(part[1]))), template)
    texts = _HOLE.split(whole)
    fills = [_filler(hole) for hole in texts[1::2]]

    def record(number: int, draw: Random) -> tuple[str, str]:
        texts[1::2] = [fill(found, number, draw) for found, fill in fills]
        title, _, body = "".join(texts).partition(" :: ")
        return title, body

    return record


def _filler(hole: str) -> tuple[re.Match[str], Fill]:
    """What fills a hole in a template, and with which arguments."""
    for form, fill in _FORMS:
        found = re.fullmatch(form, hole)
        if found is not None:
            return found, fill
    raise ValueError(f"[{hole}]: no such form")


def _number(found: re.Match[str], number: int, draw: Random) -> str:
    least, most = found.groups()
    decimals = len(most.partition(".")[2])
    return f"{draw.uniform(float(least), float(most)):.{decimals}f}"


def _names(found: re.Match[str], number: int, draw: Random) -> str:
    return ", ".join(name(found[2], at) for at in draw.sample(range(int(found[3])), int(found[1] or 1)))


def _time(found: re.Match[str], number: int, draw: Random) -> str:
    return f"{draw.randrange(24):02}:{draw.randrange(60):02}"


_FORMS: tuple[tuple[str, Fill], ...] = (
    (r"n", lambda found, number, draw: str(number)),
    (r"date", lambda found, number, draw: f"{START + timedelta(number):%d %B %Y}"),
    (r"time", _time),
    (r"(.*\|.*)", lambda found, number, draw: draw.choice(found[1].split("|"))),
    (r"(-?[0-9.]+)-([0-9.]+)", _number),
    (r"#([0-9]+)", lambda found, number, draw: f"{draw.getrandbits(4 * int(found[1])):0{found[1]}x}"),
    (r"(.+)\*([0-9]+)", lambda found, number, draw: "".join(draw.choices(found[1], k=int(found[2])))),
    (r"([0-9]+) words", lambda found, number, draw: words(int(found[1]), draw.random())),
    (r"([0-9]+) words (\w+)", lambda found, number, draw: words(int(found[1]), found[2])),
    (r"(?:([0-9]+) )?(\w+)/([0-9]+)", _names),
    (r"(\w+) ([0-9]+)", lambda found, number, draw: name(found[1], int(found[2]))),
)
