"""Near-duplicates among the newest pages, in bounded memory.

Locality-sensitive hashing (Indyk and Motwani 1998) over sketches: 16 bins form a band, and pages that agree in a band
are compared.  Pages with a Jaccard coefficient of 0.95 agree in one of 16 bands, except once in 8,000 times; those with
0.8, 36 times in 100.  A band's table keeps the newest page of each cell, so tables do not grow and a look-up compares
with at most 17 pages.

Similar text is not enough: in documentation made from templates (members of a class, operands of an instruction) two
pages may differ only in the name of their subject.  So their headings must agree, too: title and first words, without
dates and versions.  Only such pages share a cell; otherwise pages from a template would displace each other.  If the
whole text is equal (a separate table finds that), the titles must not differ: the pages of a blog's tags often list the
same posts.
"""

from __future__ import annotations

from array import array
from operator import mod
from typing import TYPE_CHECKING

from crawlproject.content.sketch import BINS, similarity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.content.sketch import PageSketch

ROWS = 16  # bins of a band
BANDS = BINS // ROWS

#: Cells of each table at first, and how many times as many it has when it grows.
_FIRST_CELLS = 4096
_GROWTH = 8

_SKETCH = 2 * BINS  # bytes
_BAND = 2 * ROWS


class NearDuplicates:
    """Keeps the newest ``capacity`` pages that are not near-duplicates of kept pages.

    Memory: 540 bytes and the URL for each kept page, plus its cells in the tables: 136 to 1,088 bytes for each.
    ``threshold``: minimum estimated Jaccard coefficient of near-duplicates, above 0 and at most 1.
    """

    def __init__(self, capacity: int, threshold: float) -> None:
        self._capacity = capacity
        self._threshold = threshold
        self._count = 0  # pages kept so far, including evicted ones
        self._most_cells = 1 << max(1, (2 * capacity - 1).bit_length())
        # Slot + 1 of the newest page, 0: none; one table per band, and a last one by text.
        self._tables = [array("I", [0]) * min(_FIRST_CELLS, self._most_cells) for _ in range(BANDS + 1)]
        self._bins = bytearray()
        self._headings = array("Q")
        self._titles = array("Q")
        self._texts = array("Q")
        self._pages: list[str] = []

    def __len__(self) -> int:
        return len(self._pages)

    def first_like(self, page: str, sketch: PageSketch) -> str | None:
        """The page that ``page`` is a near-duplicate of; None if there is none: then ``page`` is kept.

        Compares with the newest pages of its cells and returns the most similar.  Does not find a page that others have
        displaced from all cells shared with ``page``.

        A page is not a near-duplicate of itself, even if its content has changed.  Bounded: 0.05 ms.
        """
        self._grow(self._count % len(self._tables))
        tables = self._tables
        cells = list(map(mod, _keys(sketch), map(len, tables)))
        slots = {table[cell] for table, cell in zip(tables, cells, strict=True)} - {0}
        rated = sorted((-self._likeness(slot - 1, sketch), slot - 1) for slot in slots)
        alike = [self._pages[slot] for loss, slot in rated if -loss >= self._threshold]
        if not alike:
            self._keep(page, sketch, cells)
        return None if not alike or page in alike else alike[0]

    def _likeness(self, slot: int, sketch: PageSketch) -> float:
        """Similarity of the page in ``slot``: 1 for the same text, 0 for another heading."""
        title = self._titles[slot]
        if self._texts[slot] == sketch.text and (title == sketch.title or not (title and sketch.title)):
            return 1.0
        if self._headings[slot] != sketch.heading or not sketch.heading:
            return 0.0
        return similarity(self._bins[slot * _SKETCH : (slot + 1) * _SKETCH], sketch.bins)

    def _keep(self, page: str, sketch: PageSketch, cells: list[int]) -> None:
        slot = self._count % self._capacity
        self._count += 1
        if slot == len(self._pages):
            self._pages.append(page)
            for column in (self._headings, self._titles, self._texts):
                column.append(0)
        self._pages[slot] = page
        self._bins[slot * _SKETCH : (slot + 1) * _SKETCH] = sketch.bins  # beyond its end, this appends
        self._headings[slot], self._titles[slot], self._texts[slot] = sketch.heading, sketch.title, sketch.text
        for table, cell in zip(self._tables, cells, strict=True):
            table[cell] = slot + 1

    def _grow(self, number: int) -> None:
        """Enlarge a table that has fewer than two cells per page. O(pages): 15 ms for 32,000.

        Called for one table per kept page, so that they do not all grow at once.
        """
        size = len(self._tables[number])
        if 2 * len(self._pages) < size or size == self._most_cells or self._count > self._capacity:
            return
        size = min(_GROWTH * size, self._most_cells)
        table = array("I", [0]) * size
        for slot, key in enumerate(self._keys_in(number), 1):  # the oldest first: no page has been evicted yet
            table[key % size] = slot
        self._tables[number] = table

    def _keys_in(self, number: int) -> Iterator[int]:
        """The keys of all pages in the table ``number``, as by ``_keys``."""
        if number == BANDS:
            return (hash((text,)) for text in self._texts)
        places = range(number * _BAND, len(self._bins), _SKETCH)
        bands = (bytes(self._bins[at : at + _BAND]) for at in places)
        return map(hash, zip(bands, self._headings, strict=True))


def _keys(sketch: PageSketch) -> list[int]:
    bins, heading = sketch.bins, sketch.heading
    return [hash((bins[at : at + _BAND], heading)) for at in range(0, _SKETCH, _BAND)] + [hash((sketch.text,))]
