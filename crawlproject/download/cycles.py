"""How often Python searches the whole process for reference cycles."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Objects by which a process grows until the youngest are searched for cycles.
_GROWTH = 10_000

#: Python's own numbers, up to 3.12 and since then.
_DEFAULT_GROWTH = (700, 2000)

#: Servers and pages by which a crawl grows from one exemption to the next: each also exempts the requests under way,
#: and what of them refers to itself is never freed.
_GROWN = 10_000


def search_cycles_rarely() -> None:
    """Let Python's garbage collector wait for more than the requests under way; a threshold of one's own stays.

    64 requests under way hold some thousand objects, so that their number alone changes by Python's threshold again and
    again.  Each search found next to nothing, took some of these objects for old, and so started a search through all
    objects of the process every 1,000 pages.
    """
    young, *older = gc.get_threshold()
    if young in _DEFAULT_GROWTH:
        gc.set_threshold(_GROWTH, *older)


class LastingObjects:
    """Exempts what a crawl keeps to its end from the search for reference cycles.

    A full search looks at all objects at once: 3 for each server, 16 once pages of it are known.  With 100,000 servers
    it held the event loop for 1.1 s of CPU.  ``kept``: number of servers and pages, which only grows.
    """

    def __init__(self, kept: Callable[[], int]) -> None:
        self._kept = kept
        self._exempted = 0  # ``kept`` at the last exemption

    def open(self) -> None:
        """Begin, with what is loaded already: no search for what refers to itself in that."""
        self._exempt(1)

    def look(self) -> None:
        """Exempt all objects if the crawl has grown. O(1); 0.1 s for each 10,000 servers and pages.

        Call it where little is under way.
        """
        self._exempt(2)

    def close(self) -> None:
        """End all exemptions: another crawl may follow in this process."""
        if self._exempted:
            gc.unfreeze()

    def _exempt(self, generation: int) -> None:
        """Exempt all objects after a last search up to ``generation``; what is left in older ones is never freed."""
        kept = self._kept()
        if kept - self._exempted >= _GROWN:
            self._exempted = kept
            gc.collect(generation)
            gc.freeze()
