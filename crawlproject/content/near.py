"""Near-duplicates among the newest pages, in bounded memory.

Locality-sensitive hashing (Indyk and Motwani 1998) over sketches: 16 bins together are a band, and pages that agree in
a band meet.  Pages with a Jaccard coefficient of 0.95 agree in one of 16 bands but for once in 8,000 times; of 0.8, in
36 of 100.  A band's table keeps the newest page of each cell, so that tables do not grow and a look-up compares with at
most 17 pages.

A likeness of texts is not enough: in documentation made from templates (members of a class, operands of an
instruction) two pages may differ in nothing but the name of what they describe.  So pages must also say that they are
the same: have one title and begin alike, numbers aside.  Only such pages share a cell, or pages from a template would
displace each other.  Where all of the text is the same, which a table of its own tells, nothing else is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawlproject.content.shingles import mixed
from crawlproject.content.sketch import BINS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from crawlproject.content.sketch import PageSketch

ROWS = 16  # bins of a band
BANDS = BINS // ROWS

_FACTORS = mixed(np.arange(1, ROWS + 1, dtype=np.uint64)) | np.uint64(1)
_TABLES = np.arange(BANDS + 1)  # the last one is by text


class NearDuplicates:
    """The first pages of their kind among the newest ``capacity``; near-duplicates of them are not kept.

    650 bytes a page, taken as pages come, and the page's URL.  ``threshold``: least estimated Jaccard coefficient of
    near-duplicates, above 0 and at most 1.
    """

    def __init__(self, capacity: int, threshold: float) -> None:
        self._capacity = capacity
        self._threshold = threshold
        self._count = 0  # ever kept
        bits = max(1, (2 * capacity - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._tables = np.zeros((BANDS + 1, 1 << bits), np.uint32)  # slot + 1 of the newest page, 0: none
        self._bins = np.zeros((capacity, BINS), np.uint16)
        self._headings = np.zeros(capacity, np.uint64)
        self._texts = np.zeros(capacity, np.uint64)
        self._pages: list[str] = []

    def __len__(self) -> int:
        return len(self._pages)

    def first_like(self, page: str, sketch: PageSketch) -> str | None:
        """The page that ``page`` is a near-duplicate of; None, and it is kept, if no such page is found.

        Compared with it are the newest pages of its cells; of these the most alike. A page that others have displaced
        from all cells that it shares with ``page`` is not found.

        A page is no near-duplicate of itself, whatever has become of it.  Bounded: 0.03 ms.
        """
        cells = self._cells(sketch)
        met = self._tables[_TABLES, cells]
        if not met.any():
            self._keep(page, sketch, cells)
            return None
        slots = np.unique(met[met > 0]).astype(np.intp) - 1
        likeness = self._likeness(slots, sketch)
        best_first = np.argsort(-likeness, kind="stable")
        alike = [self._pages[slots[place]] for place in best_first if likeness[place] >= self._threshold]
        if not alike:
            self._keep(page, sketch, cells)
        return None if not alike or page in alike else alike[0]

    def _likeness(self, slots: NDArray[np.intp], sketch: PageSketch) -> NDArray[np.float64]:
        """How alike the pages in ``slots`` are: 1 for the same text, 0 where they say that they are another page."""
        others = self._bins[slots]
        used = np.count_nonzero(others | sketch.bins, axis=1)
        equal = np.count_nonzero((others == sketch.bins) & (sketch.bins != 0), axis=1)
        same_page = (self._headings[slots] == sketch.heading) & (sketch.heading != 0)
        estimates = equal / np.maximum(1, used) * same_page
        estimates[self._texts[slots] == sketch.text] = 1.0
        return np.asarray(estimates, np.float64)

    def _cells(self, sketch: PageSketch) -> NDArray[np.intp]:
        """Where in each table its pages meet."""
        keys = np.empty(BANDS + 1, np.uint64)
        (sketch.bins.reshape(BANDS, ROWS) * _FACTORS).sum(axis=1, out=keys[:BANDS])
        keys[:BANDS] += np.uint64(sketch.heading)
        keys[BANDS] = sketch.text
        return (mixed(keys) >> self._shift).astype(np.intp)

    def _keep(self, page: str, sketch: PageSketch, cells: NDArray[np.intp]) -> None:
        slot = self._count % self._capacity
        self._count += 1
        if slot == len(self._pages):
            self._pages.append(page)
        else:
            self._pages[slot] = page
        self._bins[slot] = sketch.bins
        self._headings[slot] = sketch.heading
        self._texts[slot] = sketch.text
        self._tables[_TABLES, cells] = slot + 1
