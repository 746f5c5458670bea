"""Runs CPU work on large pages outside the event loop.

One thread for all crawls of the process, so that only one such page uses memory at a time.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

#: Bodies of at least this many bytes are processed off the loop; smaller ones cost less than 0.1 s, whatever they hold.
LARGE = 65_536


#: Seconds between two calls of ``_trim``: it takes 1 to 10 ms.
TRIM_INTERVAL = 0.25


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``function`` in the thread, after the calls queued before it, and return its result. About 0.1 ms."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(_thread(), partial(function, *args, **kwargs))
    finally:
        _thread().submit(_trim)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="large pages")


_trimmed = 0.0


def _trim() -> None:
    """Return freed memory to the system if the C library is glibc.

    glibc keeps freed memory, separately for each thread: with trees of 100 MB off the loop and bodies of 30 MB on it,
    the process held 100 MB more than it used.
    """
    global _trimmed
    now = time.monotonic()
    if now - _trimmed < TRIM_INTERVAL or (trim := _of_glibc("malloc_trim")) is None:
        return
    trim(0)
    _trimmed = time.monotonic()


# Parameters of glibc's mallopt (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8

#: Allocations of at least this many bytes are separate mappings, which return to the system when freed. glibc itself
#: raises its default, 128 kB, up to 32 MB once a buffer of that size has been freed. Below: asyncio reads from each
#: socket into a buffer of 256 kB, and a mapping for each read, with the faults of its pages, takes 5% of a page's CPU.
_MAPPED_FROM = 1 << 19

#: Free bytes at the end of the heap that are kept.
_KEPT = 1 << 22


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


@lru_cache(maxsize=2)
def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library; None if it has none of this name."""
    return getattr(ctypes.CDLL(None), name, None)
