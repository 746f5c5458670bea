"""Measures the memory of the browser's processes, and ends them. Linux's /proc; elsewhere nothing is measured."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Seconds between two looks while pages are rendered: a page can allocate 1 GB a second.
INTERVAL = 0.1

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """One process; bytes of memory, with and without what it shares with others."""

    pid: int
    resident: int
    own: int


class BrowserProcesses:
    """Finds the processes of the browser below this one by ``mark``, an argument of the first of them."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode()
        self._first: list[int] = []
        self._zygotes: list[int] = []  # they start those of pages

    def first(self) -> list[int]:
        """The first process, after the script that started it, if that still runs; empty if there is none.

        Debian's ``chromium-headless-shell`` is such a script: to end it alone leaves the browser. O(1) while pages are
        rendered, else O(processes below this one).
        """
        if not self._zygotes or not all(map(self._is_first, self._first)):
            self._first = [pid for pid in _below(os.getpid()) if self._is_first(pid)]
            below = {pid: None for first in self._first for pid in _below(first)}  # each once, in order
            self._zygotes = [pid for pid in below if b"--type=zygote" in _arguments(pid)]
        return self._first

    def _is_first(self, pid: int) -> bool:
        arguments = _arguments(pid)
        return self._mark in arguments and not any(part.startswith(b"--type=") for part in arguments)

    def usage(self) -> list[Usage]:
        """The first process of the browser and those of pages. O(processes), 0.1 ms each."""
        pids = {*self.first(), *(pid for zygote in self._zygotes for pid in _started_by(zygote))}
        return [each for each in map(_usage, pids) if each is not None]

    def end_largest(self) -> None:
        """Kill the page that uses most memory."""
        pages = [each for each in self.usage() if b"--type=renderer" in _arguments(each.pid)]
        if pages:
            _kill(max(pages, key=lambda each: each.own).pid)

    def end(self) -> None:
        """Kill the browser; its other processes end with it."""
        for pid in self.first():
            _kill(pid)


def total(usage: list[Usage]) -> int:
    """Memory of processes together, bytes: what each has of its own, and what they share, once."""
    return sum(each.own for each in usage) + max((each.resident - each.own for each in usage), default=0)


async def watch(processes: BrowserProcesses, limit: int, exceeded: Callable[[], None]) -> None:
    """Kill the largest page whenever all together use more than ``limit`` bytes; never returns."""
    while True:
        await asyncio.sleep(INTERVAL)
        if total(processes.usage()) > limit:
            exceeded()
            processes.end_largest()


def _below(pid: int) -> Iterator[int]:
    """Descendants of a process. O(threads of all)."""
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - three times as fast
            for child in _children(pid, task):
                yield child
                yield from _below(child)


def _started_by(pid: int) -> Iterator[int]:
    """Descendants of a process that has one thread, and whose children have one or no children. O(processes)."""
    for child in _children(pid, pid):
        yield child
        yield from _started_by(child)


def _children(pid: int, task: int | str) -> list[int]:
    return [int(child) for child in _read(f"/proc/{pid}/task/{task}/children").split()]


def _arguments(pid: int) -> list[bytes]:
    return _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").split(b" ")  # Chromium joins them, too


def _usage(pid: int) -> Usage | None:
    numbers = _read(f"/proc/{pid}/statm").split()
    if len(numbers) < 3:
        return None  # it has ended
    resident, shared = int(numbers[1]), int(numbers[2])
    return Usage(pid, resident * _PAGE, (resident - shared) * _PAGE)


def _read(path: str) -> bytes:
    """The start of a file of /proc; empty if its process has ended. 10 us."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, 65_536)
    except OSError:
        return b""
    finally:
        os.close(file)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
