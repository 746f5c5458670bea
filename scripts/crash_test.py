#!/usr/bin/env python3
"""Kill a crawl of the emulated web with kill -9, repeatedly, and count what that costs. Run by hand; takes minutes.

    scripts/crash_test.py [--kills 55] [--pages 5000] [--seed 1]   # default: 90 pages for each kill

After every kill the crawl is started again on the same JOBDIR, and at last runs to its end.  By the log of the emulated
servers, every page must have been fetched; only pages that the store did not have as fetched when the crawl was killed
may have been fetched twice: they were in progress, or not yet committed.  Otherwise the exit code is 1.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier import BestPrefix, Frontier, Politeness
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages
from crawlproject.storage.frontier_state import DiskFrontierStore
from testbed.bench import ROOT, command_line
from testbed.crawl import crawl_command
from testbed.web import Record, Repeat, RunningWeb, WebSpec, fetches, repeats, running_web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Seconds between two commits of the crawl.
COMMIT_INTERVAL = 0.2
#: Pages per kill, so that the crawl lasts long enough.
PAGES_PER_KILL = 90
#: Time-out of the last run, seconds.
TIMEOUT = 600.0

SETTINGS = {
    "FRONTIER_COMMIT_INTERVAL": COMMIT_INTERVAL,
    "FRONTIER_MAX_SESSIONS": 4,
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MIN_BACKOFF": 0.01,
    "FRONTIER_MAX_BACKOFF": 0.1,
    "FRONTIER_MAX_FAILURES": 0,
    "RETRY_TIMES": 1,
    "ALLOWED_NETWORKS": "127.0.0.0/8",
    "LOG_LEVEL": "INFO",
}


def crash_spec(pages: int, seed: int) -> WebSpec:
    """A web with redirects and errors."""
    return WebSpec(servers=20, pages=pages, seed=seed, time_scale=0.05, redirect_share=0.05, server_error_share=0.02)


@dataclass
class Crashes:
    """The results of a crawl that was killed repeatedly."""

    #: Times of the kills (``time.monotonic``, the clock of the servers' log), and runs that ended by themselves.
    kills: list[float] = field(default_factory=list)
    ended: int = 0
    #: Servers and paths of the pages that the store had as fetched at each kill.
    committed: list[set[tuple[str, str]]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    #: URLs of the reachable pages, and of the fetched pages.
    expected: set[str] = field(default_factory=set)
    fetched: set[str] = field(default_factory=set)
    #: The end of the last run's log.
    log: str = ""

    @property
    def allowed(self) -> int:
        """Fetches that the kills may have wasted: in progress or not committed."""
        starts = [0.0, *self.kills]
        return sum(
            start <= record.arrival < kill and _place(record) not in committed
            for start, kill, committed in zip(starts, self.kills, self.committed, strict=False)
            for record in fetches(self.records)
        )

    def unexplained(self) -> list[Repeat]:
        """Repeated fetches not explained by a kill."""
        found = []
        for each in repeats(self.records):
            first, again = each.before.arrival, each.again.arrival
            between = [number for number, kill in enumerate(self.kills) if first < kill < again]
            if not between or any(each.page in self.committed[number] for number in between):
                found.append(each)
        return found


def _place(record: Record) -> tuple[str, str]:
    return record.server, record.page


def committed_pages(directory: Path) -> set[tuple[str, str]]:
    """Server and path of each page that the store in ``directory`` has as fetched; none if there is no store yet."""
    if not (directory / "store.json").exists():
        return set()
    with DiskStore.read_only(directory) as store:
        frontier, servers = Frontier(BestPrefix(), Politeness()), DiskFrontierStore(store, clock_offset=0.0)
        servers.load(frontier, time.time())
        hosts = {servers.number(server.key): urlsplit(server.key).hostname or "" for server in frontier.servers}
        return {(hosts[number], path) for number, path, _ in DiskFetchedPages(store).stored()}


def crash_crawl(
    spec: WebSpec, kills: int, folder: Path, start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
) -> Crashes:
    """Crawl the web of ``spec`` with a JOBDIR in ``folder``: kill it ``kills`` times, then let it finish.

    ``start(command, cwd=, stderr=)`` starts a process.
    """
    chance = random.Random(spec.seed)
    crashes = Crashes()
    with running_web(spec) as web:
        web.limit(spec.pages // 2)  # so that the first run does not end before it is killed
        while len(crashes.kills) < kills and not crashes.ended:
            with Path(os.devnull).open("wb") as null:
                process = start(_command(web, folder), cwd=ROOT, stderr=null)
            try:
                _wait_for_moment(process, web, chance)
            finally:
                process.kill()
            code = process.wait()
            web.limit(math.inf)
            if code >= 0:
                crashes.ended += 1
            else:
                crashes.kills.append(time.monotonic())
                crashes.committed.append(committed_pages(folder / "job" / "frontier"))
        log = folder / "last.log"
        with log.open("wb") as written:
            last = start(_command(web, folder), cwd=ROOT, stderr=written)
        try:
            last.wait(TIMEOUT)
        finally:
            last.kill()
        crashes.log = log.read_text(encoding="utf-8")[-5000:]
        crashes.expected = {web.web.url(page) for page in web.web.expected}
        crashes.records = web.records()
        port = web.port
    crashes.fetched = {f"http://{record.server}:{port}{record.page}" for record in fetches(crashes.records)}
    return crashes


def _command(web: RunningWeb, folder: Path) -> list[str]:
    return crawl_command(web.seeds, {**SETTINGS, "JOBDIR": folder / "job"})


def _wait_for_moment(process: subprocess.Popen[bytes], web: RunningWeb, chance: random.Random) -> None:
    """Wait for a random moment: in one of five cases during the start, else within the first second of fetching."""
    starts = chance.random() < 0.2
    if not starts:
        size = _log_size(web)
        while _log_size(web) == size and process.poll() is None:
            time.sleep(0.02)  # the log is a file: only its growth can be observed
    try:
        process.wait(chance.uniform(0.0, 1.5 if starts else 1.0))
    except subprocess.TimeoutExpired:
        return


def _log_size(web: RunningWeb) -> int:
    web.flush()
    return web.log_path.stat().st_size


def report(crashes: Crashes) -> Iterator[str]:
    """Lines of the report."""
    missing, unexplained = crashes.expected - crashes.fetched, crashes.unexplained()
    yield f"kills            {len(crashes.kills)}"
    yield f"pages            {len(crashes.fetched & crashes.expected)} of {len(crashes.expected)} fetched"
    again = len(repeats(crashes.records))
    yield f"fetched twice    {again}, allowed: {crashes.allowed} (in progress or not committed at a kill)"
    yield f"unexplained      {len(unexplained)}"
    yield from (f"never fetched    {url}" for url in sorted(missing)[:10])
    yield from (f"fetched again    {''.join(each.page)}" for each in unexplained[:10])


def main() -> int:
    """Crash and report; returns 0 if nothing was lost."""
    arguments = command_line(__doc__, kills=55, pages=0, seed=1).parse_args()
    spec = crash_spec(arguments.pages or max(400, PAGES_PER_KILL * arguments.kills), arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        crashes = crash_crawl(spec, arguments.kills, Path(folder))
    print("\n".join(report(crashes)))
    if len(crashes.kills) < arguments.kills:
        print("the crawl ended before all kills: increase --pages")
    is_right = crashes.fetched >= crashes.expected and not crashes.unexplained()
    return 0 if is_right and len(crashes.kills) >= arguments.kills else 1


if __name__ == "__main__":
    sys.exit(main())
