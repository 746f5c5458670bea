"""Notices fields that are no longer found: compares the share of pages with a field now with its own past share.

A window of pages is judged when a fall below half of the past share would be no chance: the probability that so few
are found at an unchanged share is below ``CHANCE``, by Chernoff's bound exp(-n D(p/2 || p)).  For a field on every page
these are 5 pages, for one on half of the pages 53, on every tenth 413; while the crawl runs at least ``MIN_PAGES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Probability of a false alarm per window.
CHANCE = 0.001

#: Pages of a window at least; at the end of a crawl, at least.
MIN_PAGES, MIN_LAST_PAGES = 20, 5

#: Pages that the past counts as, at most: a share that changes slowly is no drift.
MEMORY = 2_000

#: No share is certain.
_HIGHEST = 0.99

VERSION = 1

Key = tuple[str, str, str]


class Fall(NamedTuple):
    """A field that is found on fewer than half as many pages as before."""

    site: str
    record: str
    field: str
    before: float
    now: float
    pages: int


@dataclass(slots=True)
class _Share:
    pages: float = 0.0
    found: float = 0.0
    window_pages: int = 0
    window_found: int = 0
    has_fallen: bool = False

    @property
    def past(self) -> float:
        return self.found / self.pages if self.pages else 0.0


class Drift:
    """Shares of all fields of all sites. O(1) per page and field."""

    def __init__(self) -> None:
        self._shares: dict[Key, _Share] = {}

    def page(self, site: str, record: str, fields: Iterable[str], found: set[str]) -> Iterator[Fall]:
        """Count a page of records; yields fields that have fallen."""
        for name in fields:
            key = (site, record, name)
            share = self._shares.get(key)
            if share is None:
                share = self._shares[key] = _Share()
            share.window_pages += 1
            share.window_found += name in found
            if share.window_pages >= MIN_PAGES:
                fall = self._judge(key, share, MIN_PAGES)
                if fall is not None:
                    yield fall

    def end(self) -> Iterator[Fall]:
        """Judge the last windows, and add them to the past."""
        for key, share in self._shares.items():
            fall = self._judge(key, share, MIN_LAST_PAGES)
            if fall is not None:
                yield fall
            if share.window_pages and not share.has_fallen:
                _into_past(share)

    def shares(self) -> dict[Key, tuple[int, int]]:
        """Pages and pages with the field, past and present."""
        return {
            key: (round(share.pages + share.window_pages), round(share.found + share.window_found))
            for key, share in self._shares.items()
        }

    def add_past(self, rows: Iterable[tuple[str, str, str, float, float]]) -> None:
        """What earlier crawls counted: site, record, field, pages, pages with the field; skips nonsense."""
        for site, record, name, pages, found in rows:
            share = self._shares.setdefault((site, record, name), _Share())
            if 0 <= found <= pages:
                share.pages += pages
                share.found += found

    def past_rows(self) -> list[tuple[str, str, str, float, float]]:
        """For ``add_past``."""
        return [(*key, share.pages, share.found) for key, share in self._shares.items() if share.pages]

    def to_state(self) -> dict[str, Any]:
        """For JSON."""
        return {"version": VERSION, "shares": [list(row) for row in self.past_rows()]}

    @classmethod
    def from_state(cls, state: Any) -> Drift:
        """Raises ValueError for what ``to_state`` has not written."""
        drift = cls()
        try:
            if state["version"] != VERSION:
                raise ValueError(f"version {state['version']!r:.20}")
            rows = [(str(s), str(r), str(f), float(pages), float(found)) for s, r, f, pages, found in state["shares"]]
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"no shares of fields: {error!r:.80}") from error
        drift.add_past(rows)
        return drift

    def _judge(self, key: Key, share: _Share, least: int) -> Fall | None:
        """Judge a window that is long enough; one that has not fallen is added to the past."""
        past, pages = share.past, share.window_pages
        if pages < least:
            return None
        needed = _pages_needed(past)
        if past and (pages < needed or share.pages < needed):
            if share.pages < needed:
                _into_past(share)
            return None
        now = share.window_found / pages
        if now >= past / 2:
            share.has_fallen = False
            _into_past(share)
            return None
        is_new = not share.has_fallen
        share.has_fallen = True
        share.window_pages = share.window_found = 0
        return Fall(*key, before=past, now=now, pages=pages) if is_new else None


def _pages_needed(share: float) -> float:
    """Pages after which a fall below half of ``share`` is no chance."""
    p = min(share, _HIGHEST)
    if p <= 0.0:
        return 0.0
    half = p / 2
    divergence = half * log(0.5) + (1 - half) * log((1 - half) / (1 - p))
    return -log(CHANCE) / divergence


def _into_past(share: _Share) -> None:
    share.pages += share.window_pages
    share.found += share.window_found
    share.window_pages = share.window_found = 0
    if share.pages > MEMORY:
        share.found *= MEMORY / share.pages
        share.pages = MEMORY
