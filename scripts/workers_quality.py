#!/usr/bin/env python3
"""Quality lost by dividing a crawl: one worker compared with several that have as many sessions in all.

    scripts/workers_quality.py [--workers 1,4] [--sessions 16] [--webs 3] [--servers 200] [--pages 3000]
                               [--time-scale 3] [--estimate in-links|known]

All crawls of a web are real ones, in turns, of the same emulated web, over a Redis server of their own. The workers
are started first; the seeds are given when each owns its share of the partitions. Columns: area under the quality
collected over time by the servers' log, relative to the bound (as in `scrapy simulate`), and the same of a simulated
crawl by as many workers; seconds of both; CPU time per page, all workers together; links sent to others per page; the
share of pages of the worker that fetched most; pages missing and fetched again. The CPU time of a worker in a
second should stay below 0.3 s: choose a larger `--time-scale`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from crawlproject.frontier import POLICIES
from crawlproject.frontier.dispatch import LINGER
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import simulate
from crawlproject.simulation.experiment import Knowledge, estimator
from crawlproject.simulation.metrics import Curve, Outcome, Reference, collectable_quality
from crawlproject.simulation.record import CrawlOptions
from crawlproject.workers.assignment import PARTITIONS, owners_of_servers
from testbed.bench import command_line, table_line
from testbed.redis_server import RunningRedis
from testbed.twin import twin
from testbed.web import WebSpec, missing, quality_over_time, repeats, running_web
from testbed.workers import Workers

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from crawlproject.simulation.web import SimulatedWeb
    from testbed.web import RunningWeb

SETTINGS: dict[str, Any] = {
    "FRONTIER_BACKEND": "redis",
    "FRONTIER_KEEP_RUNNING": True,
    "DOWNLOAD_TIMEOUT": 600,
    "FRONTIER_DELAY_FACTOR": 0,
    "FRONTIER_MIN_DELAY": 0,
    "FRONTIER_MAX_DELAY": 0,
}
#: Seconds that a page takes, before scaling, at most: so that no page alone decides when a crawl ends.
LONGEST = 5.0
#: The spider refuses to start without a seed: this one refuses connections.
NO_SEED = "http://127.0.0.1:9/"
#: Columns: heading -> attribute of `Row`, format.
COLUMNS = {
    "seed": ("seed", "4d"),
    "workers": ("workers", "7d"),
    "area": ("area", "6.4f"),
    "simulated": ("simulated", "9.4f"),
    "seconds": ("seconds", "7.1f"),
    "sim s": ("simulated_seconds", "7.1f"),
    "CPU ms/page": ("cpu", "11.2f"),
    "sent": ("sent", "5.2f"),
    "most": ("most", "5.3f"),
    "missing": ("missing", "7d"),
    "again": ("again", "5d"),
}


@dataclass(frozen=True)
class Row:
    """The figures of one real crawl and its simulation."""

    seed: int
    workers: int
    area: float
    simulated: float
    seconds: float
    simulated_seconds: float
    #: Milliseconds per page.
    cpu: float
    sent: float
    most: float
    missing: int
    again: int


class Ground:
    """The simulated twin of a web, and what areas are relative to: as in ``scrapy simulate``."""

    def __init__(self, web: SimulatedWeb, arguments: Namespace) -> None:
        self.web = web
        self._quality = estimator(Knowledge(arguments.estimate), web, 1)
        self._options = CrawlOptions(arguments.sessions, linger=LINGER, owners=owners_of_servers)
        first = Outcome.of(simulate(web, POLICIES["breadth-first"](), self._quality, self._options))
        self._reference = Reference.of(first, bound_of(web, arguments.sessions), collectable_quality(web))

    def area(self, curve: Curve) -> float:
        """Relative to the bound, up to the full time of a simulated breadth-first crawl."""
        return curve.area(self._reference.unit) / self._reference.bound

    def simulated(self, workers: int) -> tuple[float, float]:
        """(Area, seconds) of a simulated crawl."""
        done = simulate(self.web, POLICIES["prefix"](), self._quality, replace(self._options, workers=workers))
        return self.area(Curve.of(done)), done.full_time


def crawl(web: RunningWeb, workers: int, redis: RunningRedis, folder: Path, arguments: Namespace) -> Workers:
    """Crawl ``web`` to its end by so many workers."""
    settings = SETTINGS | {"REDIS_URL": redis.url, "FRONTIER_MAX_SESSIONS": arguments.sessions // workers}
    if arguments.estimate == "known":
        scores = folder / "scores.tsv"
        web.web.write_scores(scores)
        settings |= {"FRONTIER_QUALITY": "scores", "FRONTIER_QUALITY_FILE": scores}
    with Workers(folder / "workers", web, settings, arguments={"seeds": NO_SEED}) as crew:
        for _ in range(workers):
            crew.add()
        client = redis.client()
        share = PARTITIONS // workers

        def is_shared() -> bool:
            infos = [json.loads(info) for info in client.hvals("{web}:info")]
            return len(infos) == workers and all(share <= info["partitions"] <= share + 1 for info in infos)

        crew.until(is_shared, "partitions were shared")
        client.rpush("web:start_urls", *web.seeds)
        crew.wait_for_pages(len(web.web.expected))
        for number in crew.running():
            crew.interrupt(number)
        crew.wait_all()
    return crew


def measure(seed: int, workers: int, arguments: Namespace, folder: Path) -> Row:
    """One real crawl and its simulation."""
    times = {"time_scale": arguments.time_scale, "response_max": LONGEST}
    spec = WebSpec(arguments.servers, arguments.pages, seed, **times)
    with running_web(spec) as web, RunningRedis(aof=True) as redis:
        crew = crawl(web, workers, redis, folder, arguments)
        records = crew.records()
    curve = quality_over_time(records, web.web)
    ground = Ground(twin(web.web), arguments)
    simulated, simulated_seconds = ground.simulated(workers)
    pages = crew.progress()
    return Row(
        seed=seed,
        workers=workers,
        area=ground.area(Curve(*(np.array(column) for column in zip(*curve, strict=True)))),
        simulated=simulated,
        seconds=curve[-1][0],
        simulated_seconds=simulated_seconds,
        cpu=crew.stats("bench/cpu") / len(curve) * 1e3,
        sent=crew.stats("frontier/links/sent") / len(curve),
        most=max(pages.values()) / sum(pages.values()),
        missing=len(missing(web.web, records)),
        again=len(repeats(records)),
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per web and number of workers, then the mean areas."""
    parser = command_line(
        __doc__,
        workers="1,4",
        sessions=16,
        webs=3,
        seed=1,
        servers=200,
        pages=3000,
        time_scale=3.0,
        estimate="in-links",
    )
    arguments = parser.parse_args(argv)
    counts = [int(count) for count in arguments.workers.split(",")]
    rows: list[Row] = []
    print(" ".join(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.webs):
            for workers in counts:
                place = Path(folder) / f"{seed}-{workers}"
                place.mkdir()
                rows.append(measure(seed, workers, arguments, place))
                print(table_line(rows[-1], COLUMNS), flush=True)
    for workers in counts:
        mine = [row for row in rows if row.workers == workers]
        print(f"{workers} workers: {fmean(row.area for row in mine):.4f}, ", end="")
        print(f"simulated {fmean(row.simulated for row in mine):.4f}")


if __name__ == "__main__":
    main()
