"""CPU work that a page of a stranger may make long, off the event loop.

One thread for all crawls of the process: what such a page needs of memory is needed once at a time.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

#: Bytes from which on a body's work is done off the loop; below it costs less than 0.1 s, whatever the bytes.
LARGE = 65_536


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of ``function``, called in the thread, after what waits there already. Some 0.1 ms."""
    return await asyncio.get_running_loop().run_in_executor(_thread(), partial(function, *args, **kwargs))


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="large pages")
