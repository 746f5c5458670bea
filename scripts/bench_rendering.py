#!/usr/bin/env python3
"""Pages rendered per second, CPU and memory: a crawl of small applications on several servers of this machine.

    scripts/bench_rendering.py --servers 8 --pages 20 --at-once 4
    scripts/bench_rendering.py --servers 8 --pages 150 --every 100    # does memory grow?

``--mode``: ``RENDER``, ``--at-once``: ``RENDER_PAGES``, ``--quiet``: ``RENDER_QUIET``, ``--per-context``:
``RENDER_PAGES_PER_CONTEXT``; ``--browser``: another Chromium than the one that is found.

Each page is built by a script from the answer to one fetch; the script is shared by all pages of a server.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from scrapy.crawler import AsyncCrawlerProcess, Crawler

from crawlproject.spiders.web import WebSpider
from testbed.bench import command_line
from testbed.shop import running_shops


class Memory(threading.Thread):
    """Watches the memory of this process and of all below it, shared pages counted once.

    Prints a line for each ``every`` pages rendered: the least and the mean of the looks since the line before.
    """

    def __init__(self, crawler: Crawler, every: int) -> None:
        super().__init__(daemon=True)
        self.most = self.most_own = 0
        self.ended = threading.Event()
        self._crawler = crawler
        self._every = self._next = every
        self._looks: list[tuple[int, int]] = []  # this process, the browser

    def run(self) -> None:
        """Look twice a second."""
        me = psutil.Process()
        while not self.ended.wait(0.5):
            own, others = proportional(me), sum(map(proportional, me.children(recursive=True)))
            self.most = max(self.most, own + others)
            self.most_own = max(self.most_own, own)
            if self._every:
                self._looks.append((own, others))
                self._print()

    def _print(self) -> None:
        try:
            stats = self._crawler.stats
        except RuntimeError:  # it has not started
            return
        assert stats is not None
        pages = stats.get_value("render/pages", 0)
        if pages < self._next:
            return
        self._next = pages - pages % self._every + self._every
        parts = (
            f"{name} {min(looks) / 1e6:.0f} MB at least, {mean(looks) / 1e6:.0f} on average"
            for name, looks in zip(("crawl", "browser"), zip(*self._looks, strict=True), strict=True)
        )
        contexts = stats.get_value("playwright/context_count", 0)
        print(f"{pages:6} pages, {contexts:4} contexts: {'; '.join(parts)}", flush=True)
        self._looks.clear()


def proportional(process: psutil.Process) -> int:
    """Proportional set size, bytes."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def adopt() -> None:
    """Become the parent of processes below this one whose own parent ends: no CPU time of theirs is lost (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def cpu_of_children() -> float:
    """Seconds of all processes below this one, which have ended or are about to."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return below.ru_utime + below.ru_stime


def main() -> None:
    defaults = {"servers": 8, "pages": 20, "at_once": 4, "mode": "always", "quiet": 0.5, "per_context": 20}
    options = command_line(__doc__, **defaults, every=0, browser="").parse_args()
    adopt()
    with running_shops(options.servers, options.pages) as seeds:
        measure(options, ",".join(seeds))


def measure(options: Any, seeds: str) -> None:
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"crawlproject.addon.FrontierAddon": 300},
            "ALLOWED_NETWORKS": "127.4.0.0/16",
            "FRONTIER_MIN_DELAY": 0,
            "FRONTIER_DELAY_FACTOR": 0,
            "RENDER": options.mode,
            "RENDER_PAGES": options.at_once,
            "RENDER_QUIET": options.quiet,
            "RENDER_PAGES_PER_CONTEXT": options.per_context,
            "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": options.browser} if options.browser else {},
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(WebSpider)
    process.crawl(crawler, seeds=seeds)
    memory = Memory(crawler, options.every)
    memory.start()
    started, own = time.monotonic(), time.process_time()
    process.start()
    elapsed, own = time.monotonic() - started, time.process_time() - own
    memory.ended.set()
    cpu = cpu_of_children()
    assert crawler.stats is not None
    pages = crawler.stats.get_value("web/pages", 0)
    rendered = crawler.stats.get_value("render/pages", 0)
    print(f"pages {pages}, rendered {rendered}, {elapsed:.1f} s: {pages / elapsed:.2f} pages/s")
    print(f"CPU per page: this process with the servers {own / pages * 1e3:.0f} ms, browser {cpu / pages * 1e3:.0f} ms")
    print(f"time in the browser: {crawler.stats.get_value('render/time', 0) / pages:.2f} s per page")
    print(f"memory: all {memory.most / 1e6:.0f} MB, this process {memory.most_own / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
