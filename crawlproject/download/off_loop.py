"""CPU work that a page of a stranger may make long, off the event loop.

One thread for all crawls of the process: what such a page needs of memory is needed once at a time.
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

#: Bytes from which on a body's work is done off the loop; below it costs less than 0.1 s, whatever the bytes.
LARGE = 65_536


#: Seconds between two calls of ``_trim``: it takes 1 to 10 ms.
TRIM_INTERVAL = 0.25


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, called in the thread, after what waits there already. Some 0.1 ms."""
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
    """Give freed memory back to the system, where the C library is glibc.

    It keeps what was freed, for each thread by itself: with trees of 100 MB off the loop and bodies of 30 MB on it the
    process took 100 MB more than it used.
    """
    global _trimmed
    now = time.monotonic()
    if now - _trimmed < TRIM_INTERVAL or (trim := _of_glibc("malloc_trim")) is None:
        return
    trim(0)
    _trimmed = time.monotonic()


# Parameters of glibc's mallopt (malloc.h).
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8

#: Bytes from which on memory is a mapping of its own, which goes back to the system when it is freed: glibc's default,
#: which glibc raises up to 32 MB as soon as something that large has been freed.
_MAPPED_FROM = 131_072


@lru_cache(maxsize=1)
def return_freed_memory() -> None:
    """Have glibc give large freed buffers back to the system, in all of this process; ``MALLOC_*`` variables win.

    One heap for all threads, and mappings for large buffers: with bodies and trees of many megabytes, the process held
    100 MB that it had freed.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is None or any(name.startswith("MALLOC_") for name in os.environ):
        return
    mallopt(_M_ARENA_MAX, 1)
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM)  # a fixed one: from then on glibc leaves that of trimming alone, too


@lru_cache(maxsize=2)
def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library; None where it has none of this name."""
    return getattr(ctypes.CDLL(None), name, None)
