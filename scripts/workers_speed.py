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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line, table_line
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
#: Columns: heading -> attribute of `Row`, format.
COLUMNS = {
    "workers": ("workers", "7d"),
    "pages": ("pages", "7d"),
    "missing": ("missing", "7d"),
    "again": ("again", "5d"),
    "overlaps": ("overlaps", "8d"),
    "short waits": ("short", "11d"),
    "pages/s": ("speed", "7.1f"),
    "all pages/s": ("speed_of_all", "11.1f"),
    "CPU ms/page": ("cpu", "11.2f"),
    "Redis CPU us/page": ("redis_cpu", "17.1f"),
    "calls/page": ("calls", "10.3f"),
    "reads/page": ("reads", "10.2f"),
    "commands/page": ("commands", "13.2f"),
    "bytes sent/page": ("traffic", "15.0f"),
    "Redis bytes/page": ("memory", "16.0f"),
}


@dataclass(frozen=True)
class Row:
    """The figures of one crawl."""

    workers: int
    pages: int
    missing: int
    again: int
    overlaps: int
    short: int
    speed: float
    #: Until the last page.
    speed_of_all: float
    #: Milliseconds per page.
    cpu: float
    #: Microseconds per page.
    redis_cpu: float
    #: Round trips of the workers.
    calls: float
    reads: float
    commands: float
    traffic: float
    memory: float


def redis_figures(before: Mapping[str, Any], after: Mapping[str, Any], pages: int) -> dict[str, float]:
    """Redis's costs per page, from INFO before and after a crawl."""

    def growth(*names: str) -> float:
        return sum(after.get(name, 0) - before.get(name, 0) for name in names) / max(1, pages)

    return {
        "redis_cpu": growth("used_cpu_user", "used_cpu_sys") * 1e6,
        "reads": growth("total_reads_processed"),
        "commands": growth("total_commands_processed"),
        "traffic": growth("total_net_input_bytes", "total_net_output_bytes"),
        "memory": (after["used_memory_peak"] - before["used_memory"]) / max(1, pages),
    }


def steady_speed(records: Sequence[Record]) -> float:
    """New pages per second while all workers fetch and there are servers enough. O(n log n)."""
    firsts = sorted(first_fetches(records), key=lambda each: each.end)
    clients = client_of(records)
    begun = {clients[each.connection]: each.end for each in reversed(firsts)}
    start, last = max(begun.values()), firsts[int(STEADY * (len(firsts) - 1))].end
    count = sum(start < each.end <= last for each in firsts)
    return count / (last - start) if last > start else 0.0


def measure(workers: int, arguments: Namespace, folder: Path) -> Row:
    """One crawl by so many workers."""
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
    return Row(
        workers=workers,
        pages=pages,
        missing=len(missing(web.web, records)),
        again=len(repeats(records)),
        overlaps=len(overlaps(records)),
        short=len(politeness_violations(records, rule_of(SETTINGS, web.web))),
        speed=steady_speed(records),
        speed_of_all=pages_per_second(records),
        cpu=cpu / max(1, pages) * 1e3,
        calls=calls / max(1, pages),
        **redis_figures(before, after, pages),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per number of workers."""
    defaults = {"workers": "1,2,4", "servers": 200, "pages": 4000, "sessions": 4, "time_scale": 1.0, "seed": 1}
    arguments = command_line(__doc__, **defaults, backend="redis").parse_args(argv)
    print(" ".join(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for workers in map(int, arguments.workers.split(",")):
            print(table_line(measure(workers, arguments, Path(folder)), COLUMNS), flush=True)


if __name__ == "__main__":
    main()
