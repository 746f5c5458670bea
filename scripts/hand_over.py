#!/usr/bin/env python3
"""Measures how long servers wait for their next worker: after Ctrl-C of their worker, and after kill -9.

    scripts/hand_over.py [--rows 100000] [--servers 1000] [--lease 15]

Two workers crawl an emulated web from a file of seeds, which are all of the rows; then one of them leaves. For each
of its partitions counts the time from its last request there, or from the signal if that was later, until the other
worker has taken it; and until the other one has loaded all of them.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.workers.partitions import Partitions
from testbed.bench import command_line
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, running_web
from testbed.web.judging import connections
from testbed.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import redis

    from testbed.web import RunningWeb

PARTITIONS = 256
#: Seconds of the goal: for a crash, and for each row and each server that is loaded.
CRASH, ROW, SERVER = 20.0, 3.4e-6, 150e-6
PLANNED = 2.0
loaded = re.compile(r"(\d+) partitions of other workers, or of an earlier run, loaded").findall
PATIENCE = 600.0
SETTINGS: dict[str, Any] = {"FRONTIER_MAX_SESSIONS": 8, "FRONTIER_MAX_FAILURES": 0, "LINKS_SITEMAPS": False}


class Watch:
    """The partitions in Redis: owners and when they changed."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self.owners = [""] * PARTITIONS
        self.taken_at = [0.0] * PARTITIONS

    def field(self, name: str) -> list[str]:
        """A field of all partitions."""
        pipeline = self._client.pipeline(transaction=False)
        for number in range(PARTITIONS):
            pipeline.hget(f"{{web:{number}}}:m", name)
        return [(value or b"").decode() for value in pipeline.execute()]

    def look(self) -> None:
        """Note what has changed."""
        owners, now = self.field("owner"), time.monotonic()
        for number, owner in enumerate(owners):
            if owner != self.owners[number]:
                self.owners[number], self.taken_at[number] = owner, now

    def until(self, reached: Callable[[], bool]) -> None:
        """Look until ``reached()``."""
        end = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > end:
                raise TimeoutError("the workers do not do what they should")
            self.look()
            time.sleep(0.02)

    def stored(self) -> int:
        """URLs queued or in progress."""
        return sum(int(value or 0) for value in self.field("stored"))


def hand_over(web: RunningWeb, seeds: Path, folder: Path, arguments: Any, *, planned: bool) -> dict[str, float]:
    """Crawl with two workers until one leaves; returns the figures."""
    settings = {**SETTINGS, "FRONTIER_BACKEND": "redis", "FRONTIER_LEASE": arguments.lease}
    with RunningRedis(aof=True) as server:
        settings["REDIS_URL"] = server.url
        with Workers(folder, web, settings, arguments={"seeds": str(seeds)}) as crew:
            watch = Watch(server.client())
            crew.add()
            crew.add()
            watch.until(lambda: len(set(watch.owners) - {""}) == 2 and watch.stored() > 0.9 * arguments.rows)
            time.sleep(5)  # both crawl, nothing else happens
            watch.look()
            leaver = next(owner for owner in watch.owners if f":{crew.all[1].process.pid}:" in owner)
            left = [number for number, owner in enumerate(watch.owners) if owner == leaver]
            rows, servers = watch.field("stored"), watch.field("servers")
            began = len(crew.all[0].log())
            signal_at = time.monotonic()
            if planned:
                crew.interrupt(1)
            else:
                crew.kill(1)
            watch.until(lambda: all(watch.owners[number] not in (leaver, "") for number in left))
            watch.until(lambda: sum(map(int, loaded(crew.all[0].log()[began:]))) >= len(left))
            loaded_at = time.monotonic()
            last = last_requests(crew)
            waits = [watch.taken_at[number] - max(signal_at, last.get(number, 0.0)) for number in left]
            return {
                "rows": sum(int(rows[number] or 0) for number in left),
                "servers": sum(int(servers[number] or 0) for number in left),
                "partitions": len(left),
                "median": sorted(waits)[len(waits) // 2],
                "slowest": max(waits),
                "loaded": loaded_at - max([signal_at, *(last.get(number, 0.0) for number in left)]),
            }


def last_requests(crew: Workers) -> dict[int, float]:
    """Partition -> end of the last request of worker 1."""
    partitions, address = Partitions(PARTITIONS), crew.all[1].address
    records = crew.records()
    own = {each.number for each in connections(records) if each.client == address}
    found: dict[int, float] = {}
    assert crew.web is not None
    for each in records:
        if each.kind == "request" and each.connection in own:
            number = partitions.of(f"http://{each.server}:{crew.web.port}")
            found[number] = max(found.get(number, 0.0), each.end)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns 0 if the goals are reached."""
    arguments = command_line(__doc__, rows=100_000, servers=1_000, lease=15.0).parse_args(argv)
    spec = WebSpec(servers=arguments.servers, pages=arguments.servers, seed=1, time_scale=1, robots_missing_share=1.0)
    is_right = True
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        seeds = Path(folder) / "seeds.txt"
        each = arguments.rows // arguments.servers
        origins = [f"http://{server.address}:{web.port}" for server in web.web.servers]
        seeds.write_text("".join(f"{origin}/seed/{number}\n" for origin in origins for number in range(each)))
        print("how      rows     servers  partitions  taken: median  slowest  all loaded  goal (seconds)")
        for planned in (True, False):
            found = hand_over(web, seeds, Path(folder) / str(planned), arguments, planned=planned)
            goal = PLANNED if planned else CRASH + ROW * found["rows"] + SERVER * found["servers"]
            is_right = is_right and found["slowest" if planned else "loaded"] <= goal
            print(
                f"{'planned' if planned else 'kill -9':8}{found['rows']:8.0f}{found['servers']:9.0f}"
                f"{found['partitions']:12.0f}{found['median']:15.2f}{found['slowest']:9.2f}"
                f"{found['loaded']:12.2f}{goal:6.2f}"
            )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
