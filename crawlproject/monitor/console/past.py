"""Crawls beside this one on disk, to compare it with."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.report.compare import comparison
from crawlproject.monitor.report.page import has_figures
from crawlproject.storage.errors import plain_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from crawlproject.monitor.console.api import Views

#: Crawls that are offered, the latest ones.
MAX_CRAWLS = 100


class Past:
    """``folder``: the directory of the crawl; None: nowhere.

    Files are read in a thread: 4,000 samples, and 1,000 servers, of each crawl or worker.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._reading = asyncio.Semaphore(1)

    def views(self) -> Views:
        """What ``api`` offers below ``/api/``."""
        return {"crawls": lambda _: self.crawls(), "compare": self.compared}

    async def crawls(self) -> list[str]:
        """Names of the crawls beside this one."""
        return sorted(await self._read(self._others))

    async def compared(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The comparison of this crawl with one of ``crawls``. Raises ValueError."""
        others = await self._read(self._others)
        other = others.get(given.get("with", ""))
        if other is None or self._folder is None:
            raise ValueError("with: the name of a crawl beside this one")
        problems: list[str] = []
        found = await self._read(partial(comparison, [self._folder, other], problems))
        return {**found, "problems": problems}

    async def _read(self, read: Callable[[], Any]) -> Any:
        async with self._reading:
            try:
                return await asyncio.to_thread(read)
            except OSError as error:
                raise ValueError(plain_message(error)) from error

    def _others(self) -> dict[str, Path]:
        folder = self._folder
        if folder is None:
            return {}
        places = (each for each in folder.parent.iterdir() if each != folder and each.is_dir())
        found = list(filter(has_figures, places))
        found.sort(key=lambda each: -each.stat().st_mtime)
        return {each.name: each for each in found[:MAX_CRAWLS]}
