#!/usr/bin/env python3
"""The use of every second of a crawl's connections, in a real crawl of the emulated web and in its simulation.

    scripts/where_time_goes.py [--web plain|real|slow] [--servers 200] [--pages 3000] [--sessions 16] [--time-scale 3]

The places of all connections times the seconds of the crawl are 100%.  Columns: the real crawl and the simulated one;
the same two while the frontier has at least twice as many ready servers as places (plenty); and the area under quality
over time that the simulation gains without this: without closing, lingering, robots.txt, connection costs or CPU time,
if all pages were known from the start, and if it were known which URLs lead to no page.  Sum: 100% if every second is
accounted for.

``--web``: `plain`, pages only; `real`, with robots.txt, redirects, dead links and errors; `slow`, the same with
Crawl-delays and slow servers.  Keep the CPU below 50%: choose a larger ``--time-scale``.  The exit code is 1 if a sum
is not 100% ± 2.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier import POLICIES
from crawlproject.frontier.dispatch import LINGER
from crawlproject.frontier.politeness import Politeness
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import Watch, simulate
from crawlproject.simulation.metrics import Curve, bound_area, collectable_quality
from crawlproject.simulation.record import CrawlOptions
from crawlproject.simulation.spans import (
    AT_WORK,
    CLOSING,
    CONNECT,
    FIRST,
    LINGERING,
    NO_SESSION,
    PHASES,
    PREPARING,
    ROBOTS,
    Spans,
)
from crawlproject.simulation.worth import KnownWorth
from testbed.bench import command_line
from testbed.crawl import Conditions, Run, area, crawl
from testbed.slots import Slots
from testbed.twin import twin
from testbed.webs import named_web

if TYPE_CHECKING:
    from argparse import Namespace

    from crawlproject.simulation.web import SimulatedWeb

DISCOVERY = "finding pages by links"
FALSE_CLAIMS = "URLs that lead to no page"

#: Simulated crawls for each area.
REPEATS = 6


@dataclass(frozen=True)
class Twin:
    """The simulated crawl of the same web under the same conditions."""

    web: SimulatedWeb
    policy: str
    options: CrawlOptions

    def curve(self, web: SimulatedWeb, options: CrawlOptions) -> Curve:
        """Crawl a changed web, or under changed conditions; the quality claimed is that of the whole web."""
        return Curve.of(simulate(web, POLICIES[self.policy](), KnownWorth(web), options))

    def gains(self, until: float) -> dict[str, float]:
        """Area gained without each of the costs, over the first ``until`` seconds."""
        web, options = self.web, self.options
        nothing = np.zeros(0)
        free = np.zeros(web.servers)
        known = np.flatnonzero(web.collectable)
        honest = replace(web, quality=np.where(web.collectable, web.quality, 0.0))
        changed = {
            ROBOTS: (replace(web, robots_time=nothing, crawl_delay=nothing), options),
            FIRST: (replace(web, first_extra=free), options),
            CONNECT: (replace(web, connect_draws=np.zeros(web.pages)), options),
            CLOSING: (web, replace(options, closing=0.0)),
            LINGERING: (web, replace(options, linger=0.0)),
            PREPARING: (web, replace(options, cpu_time=0.0)),
            DISCOVERY: (replace(web, seeds=known), options),
            FALSE_CLAIMS: (honest, options),
        }
        whole = self.area(web, options, until)
        return {name: self.area(*each, until) - whole for name, each in changed.items()}

    def area(self, web: SimulatedWeb, options: CrawlOptions, until: float) -> float:
        """Mean of crawls with slightly different CPU times: areas of single crawls differ by up to .004."""
        spread = [replace(options, cpu_time=options.cpu_time * (1 + 0.01 * step)) for step in range(REPEATS)]
        return sum(self.curve(web, each).area(until) for each in spread) / until / REPEATS


def main() -> int:
    """Crawl, simulate, print the table; returns 1 unless the sums are 100% ± 2."""
    args = command_line(
        __doc__,
        web="real",
        policy="prefix",
        servers=200,
        pages=3000,
        sessions=16,
        seed=1,
        time_scale=3.0,
        factor=0.0,
        min_delay=0.0,
    ).parse_args()
    try:
        spec = named_web(args)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "slots.jsonl")
        settings = {"EXTENSIONS": '{"testbed.slots.SlotLog": 0}', "SLOT_LOG": log}
        conditions = Conditions(args.sessions, "session", args.factor, args.min_delay, settings=settings)
        run = crawl(args.policy, spec, conditions)
        start = min(record.arrival for record in run.records)
        slots = Slots(log, start)
    return report(args, run, slots)


def report(args: Namespace, run: Run, slots: Slots) -> int:
    used = run.cpu
    seconds = (used.user + used.system + used.queued) / run.responses
    politeness = Politeness("session", args.factor, args.min_delay, 60.0)
    options = CrawlOptions(args.sessions, politeness, linger=LINGER, cpu_time=seconds)
    double = Twin(twin(run.web), args.policy, options)
    spans, ready = Spans(), []
    done = simulate(
        double.web,
        POLICIES[args.policy](),
        KnownWorth(double.web),
        options,
        Watch(0.1, lambda now, dispatcher, *_: ready.append((now, dispatcher.frontier.counts()["ready"])), spans),
    )
    curve = Curve.of(done)
    until = max(run.seconds, done.full_time)
    real_area, simulated_area = area(run.curve, until), curve.area(until) / until
    plenty = [(slots.from_plenty(2 * args.sessions), slots.until_scarce(2 * args.sessions))]
    rich = [time for time, count in ready if count >= 2 * args.sessions] or [0.0, 0.0]
    plenty.append((rich[0], rich[-1]))
    columns = [slots.spans.shares(args.sessions, 0.0, run.seconds), spans.shares(args.sessions, 0.0, done.full_time)]
    parts = (slots.spans, spans)
    rich_columns = [
        part.shares(args.sessions, *span) if span[1] > span[0] else {} for part, span in zip(parts, plenty, strict=True)
    ]
    gains = double.gains(until)
    bound = bound_area(bound_of(double.web, args.sessions), collectable_quality(double.web), until) / until
    print(
        f"web {args.web}: {run.web.spec.servers} servers, {run.web.spec.pages:,} pages; {args.sessions} places;"
        f" CPU {used.share:.0%}, {seconds * 1e3:.1f} ms a response\n"
        f"seconds: real {run.seconds:.1f}, simulated {done.full_time:.1f};"
        f" area: real {real_area:.4f}, simulated {simulated_area:.4f}, bound {bound:.4f}\n"
        f"plenty: real {plenty[0][0]:.1f} to {plenty[0][1]:.1f} s, simulated {plenty[1][0]:.1f} to {plenty[1][1]:.1f} s"
    )
    print(f"{'':34} {'real':>7} {'sim':>7} {'plenty':>7} {'sim':>7} {'area':>7}")
    sums = [0.0, 0.0, 0.0, 0.0]
    for name in (*PHASES, NO_SESSION):
        shares = [column.get(name, 0.0) for column in (*columns, *rich_columns)]
        sums = [total + share for total, share in zip(sums, shares, strict=True)]
        print(_row(name, shares) + (f" {gains[name]:+7.4f}" if name in gains else ""))
    print(_row("sum", sums))
    work = [sum(column.get(name, 0.0) for name in AT_WORK) for column in (*columns, *rich_columns)]
    print(_row("at work", work))
    for name in (DISCOVERY, FALSE_CLAIMS):
        print(f"{name:66} {gains[name]:+7.4f}")
    return int(any(abs(total - 1) > 0.02 for total in sums[:2]))


def _row(name: str, shares: list[float]) -> str:
    return f"{name:34} " + " ".join(f"{share:7.1%}" for share in shares)


if __name__ == "__main__":
    sys.exit(main())
