"""Finds what a server's links add to the address of a page without showing another one.

A forum's ``?highlight=`` shows the topic itself; ``/raw`` and ``.ics`` after a page's address are data, not pages.  The
ids before them may be of any form, so the addition is counted, not the pattern of the URL.  A URL ranks last only if
the address without the addition is known: what is added may be the only way to a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: Additions counted per server, and their length (characters); the one with the fewest pages is forgotten.
MAX_ADDITIONS, MAX_LENGTH = 64, 40
#: Parameters added at once; more prove nothing of each.
MAX_PARAMETERS = 4


class Additions:
    """The additions of one server: parameters (``?highlight``), last segments (``/raw``), extensions (``.ics``).

    A parameter is idle if nearly all pages with it are copies of the page without it, or the reverse.  A segment or an
    extension is idle if every answer with it was a copy, or no HTML.
    """

    MIN_PAGES: ClassVar[int] = 10
    #: Pages with a parameter that need not be copies, as a share of those that are: the original may come later.  Half
    #: of the pages may be copies where a parameter selects one of two languages.
    EXCEPTIONS: ClassVar[float] = 0.25

    __slots__ = ("_counts", "_idle")

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}  # addition -> pages that show it to be idle, and all others since
        self._idle: set[str] = set()

    def to_state(self) -> list[Any]:
        """As plain values: each addition with its counts."""
        return [[addition, *counts] for addition, counts in self._counts.items()]

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        additions = cls()
        for row in state.items("additions"):
            match row:
                case [str() as name, int() as idle, int() as others] if idle >= 0 and others >= 0:
                    additions._counts[name] = [idle, others]
                    additions._judge(name)
                case _:
                    raise ValueError(f"additions: must be a text and two counts each: {str(row)[:60]}")
        return additions

    @property
    def is_empty(self) -> bool:
        """Whether none is idle. O(1)."""
        return not self._idle

    def learn(self, url: str, first: str | None, *, is_page: bool) -> bool:
        """Learn from the answer at the canonical ``url``; ``first``: the earlier page that it is a copy of.

        ``is_page``: it is HTML.  Returns whether something has become idle.  O(length), O(MAX_ADDITIONS) for another
        addition.
        """
        path, _, query = url.partition("?")
        parameters = _parameters(query)
        if first is None and is_page:
            for name in {*map(_name, parameters), *_ends(path)} & self._counts.keys():
                self._counts[name][1] += 1
                self._judge(name)
            return False
        first_path, _, first_query = (first or "").partition("?")
        first_parameters = _parameters(first_query)
        idle: set[str] = set()
        if path == first_path and (parameters < first_parameters or first_parameters < parameters):
            added = parameters ^ first_parameters
            idle = set(map(_name, added)) if len(added) <= MAX_PARAMETERS else set()
            if parameters < first_parameters:  # the earlier page has it, and was counted as another one
                for name in idle & self._counts.keys():
                    self._counts[name][1] = max(0, self._counts[name][1] - 1)
        elif not query:
            idle = set(_ends(path))
        return True in [self._count(name) for name in idle]

    def is_idle(self, url: str, is_seen: Callable[[str], bool]) -> bool:
        """Whether the canonical ``url`` is that of a page with something idle added; ``is_seen``: it is that of a page.

        O(length).
        """
        if "?" in url:
            base = self._without(url)
            return base != url and is_seen(base)
        for end in _ends(url):
            if end in self._idle:
                base = url.rstrip("/").removesuffix(end)
                return any(each != url and is_seen(each) for each in (base, f"{base}/", f"{base}.html"))
        return False

    def is_version(self, url: str, page: str) -> bool:
        """Whether the canonical ``url`` and ``page`` are one address, each with idle parameters added. O(length)."""
        if not url.startswith(page.partition("?")[0]):  # nearly always
            return False
        base = self._without(page)
        return base != page and self._without(url) == base != url

    def _without(self, url: str) -> str:
        """``url`` without idle parameters."""
        path, mark, query = url.partition("?")
        if not mark:
            return url
        kept = [each for each in query.split("&") if _name(each) not in self._idle]
        return f"{path}?{'&'.join(kept)}" if kept else path

    def _count(self, name: str) -> bool:
        """Count a page that shows ``name`` to be idle; returns whether it has become so."""
        if name not in self._counts:
            if len(self._counts) >= MAX_ADDITIONS:
                forgotten = min(self._counts, key=lambda each: sum(self._counts[each]))
                del self._counts[forgotten]
                self._idle.discard(forgotten)
            self._counts[name] = [0, 0]
        self._counts[name][0] += 1
        was_idle = name in self._idle
        self._judge(name)
        return name in self._idle and not was_idle

    def _judge(self, name: str) -> None:
        idle, others = self._counts[name]
        is_idle = idle >= self.MIN_PAGES and others <= (idle * self.EXCEPTIONS if name.startswith("?") else 0)
        (self._idle.add if is_idle else self._idle.discard)(name)


def _parameters(query: str) -> set[str]:
    return set(query.split("&")) - {""}


def _name(parameter: str) -> str:
    return f"?{parameter.partition('=')[0]}"[:MAX_LENGTH]


def _ends(path: str) -> list[str]:
    """The last segment of ``path`` (a path or a URL without query), and its extension."""
    last = path.rstrip("/").rpartition("/")[2]
    extension = last.rpartition(".")
    ends = (f"/{last}", f".{extension[2]}" if extension[0] else "")
    return [end for end in ends if 1 < len(end) <= MAX_LENGTH]
