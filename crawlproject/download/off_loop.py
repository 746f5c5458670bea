"""Runs CPU work on large pages outside the event loop.

One thread for all crawls of the process, so that only one such page uses memory at a time.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

#: Bodies of at least this many bytes are processed off the loop; smaller ones cost less than 0.1 s, whatever they hold.
LARGE = 65_536

#: Bytes that are decompressed on the event loop: a small body may hold any number of them.
ON_LOOP = 4_000_000

#: It starts with the first call.
_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="large pages")


async def off_loop(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``function`` in the thread, after the calls queued before it, and return its result. About 0.1 ms."""
    return await asyncio.get_running_loop().run_in_executor(_THREAD, partial(function, *args, **kwargs))
