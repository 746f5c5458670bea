"""Learns whether a server's URLs with the extension of an image, an archive, … are such files or pages.

``/w/index.php/File:A.jpg`` is a page, ``/w/images/A.jpg`` is not: so the unit is a *kind*, an extension below one
directory.

Also how large the answers to URLs with an extension are, so that large files come late where bytes are limited: a URL's
bytes are its server's, times the mean size of its extension relative to that of all answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from collections.abc import ItemsView

#: Kinds remembered per server; further kinds count as one per extension, whatever their directory.
MAX_KINDS = 64

#: Kinds of an extension below one first path segment; further kinds there count as one.
MAX_DIRECTORIES = 8

#: ``FileKinds.answers`` of a kind that has pages.
PAGES = -1

#: Path segments that form a kind, and characters of each.
_MAX_SEGMENTS = 3
_MAX_SEGMENT = 40

#: Segments up to this length, and segments with digits, are assumed to split a large folder: they count as one.
_SHORT = 2


def extension_of(url: str) -> str:
    """The extension of the canonical *url*'s path in lower case; empty if it has none. O(length)."""
    path = url[url.find("/", 8) : end] if (end := url.find("?", 8)) >= 0 else url[url.find("/", 8) :]
    return path.rpartition(".")[2].lower() if "." in path else ""


def kind_of(url: str) -> str:
    """The kind of the canonical *url*: its extension, and the first directories of its path. O(length).

    >>> kind_of("http://a.org/images/c.JPG?d"), kind_of("http://a.org/c.jpg"), kind_of("http://a.org/w/images/a/a1/c.jpg")
    ('jpg images', 'jpg ', 'jpg w/images/#')
    """
    start = url.find("/", 8) + 1
    end = url.find("?", 8)
    first, *others = url[start : end if end >= 0 else len(url)].split("/", _MAX_SEGMENTS)[:_MAX_SEGMENTS]
    if not others:
        return f"{extension_of(url)} "
    is_cut = url.count("/", start, end if end >= 0 else len(url)) >= _MAX_SEGMENTS
    directories = [first[:_MAX_SEGMENT], *map(_directory, others if is_cut else others[:-1])]
    return f"{extension_of(url)} {'/'.join(directories)}"


def _directory(segment: str) -> str:
    is_part = len(segment) <= _SHORT or any(map(str.isdigit, segment[:_MAX_SEGMENT]))
    return "#" if is_part else segment[:_MAX_SEGMENT]


class FileKinds(Stored):
    """For each kind of one server: number of answers that were not pages; ``PAGES`` once one was a page."""

    __slots__ = ("_answers",)
    STATE = __slots__

    def __init__(self) -> None:
        self._answers: dict[str, int] = {}

    def items(self) -> ItemsView[str, int]:
        """All kinds with their answers."""
        return self._answers.items()

    def answers(self, kind: str) -> int:
        """Number of answers of ``kind`` that were not pages; ``PAGES`` if one was. O(1)."""
        return self._answers.get(self._kept(kind), 0)

    def learn(self, kind: str, *, is_page: bool) -> None:
        """Count an answer of ``kind``. O(1)."""
        kind = self._kept(kind)
        known = self._answers.get(kind, 0)
        self._answers[kind] = PAGES if is_page or known == PAGES else known + 1

    def _kept(self, kind: str) -> str:
        if kind in self._answers:
            return kind
        extension, _, directory = kind.partition(" ")
        first = f"{extension} {directory.partition('/')[0]}/"
        if sum(known.startswith(first) for known in self._answers) >= MAX_DIRECTORIES and kind.startswith(first):
            kind = f"{first}*"
        return kind if kind in self._answers or len(self._answers) < MAX_KINDS else f"{extension} *"


#: Extensions with a mean of their own, the first ones met; longer ones have none.
MAX_EXTENSIONS, MAX_LENGTH = 100, 8
#: Weight of the mean of all answers beside an extension's own, in answers.
USUAL_ANSWERS = 4


class FileSizes(Stored):
    """Answers and bytes of each extension; URLs without one, and with another, are one class."""

    STATE = ("_answers", "_bytes")

    def __init__(self) -> None:
        self._answers: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def learn(self, url: str, size: int) -> None:
        """Learn the bytes of the answer of the canonical ``url``. O(length)."""
        kept = _class_of(url)
        if kept not in self._answers and len(self._answers) > MAX_EXTENSIONS:
            kept = ""
        for name in ("*", kept):  # * has all of them
            self._answers[name] = self._answers.get(name, 0) + 1
            self._bytes[name] = self._bytes.get(name, 0) + size

    def relative(self, url: str) -> float:
        """Expected bytes of the canonical ``url``, as a multiple of those of other URLs of its server. O(length)."""
        answers, usual = self._answers, self._bytes.get("*", 0)
        if not usual:
            return 1.0
        kept = _class_of(url)
        kept = kept if kept in answers else ""
        own = self._bytes.get(kept, 0) * answers["*"] / usual
        return (own + USUAL_ANSWERS) / (answers.get(kept, 0) + USUAL_ANSWERS)


def _class_of(url: str) -> str:
    extension = extension_of(url)
    return extension if len(extension) <= MAX_LENGTH and extension.isalnum() else ""
