"""Pages rendered per second, CPU and memory: a crawl of small applications on several servers of this machine.

    scripts/bench rendering [--servers 4] [--pages 10] [--at-once 4] [--mode always] [--quiet 0.5]

``--mode``: ``FRONTIER_RENDER``, ``--at-once``: ``FRONTIER_RENDER_PAGES``, ``--quiet``: ``FRONTIER_RENDER_QUIET``;
``--browser``: another Chromium than the one that is found.

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
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from scrapy.crawler import AsyncCrawlerProcess

from crawlproject.spiders.web import WebSpider
from testbed.bench import command_line
from testbed.crawl import ADDON, QUIET
from testbed.shop import running_shops


class Memory(threading.Thread):
    """Looks twice a second at the memory of this process and of all below it, shared pages counted once (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = self.most_own = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Until ``ended`` is set."""
        me = psutil.Process()
        while not self.ended.wait(0.5):
            own, others = proportional(me), sum(map(proportional, me.children(recursive=True)))
            self.most = max(self.most, own + others)
            self.most_own = max(self.most_own, own)


def proportional(process: psutil.Process) -> int:
    """Proportional set size, bytes."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def cpu_of_children() -> float:
    """Seconds of all processes below this one, which have ended or are about to."""
    with suppress(ChildProcessError):
        while True:
            os.wait()
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return below.ru_utime + below.ru_stime


def main() -> None:
    defaults = {"servers": 4, "pages": 10, "at_once": 4, "mode": "always", "quiet": 0.5}
    options = command_line(__doc__, **defaults, browser="").parse_args()
    # Children whose own parent ends become this one's: no CPU time of theirs is lost (PR_SET_CHILD_SUBREAPER, Linux).
    ctypes.CDLL(None).prctl(36, 1)
    with running_shops(options.servers, options.pages) as seeds:
        measure(options, ",".join(seeds))


def measure(options: Any, seeds: str) -> None:
    settings: dict[str, Any] = (
        QUIET | ADDON | {"FRONTIER_RENDER": options.mode, "FRONTIER_RENDER_PAGES": options.at_once}
    )
    settings |= {"FRONTIER_RENDER_QUIET": options.quiet, "LOG_LEVEL": "WARNING"}
    if options.browser:
        settings["PLAYWRIGHT_LAUNCH_OPTIONS"] = {"executable_path": options.browser}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(WebSpider)
    process.crawl(crawler, seeds=seeds)
    memory = Memory()
    memory.start()
    started, own = time.monotonic(), time.process_time()
    process.start()
    elapsed, own = time.monotonic() - started, time.process_time() - own
    memory.ended.set()
    cpu = cpu_of_children()
    assert crawler.stats is not None
    pages, rendered, spent = (crawler.stats.get_value(name, 0) for name in ("web/pages", "render/pages", "render/time"))
    print(f"pages {pages}, rendered {rendered}, {elapsed:.1f} s: {pages / elapsed:.2f} pages/s")
    print(
        f"CPU per page: this process with the servers {own / pages * 1e3:.0f} ms, browser {cpu / pages * 1e3:.0f} ms: "
        f"{cpu / own:.1f} times as much"
    )
    print(f"time in the browser: {spent / pages:.2f} s per page")
    print(f"memory: all {memory.most / 1e6:.0f} MB, this process {memory.most_own / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
