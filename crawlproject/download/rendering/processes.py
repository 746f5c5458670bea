"""Measures the memory of the browser's processes, and ends them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Seconds between two looks: a page can allocate 1 GB a second.
INTERVAL = 0.2


class BrowserProcesses:
    """Finds the processes of the browser below this one by ``mark``, an argument of the first of them."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._first: list[psutil.Process] = []

    def all(self) -> list[psutil.Process]:
        """The first process of the browser and those below it. O(processes of this machine): some ms.

        Debian's ``chromium-headless-shell`` is a script that starts the first one: to end it alone leaves the browser.
        """
        if not self._first or not all(each.is_running() for each in self._first):
            self._first = [each for each in psutil.Process().children(recursive=True) if self._is_first(each)]
        found = {each: None for first in self._first for each in (first, *_below(first))}  # each once, in order
        return list(found)

    def _is_first(self, process: psutil.Process) -> bool:
        arguments = _arguments(process)
        return self._mark in arguments and "--type=" not in arguments

    def end(self) -> None:
        """Kill the browser."""
        for each in self.all():
            with suppress(psutil.Error):
                each.kill()

    def limit(self, most: int) -> bool:
        """Kill the page that uses most memory if all processes use more than ``most`` bytes; whether they do.

        Together they use what each has of its own, and what they share, once.
        """
        own: dict[psutil.Process, int] = {}
        shared = 0
        for each in self.all():
            with suppress(psutil.Error):
                memory = each.memory_info()
                common = getattr(memory, "shared", 0)  # Linux
                own[each], shared = memory.rss - common, max(shared, common)
        if sum(own.values()) + shared <= most:
            return False
        pages = [each for each in own if "--type=renderer" in _arguments(each)]
        if pages:
            with suppress(psutil.Error):
                max(pages, key=own.__getitem__).kill()
        return True


async def watch(processes: BrowserProcesses, limit: int, exceeded: Callable[[], None]) -> None:
    """Kill the largest page whenever all together use more than ``limit`` bytes; never returns."""
    while True:
        await asyncio.sleep(INTERVAL)
        if processes.limit(limit):
            exceeded()


def _below(process: psutil.Process) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        yield from process.children(recursive=True)


def _arguments(process: psutil.Process) -> str:
    """In one line: Chromium joins those of its processes, too."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
