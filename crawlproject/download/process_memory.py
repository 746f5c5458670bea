"""Settings of the C library and of Python that hold for the whole process: freed memory, and reference cycles."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two calls of ``trim``: it takes 1 to 10 ms.
TRIM_INTERVAL = 0.25

# Parameters of glibc's mallopt (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8

#: Allocations of at least this many bytes are separate mappings, which return to the system when freed. glibc itself
#: raises its default, 128 kB, up to 32 MB once a buffer of that size has been freed. Below: asyncio reads from each
#: socket into a buffer of 256 kB, and a mapping for each read, with the faults of its pages, takes 5% of a page's CPU.
_MAPPED_FROM = 1 << 19

#: Free bytes at the end of the heap that are kept.
_KEPT = 1 << 22

#: Objects by which a process grows until the youngest are searched for cycles.
_GROWTH = 10_000

#: Python's own numbers, up to 3.12 and since then.
_DEFAULT_GROWTH = (700, 2000)

#: Objects, 0.05 to 0.1 s of a full search, from which they are exempt from the next one.
_MANY = 100_000

#: Servers and pages by which a crawl grows from one exemption to the next: each also exempts the requests under way,
#: and what of them refers to itself is never freed.
_GROWN = 10_000

_trimmed = 0.0


def trim() -> None:
    """Return freed memory to the system if the C library is glibc.

    glibc keeps freed memory, separately for each thread: with trees of 100 MB off the loop and bodies of 30 MB on it,
    the process held 100 MB more than it used.
    """
    global _trimmed
    now = time.monotonic()
    if now - _trimmed < TRIM_INTERVAL or (malloc_trim := _of_glibc("malloc_trim")) is None:
        return
    malloc_trim(0)
    _trimmed = time.monotonic()


@lru_cache(maxsize=1)
def return_freed_memory() -> None:
    """Make glibc return large freed buffers to the system, process-wide; ``MALLOC_*`` variables take precedence.

    One heap for all threads, and mappings for large buffers: with the defaults, and bodies and trees of many megabytes,
    the process held 100 MB of freed memory.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None or any(name.startswith("MALLOC_") for name in os.environ):
        return
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM)  # once set, glibc adjusts neither it nor the trim threshold
    mallopt(_M_TRIM_THRESHOLD, _KEPT)


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
    it held the event loop for 1.1 s of CPU.  Python's own first one comes late: after 29,000 responses of 39,000
    servers it took 0.6 s.  ``kept``: number of servers and pages, which only grows.
    """

    def __init__(self, kept: Callable[[], int]) -> None:
        self._kept = kept
        self._looked_at = 0  # ``kept`` at the last look that counted objects
        self._has_exempted = False

    def open(self) -> None:
        """Begin, with what is loaded already: no search for what refers to itself in that."""
        self._looked_at = self._kept()
        if self._looked_at >= _GROWN:
            self._exempt(1)

    def look(self) -> None:
        """Exempt all objects if there are many. O(1); 0.1 s for each 10,000 servers and pages, while the crawl grows.

        Call it where little is under way.
        """
        kept = self._kept()
        if kept - self._looked_at < _GROWN:
            return
        self._looked_at = kept
        if len(gc.get_objects()) >= _MANY:
            self._exempt(2)

    def close(self) -> None:
        """End all exemptions: another crawl may follow in this process."""
        if self._has_exempted:
            gc.unfreeze()

    def _exempt(self, generation: int) -> None:
        """Exempt all objects after a last search up to ``generation``; what is left in older ones is never freed."""
        gc.collect(generation)
        gc.freeze()
        self._has_exempted = True


@lru_cache(maxsize=2)
def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if it has none of this name."""
    return getattr(ctypes.CDLL(None), name, None)
