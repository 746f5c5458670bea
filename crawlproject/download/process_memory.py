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

#: Old objects, 0.05 to 0.1 s of a full search, from which they are exempt from the next one.
_MANY_OLD = 100_000

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
    it held the event loop for 1.1 s of CPU.  ``kept``: number of servers and pages, which only grows.
    """

    def __init__(self, kept: Callable[[], int]) -> None:
        self._kept = kept
        self._exempted = 0  # ``kept`` at the last exemption
        self._is_searched = False  # in full, since the last look

    def open(self) -> None:
        """Begin, with what is loaded already."""
        self._is_searched = True
        gc.callbacks.append(self._searched)

    def look(self) -> None:
        """Exempt old objects if there are many. O(1); 10 ms after a full search, while the crawl grows.

        Call it where little is under way.
        """
        if not self._is_searched:
            return
        self._is_searched = False
        kept = self._kept()
        if kept - self._exempted >= _GROWN and len(gc.get_objects(generation=2)) >= _MANY_OLD:
            gc.collect(1)  # what has been left by the requests since
            gc.freeze()
            self._exempted = kept

    def close(self) -> None:
        """End all exemptions: another crawl may follow in this process. Does nothing if it was not opened."""
        if self._searched in gc.callbacks:
            gc.callbacks.remove(self._searched)
        if self._exempted:
            gc.unfreeze()

    def _searched(self, phase: str, info: dict[str, int]) -> None:
        """Called by the collector, in any thread."""
        if phase == "stop" and info["generation"] == 2:
            self._is_searched = True


@lru_cache(maxsize=2)
def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if it has none of this name."""
    return getattr(ctypes.CDLL(None), name, None)
