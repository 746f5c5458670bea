#!/usr/bin/env python3
"""One, two and four workers on the same emulated web: pages per second, and what that costs them and Redis.

    scripts/workers_speed.py [--workers 1,2,4] [--servers 200] [--pages 4000] [--sessions 4] [--time-scale 1] [--seed 1]

The servers' delays dominate: each worker has few sessions. Pages per second are by the log of the servers, from the
first page of the worker that began last until 80% of the pages are fetched: until then there are servers enough. CPU
per page is of the workers together, from the opening to the closing of their spiders; calls are their round trips to
Redis; Redis's CPU, reads of its sockets, commands and traffic are by INFO; its bytes are the growth of its memory at
the highest.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.redis_server import RunningRedis
from testbed.web import (
    WebSpec,
    client_of,
    first_fetches,
    missing,
    overlaps,
    pages_per_second,
    politeness_violations,
    repeats,
    rule_of,
    running_web,
)
from testbed.workers import Workers

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from testbed.web import Record

SETTINGS: dict[str, Any] = {
    "FRONTIER_POLITENESS": "session",
    "FRONTIER_DELAY_FACTOR": 1,
    "FRONTIER_MIN_DELAY": 0.1,
    "FRONTIER_MAX_DELAY": 10,
}
#: Share of the pages until which the speed is measured.
STEADY = 0.8
#: Columns: heading -> format of a figure.
COLUMNS = {
    "workers": "7d",
    "pages": "7d",
    "missing": "7d",
    "again": "5d",
    "overlaps": "8d",
    "short waits": "11d",
    "pages/s": "7.1f",
    "all pages/s": "11.1f",  # until the last page
    "CPU ms/page": "11.2f",
    "Redis CPU us/page": "17.1f",
    "calls/page": "10.3f",  # round trips of the workers
    "reads/page": "10.2f",
    "commands/page": "13.2f",
    "bytes sent/page": "15.0f",
    "Redis bytes/page": "16.0f",
}


def redis_figures(before: Mapping[str, Any], after: Mapping[str, Any], pages: int) -> dict[str, float]:
    """Redis's costs per page, from INFO before and after a crawl."""

    def growth(*names: str) -> float:
        return sum(after.get(name, 0) - before.get(name, 0) for name in names) / max(1, pages)

    return {
        "Redis CPU us/page": growth("used_cpu_user", "used_cpu_sys") * 1e6,
        "reads/page": growth("total_reads_processed"),
        "commands/page": growth("total_commands_processed"),
        "bytes sent/page": growth("total_net_input_bytes", "total_net_output_bytes"),
        "Redis bytes/page": (after["used_memory_peak"] - before["used_memory"]) / max(1, pages),
    }


def steady_speed(records: Sequence[Record]) -> float:
    """New pages per second while all workers fetch and there are servers enough. O(n log n)."""
    firsts = sorted(first_fetches(records), key=lambda each: each.end)
    clients = client_of(records)
    begun = {clients[each.connection]: each.end for each in reversed(firsts)}
    start, last = max(begun.values()), firsts[int(STEADY * (len(firsts) - 1))].end
    count = sum(start < each.end <= last for each in firsts)
    return count / (last - start) if last > start else 0.0


def measure(workers: int, arguments: Namespace, folder: Path) -> dict[str, float]:
    """The figures of one crawl by so many workers, by heading."""
    spec = WebSpec(
        servers=arguments.servers, pages=arguments.pages, seed=arguments.seed, time_scale=arguments.time_scale
    )
    with running_web(spec) as web, RunningRedis(aof=True) as redis:
        settings = {"FRONTIER_BACKEND": arguments.backend, "REDIS_URL": redis.url}
        settings |= SETTINGS | {"FRONTIER_MAX_SESSIONS": arguments.sessions}
        with Workers(folder / str(workers), web, settings) as crew:
            before = redis.info("all")
            for _ in range(workers):
                crew.add()
            crew.wait_all()
            after = redis.info("all")
            records = crew.records()
            cpu, calls = crew.stats("bench/cpu"), crew.stats("workers/calls")
    pages = len(first_fetches(records))
    return redis_figures(before, after, pages) | {
        "workers": workers,
        "pages": pages,
        "missing": len(missing(web.web, records)),
        "again": len(repeats(records)),
        "overlaps": len(overlaps(records)),
        "short waits": len(politeness_violations(records, rule_of(SETTINGS, web.web))),
        "pages/s": steady_speed(records),
        "all pages/s": pages_per_second(records),
        "CPU ms/page": cpu / max(1, pages) * 1e3,
        "calls/page": calls / max(1, pages),
    }


def main(argv: Sequence[str] | None = None) -> None:
    defaults = {"workers": "1,2,4", "servers": 200, "pages": 4000, "sessions": 4, "time_scale": 1.0, "seed": 1}
    arguments = command_line(__doc__, **defaults, backend="redis").parse_args(argv)
    print(*COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        for workers in map(int, arguments.workers.split(",")):
            row = measure(workers, arguments, Path(folder))
            print(*(f"{row[head]:{form}}".rjust(len(head)) for head, form in COLUMNS.items()), flush=True)


if __name__ == "__main__":
    main()
