"""The processes of the browser: their memory, and how they are ended. Linux's /proc; elsewhere nothing is measured."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
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
        self._root: int | None = None

    def root(self) -> int | None:
        """The first process; None if it does not run. O(children of this process), or O(1) while it runs."""
        if self._root is None or not self._is_root(self._root):
            self._root = next((pid for pid in _below(os.getpid()) if self._is_root(pid)), None)
        return self._root

    def _is_root(self, pid: int) -> bool:
        arguments = _arguments(pid)
        return self._mark in arguments and not any(part.startswith(b"--type=") for part in arguments)

    def usage(self) -> list[Usage]:
        """All processes of the browser. O(processes), 0.1 ms each."""
        root = self.root()
        return [] if root is None else [each for each in map(_usage, (root, *_below(root))) if each is not None]

    def end_largest(self) -> None:
        """Kill the page that uses most memory."""
        pages = [each for each in self.usage() if b"--type=renderer" in _arguments(each.pid)]
        if pages:
            _kill(max(pages, key=lambda each: each.own).pid)

    def end(self) -> None:
        """Kill the browser; its other processes end with it."""
        root = self.root()
        if root is not None:
            _kill(root)


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
    """Descendants of a process."""
    with suppress(OSError, ValueError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").split(b" ")  # Chromium joins them, too
    except OSError:
        return []


def _usage(pid: int) -> Usage | None:
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
    except (OSError, ValueError):
        return None
    return Usage(pid, resident * _PAGE, (resident - shared) * _PAGE)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
