"""A generated site, and what its parts are made from: words and chances that a seed decides, HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from random import Random
from typing import NamedTuple

#: What ``render`` gives for a redirect begins so; its target follows.
REDIRECT = "redirect: "
#: What it gives for plain text begins so.
PLAIN = "plain text: "

#: A path with its query to the HTML there, REDIRECT or PLAIN with its text, or None where there is nothing.
Render = Callable[[str], str | None]


def itself(path: str) -> str:
    """The path of a site that has one address per page."""
    return path


class Site(NamedTuple):
    """A site and what must be found on it."""

    render: Render
    #: Paths of pages with something new on them.
    real: frozenset[str]
    #: Requests that may go elsewhere.
    budget: int = 0
    #: What varies between its pages, how they are linked, or what the trap is.
    kind: str = ""
    #: The same without what changes from request to request.
    quiet: Render | None = None
    #: The real path that a path shows, where a page has many addresses (session ids).
    page_of: Callable[[str], str] = itself
    #: Without end: empty pages, or a trap.
    is_endless: bool = False
    #: Every page of the trap is new.
    is_maze: bool = False


_SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in ("a", "e", "i", "o", "u", "an", "er", "il")]


def chance(*seed: object) -> Random:
    """Random numbers that are always the same for ``seed``."""
    return Random("/".join(map(str, seed)))


def words(count: int, *seed: object) -> str:
    """So many words of some 12,000 that there are."""
    draw = chance("words", *seed)
    return " ".join("".join(draw.choices(_SYLLABLES, k=draw.choice((2, 2, 3)))) for _ in range(count))


@cache
def name(*seed: object) -> str:
    """A proper name."""
    return words(1, "name", *seed).title()


def key(length: int, *seed: object) -> str:
    """So many hexadecimal digits."""
    return f"{chance('key', *seed).getrandbits(length * 4):0{length}x}"


def link(path: str, label: object) -> str:
    """An anchor."""
    return f'<a href="{escape(path)}">{label}</a>'


def table(rows: Iterable[Iterable[object]], *head: str) -> str:
    """A table, its header first."""
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    names = "<tr>" + "".join(f"<th>{each}</th>" for each in head) + "</tr>\n" if head else ""
    return f"<table>\n{names}{lines}</table>"


def lines(given: Iterable[object]) -> str:
    """Text as it stands, line by line."""
    return "<pre>\n" + "\n".join(map(str, given)) + "\n</pre>"


def items(given: Iterable[object]) -> str:
    """A list."""
    return "<ul>" + "".join(f"<li>{each}</li>" for each in given) + "</ul>"
