"""Notices fields that are no longer found: compares the share of pages with a field now with its own past share.

While a crawl runs, each window of at least ``MIN_PAGES`` pages is compared with all pages before it; at its end, the
whole crawl with earlier crawls.  (The pages of a site come by sections, so a short window is no sample of it.)  Nothing
is judged that could be chance: the probability that so few are found at an unchanged share must be below ``CHANCE``, by
Chernoff's bound exp(-n D(p/2 || p)).  That takes 5 pages for a field on every page, 53 for one on half of the pages,
413 for one on every tenth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Pages counted of a field, at most: more is damage.
MAX_COUNT = 1e15

#: Probability of a false alarm per window.
CHANCE = 0.001

#: Pages of a window, at least; and of a whole crawl.
MIN_PAGES, MIN_CRAWL = 100, 5

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
class _Count:
    """Pages, and pages with the field."""

    pages: float = 0.0
    found: float = 0.0

    @property
    def share(self) -> float:
        return self.found / self.pages if self.pages else 0.0

    def add(self, other: _Count) -> None:
        self.pages += other.pages
        self.found += other.found
        if self.pages > MEMORY:
            self.found *= MEMORY / self.pages
            self.pages = MEMORY


@dataclass(slots=True)
class _Share:
    #: Of earlier crawls; of this one, without the window; of the window.
    earlier: _Count = field(default_factory=_Count)
    crawl: _Count = field(default_factory=_Count)
    window: _Count = field(default_factory=_Count)
    has_fallen: bool = False

    def past(self) -> _Count:
        return _Count(self.earlier.pages + self.crawl.pages, self.earlier.found + self.crawl.found)


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
            window = share.window
            window.pages += 1
            window.found += name in found
            if window.pages < MIN_PAGES:
                continue
            past = share.past()
            needed = _pages_needed(past.share)
            if past.pages < needed:
                _end_window(share)
            elif window.pages >= needed:
                fall = self._judge(key, share, past, window)
                if fall is not None:
                    yield fall

    def end(self) -> Iterator[Fall]:
        """Judge the crawl as a whole, unless a field has fallen during it, and add it to the past."""
        for key, share in self._shares.items():
            fall = None
            if not share.has_fallen:
                _end_window(share)
                if min(share.crawl.pages, share.earlier.pages) >= max(MIN_CRAWL, _pages_needed(share.earlier.share)):
                    fall = self._judge(key, share, share.earlier, share.crawl)
            if fall is None:  # of a crawl with a fall, the pages before it
                share.earlier.add(share.crawl)
            else:
                yield fall
            share.crawl, share.window = _Count(), _Count()

    def never_found(self, site: str, record: str) -> tuple[int, list[str]] | None:
        """Pages of this crawl, and the fields found on none of them; None if an earlier crawl counted some.

        To be asked before ``end``. O(all fields).
        """
        shares = {field: share for (s, r, field), share in self._shares.items() if (s, r) == (site, record)}
        if any(share.earlier.pages for share in shares.values()):
            return None
        counts = {field: (share.crawl, share.window) for field, share in shares.items()}
        pages = max((crawl.pages + window.pages for crawl, window in counts.values()), default=0.0)
        return round(pages), [field for field, (crawl, window) in counts.items() if not crawl.found + window.found]

    def add_past(self, rows: Iterable[tuple[str, str, str, float, float]]) -> None:
        """Counts of earlier crawls: site, record, field, pages, pages with the field; invalid rows are skipped."""
        for site, record, name, pages, found in rows:
            share = self._shares.setdefault((site, record, name), _Share())
            if 0 <= found <= pages < MAX_COUNT:
                share.earlier.add(_Count(pages, found))

    def past_rows(self) -> list[tuple[str, str, str, float, float]]:
        """For ``add_past``."""
        counts = ((key, share.past()) for key, share in self._shares.items())
        return [(*key, count.pages, count.found) for key, count in counts if count.pages]

    def to_state(self) -> dict[str, Any]:
        return {"version": VERSION, "shares": [list(row) for row in self.past_rows()]}

    @classmethod
    def from_state(cls, state: Any) -> Drift:
        """Raises ValueError for anything but the result of ``to_state``."""
        drift = cls()
        try:
            if state["version"] != VERSION:
                raise ValueError(f"version {state['version']!r:.20}")
            rows = [(str(s), str(r), str(f), float(pages), float(found)) for s, r, f, pages, found in state["shares"]]
        except (KeyError, TypeError, IndexError, OverflowError) as error:
            raise ValueError(f"no shares of fields: {error!r:.80}") from error
        drift.add_past(rows)
        return drift

    def _judge(self, key: Key, share: _Share, past: _Count, now: _Count) -> Fall | None:
        """Compare; what has fallen does not become part of the past."""
        had_fallen, share.has_fallen = share.has_fallen, now.share < past.share / 2
        if not share.has_fallen:
            _end_window(share)
            return None
        fall = Fall(*key, before=past.share, now=now.share, pages=round(now.pages))
        share.window = _Count()
        return None if had_fallen else fall


def _pages_needed(share: float) -> float:
    """Pages after which a fall below half of ``share`` is no chance."""
    p = min(share, _HIGHEST)
    if p <= 0.0:
        return 0.0
    half = p / 2
    divergence = half * log(0.5) + (1 - half) * log((1 - half) / (1 - p))
    return -log(CHANCE) / divergence


def _end_window(share: _Share) -> None:
    share.crawl.add(share.window)
    share.window = _Count()
