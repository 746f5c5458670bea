"""Detects parameters that a server changes on each visit, whatever their name: session ids that are on no list.

The sign is a page requested with one id whose links all have another id.  A parameter that selects a page (e.g. the id
of a forum) keeps its value on its own pages, or has several values on one page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: Pages that must show the sign before a parameter is learned.
EVIDENCE = 2

#: Minimum links with the same other id on such a page.
MIN_LINKS = 2

#: Maximum parameters remembered per server: of candidates, and of cleared ones.
MAX_NAMES = 16

_name = re.compile(r"[A-Za-z0-9_.~-]+").fullmatch
_looks_like_id = re.compile(r"(?=[^0-9]*[0-9])[0-9A-Za-z_-]{8,}").fullmatch
_long_value = re.compile(r"[?&;][^=?&;/]+=[0-9A-Za-z_-]{8}").search
_parameters = re.compile(r"[?&;]([^=?&;/]+)=([^?&;/]*)").findall


def may_have_id(url: str) -> bool:
    """Whether ``url`` has a parameter long enough to be an id. O(length)."""
    return _long_value(url) is not None


class VisitIds:
    """Parameters of one server: learned ones are visit ids, cleared ones are not."""

    __slots__ = ("_candidates", "cleared", "learned")

    def __init__(self) -> None:
        self.learned: list[str] = []
        self.cleared: list[str] = []
        self._candidates: dict[str, dict[str, str]] = {}  # name -> id in the links -> page with these links

    def to_state(self) -> dict[str, Any]:
        """As plain values; candidates are not stored."""
        return {"learned": self.learned, "cleared": self.cleared}

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        ids = cls()
        ids.learned, ids.cleared = state.texts("learned"), state.texts("cleared")
        return ids

    def observe(self, page: str, links: Iterable[str]) -> list[str]:
        """Learn from a page's canonical ``links`` to its own server; returns the pages that were evidence for a new id.

        Empty if nothing new was learned.  O(length), O(1) for a page without an id in its URL.
        """
        names = {name: value for name, value in _parameters(page) if _looks_like_id(value) and _name(name)}
        found: dict[str, list[str]] = {name: [] for name in names}
        for link in links:
            for name, value in _parameters(link):
                if name in found:
                    found[name].append(value)
        pages: list[str] = []
        for name, values in found.items():
            if name not in self.cleared and name not in self.learned and values:
                pages += self._judge(name, names[name], values, page)
        return pages

    def _judge(self, name: str, own: str, values: list[str], page: str) -> list[str]:
        if len(set(values)) > 1 or values[0] == own or not _looks_like_id(values[0]):
            self.cleared = [*self.cleared, name][-MAX_NAMES:]
            self._candidates.pop(name, None)
            return []
        if len(values) < MIN_LINKS:
            return []
        pages = self._candidates.setdefault(name, {})
        pages[values[0]] = page
        if len(pages) < EVIDENCE:
            if len(self._candidates) > MAX_NAMES:
                del self._candidates[next(iter(self._candidates))]
            return []
        self.learned = [*self.learned, name]
        return list(self._candidates.pop(name).values())
