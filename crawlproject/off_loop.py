"""CPU work that a page of a stranger may make long, off the event loop.

One thread for all crawls of the process: what such a page needs of memory is needed once at a time.
"""

from __future__ import annotations

import asyncio
import ctypes
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
    if now - _trimmed < TRIM_INTERVAL or (trim := _malloc_trim()) is None:
        return
    trim(0)
    _trimmed = time.monotonic()


@lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
