#!/usr/bin/env python3
"""Real crawls of the emulated web, one for each policy, judged by the servers' own log.

    scripts/compare_policies.py [--policies breadth-first,capacity] [--servers 500] [--pages 30000] [--sessions 64]
    scripts/compare_policies.py --simulated [...]

``--web plain|real|slow``, ``--quality pagerank|zipf``, ``--politeness session|request``; ``--time-scale``: factor on
the web's response times.

Page quality is known on discovery, as in the paper (Cao 2003, figures 6 and 7).  All policies crawl the same web.
Columns: seconds of the crawl; share of the quality collected by 10, 20, 30 and 50% of the slowest policy's time, and
its mean over that time (area); the highest number of open connections, in all and to one server; politeness violations;
and connections in use until the frontier thins out, that is until too few servers have pages left to keep all sessions
busy under politeness.

``--simulated``: each crawl is also simulated, with the CPU time per response of the real one and without CPU time.  The
areas under quality over time, over the duration of the longer crawl, should differ by less than 5%; otherwise the exit
code is 1.  Keep the CPU column well below 50%: choose a larger ``--time-scale``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.crawl import Conditions, Run, area, crawl
from testbed.web import (
    PolitenessRule,
    busy_share,
    duplicates,
    first_fetches,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    value_at,
)
from testbed.webs import named_web

if TYPE_CHECKING:
    import argparse

    from testbed.twin import Agreement
    from testbed.web import WebSpec

SHARES = (0.1, 0.2, 0.3, 0.5)
TOLERANCE = 0.05
SIMULATED_HEAD = (
    f"{'policy':14} {'real s':>7} {'sim s':>7} {'conns':>6} {'sim':>6} {'CPU':>5} {'ms/resp':>7} {'area':>6} {'sim':>6}"
    f" {'differ':>7} {'CPU 0':>6} {'differ':>7}"
)


def thinning_time(run: Run, needed: float) -> float:
    """Seconds until fewer than ``needed`` servers have expected pages left. O(n log n)."""
    left: dict[str, int] = {}
    for page in run.web.expected:
        address = run.web.url(page).split("/")[2].split(":")[0]
        left[address] = left.get(address, 0) + 1
    start = min(record.arrival for record in run.records)
    servers = len(left)
    for record in first_fetches(run.records):
        if record.server in left:
            left[record.server] -= 1
            if left[record.server] == 0:
                servers -= 1
                if servers < needed:
                    return record.end - start
    return run.seconds


def row(run: Run, longest: float, args: argparse.Namespace) -> str:
    """A line of the table."""
    rule = PolitenessRule(
        args.politeness, args.factor, args.min_delay, args.max_delay, crawl_delays=run.web.crawl_delays()
    )
    thin = thinning_time(run, args.sessions * (1 + args.factor))
    shares = " ".join(f"{value_at(run.curve, share * longest):5.3f}" for share in SHARES)
    return (
        f"{run.policy:14} {run.seconds:7.1f} {shares} {area(run.curve, longest):5.3f}"
        f" {max_open_connections(run.records):5} {max(parallel_connections(run.records).values()):5}"
        f" {len(politeness_violations(run.records, rule)):10} {len(run.curve):6} {len(duplicates(run.records)):5}"
        f" {busy_share(run.records, args.sessions, thin):5.1%} of {thin:.0f} s"
    )


def simulated_row(policy: str, found: Agreement) -> str:
    """A line of the table of real and simulated crawls."""
    run = found.run
    return (
        f"{policy:14} {run.seconds:7.1f} {found.simulated_seconds:7.1f} {found.real_connections:6}"
        f" {found.simulated_connections:6} {run.cpu.share:5.0%} {found.cpu_time * 1e3:7.2f}"
        f" {found.real_area:6.4f} {found.simulated_area:6.4f} {found.difference:+7.2%}"
        f" {found.ideal_area:6.4f} {found.ideal_difference:+7.2%}"
    )


def simulated(policies: list[str], spec: WebSpec, conditions: Conditions) -> int:
    """Print a row for each policy; returns 1 if one differs by more than the tolerance, else 0."""
    from testbed.twin import compare

    print(SIMULATED_HEAD)
    worst = 0.0
    for policy in policies:
        found = compare(policy, spec, conditions)
        worst = max(worst, abs(found.difference))
        print(simulated_row(policy, found), flush=True)
    return int(worst > TOLERANCE)


def main() -> int:
    args = command_line(
        __doc__,
        policies="breadth-first,performance,quality,capacity",
        servers=500,
        pages=30_000,
        web="plain",
        sessions=64,
        seed=1,
        quality="pagerank",
        time_scale=3.0,
        politeness="session",
        factor=1.0,
        min_delay=0.5,
        max_delay=60.0,
        simulated=False,
    ).parse_args()
    spec = named_web(args)
    conditions = Conditions(args.sessions, args.politeness, args.factor, args.min_delay, args.max_delay)
    policies = args.policies.split(",")
    if args.simulated:
        return simulated(policies, spec, conditions)
    runs = []
    for policy in policies:
        runs.append(crawl(policy, spec, conditions))
        print(f"# {policy}: {runs[-1].seconds:.1f} s", file=sys.stderr, flush=True)
    longest = max(run.seconds for run in runs)
    print(
        f"{'policy':14} {'seconds':>7} {' '.join(f'q@{share:.0%}'.rjust(5) for share in SHARES)} {'area':>5}"
        f" {'open':>5} {'/srv':>5} {'violations':>10} {'pages':>6} {'twice':>5} in use"
    )
    for run in runs:
        print(row(run, longest, args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
