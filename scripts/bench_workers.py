"""One crawl of an emulated web by one and two workers: pages per second, and what that costs them and Redis.

    scripts/bench workers [--workers 1,2] [--servers 60] [--pages 900] [--sessions 4] [--time-scale 0.3] [--seed 1]

The servers' delays dominate: each worker has few sessions. Pages per second are by the log of the servers, from the
first page of the worker that began last until 80% of the pages are fetched: until then there are servers enough;
"times" is their ratio to those of the first row. CPU per page is of the workers together, from the opening to the
closing of their spiders; calls are their round trips to Redis; Redis's CPU, commands and traffic are by INFO; its bytes
are the growth of its memory at the highest.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, client_of, first_fetches, missing, overlaps, repeats, running_web
from testbed.workers import Workers

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from testbed.web import Record

SETTINGS: dict[str, Any] = {
    "FRONTIER_POLITENESS": "session",
    "FRONTIER_DELAY_FACTOR": 1,
    "FRONTIER_MIN_DELAY": 0.1,
    "FRONTIER_MAX_DELAY": 10,
}
#: Share of the pages until which the speed is measured.
STEADY = 0.8
#: Columns: heading -> digits after the point.
COLUMNS = {
    **{"workers": 0, "pages": 0, "missing": 0, "again": 0, "overlaps": 0, "pages/s": 1, "times": 2, "CPU ms/page": 2},
    **{"Redis us/page": 1, "calls/page": 3, "commands/page": 2, "bytes sent/page": 0, "Redis bytes/page": 0},
}


def steady_speed(records: Sequence[Record]) -> float:
    """New pages per second while all workers fetch and there are servers enough. O(n log n)."""
    firsts = sorted(first_fetches(records), key=lambda each: each.end)
    clients = client_of(records)
    begun = {clients[each.connection]: each.end for each in reversed(firsts)}
    start, last = max(begun.values()), firsts[int(STEADY * (len(firsts) - 1))].end
    return sum(start < each.end <= last for each in firsts) / (last - start) if last > start else 0.0


def measure(workers: int, arguments: Namespace, folder: Path) -> dict[str, float]:
    """The figures of one crawl by so many workers, by heading."""
    fields = {name: getattr(arguments, name) for name in ("servers", "pages", "seed", "time_scale")}
    with running_web(WebSpec.from_values(fields)) as web, RunningRedis(aof=True) as redis:
        settings = SETTINGS | {"FRONTIER_BACKEND": "redis", "REDIS_URL": redis.url}
        with Workers(folder / str(workers), web, settings | {"FRONTIER_MAX_SESSIONS": arguments.sessions}) as crew:
            before = redis.info("all")
            for _ in range(workers):
                crew.add()
            crew.wait_all()
            after, records = redis.info("all"), crew.records()
            cpu, calls = crew.stats("bench/cpu"), crew.stats("workers/calls")
    pages = len(first_fetches(records))

    def growth(*names: str) -> float:
        return sum(after[name] - before[name] for name in names) / pages

    return {
        **{"workers": workers, "pages": pages, "missing": len(missing(web.web, records))},
        **{"again": len(repeats(records)), "overlaps": len(overlaps(records)), "pages/s": steady_speed(records)},
        **{"CPU ms/page": cpu / pages * 1e3, "Redis us/page": growth("used_cpu_user", "used_cpu_sys") * 1e6},
        **{"calls/page": calls / pages, "commands/page": growth("total_commands_processed")},
        "bytes sent/page": growth("total_net_input_bytes", "total_net_output_bytes"),
        "Redis bytes/page": (after["used_memory_peak"] - before["used_memory"]) / pages,
    }


def main() -> None:
    defaults = {"workers": "1,2", "servers": 60, "pages": 900, "sessions": 4, "time_scale": 0.3, "seed": 1}
    arguments = command_line(__doc__, **defaults).parse_args()
    print(*COLUMNS)
    base = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for workers in map(int, arguments.workers.split(",")):
            row = measure(workers, arguments, Path(folder))
            base = base or row["pages/s"]
            row["times"] = row["pages/s"] / base if base else 0.0
            print(*(f"{row[head]:>{len(head)}.{digits}f}" for head, digits in COLUMNS.items()), flush=True)


if __name__ == "__main__":
    main()
