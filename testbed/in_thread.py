"""Servers in a thread: an asynchronous context, entered in an event loop of its own."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager

T = TypeVar("T")


@contextmanager
def in_thread(context: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What ``context`` gives, until the end of the block; then it is left, and what still runs in it is cancelled.

    Raises what entering it raises.
    """
    entered: Future[tuple[T, Callable[[], object]]] = Future()

    async def run() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            async with context as given:
                entered.set_result((given, lambda: loop.call_soon_threadsafe(stop.set)))
                await stop.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)

    thread = Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    try:
        given, leave = entered.result()
        try:
            yield given
        finally:
            leave()
    finally:
        thread.join()
