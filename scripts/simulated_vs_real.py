#!/usr/bin/env python3
"""Is a simulated crawl true?  Crawl the emulated web over loopback, then simulate the same crawl of the same web.

    scripts/simulated_vs_real.py [--policies breadth-first,capacity,prefix] [--quality pagerank] [--seed 1]
                                 [--servers 60] [--pages 2000] [--sessions 16] [--factor 1] ...

Pages, links, servers, times, limits, qualities, sessions and politeness are the same.  The simulation also has what
the real crawl has beside pages: a robots.txt of each server, connection costs that come with the first response,
and a crawler with one thread, which needs as much CPU for a response as was measured in the real crawl (time in
want of a CPU included).  Areas under quality over time are means over the span of the longer crawl; they should
differ by less than 5%.  Keep the CPU column well below 50%: choose a larger --time-scale.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.cao2003.agreement import Agreement, compare
from testbed.crawl import Conditions
from testbed.web import WebSpec

TOLERANCE = 0.05
HEAD = (
    f"{'policy':14} {'quality':9} {'seed':>4} {'real s':>7} {'sim s':>7} {'conns':>6} {'sim':>6} {'CPU':>5}"
    f" {'ms/resp':>7} {'area':>6} {'sim':>6} {'differ':>7} {'CPU 0':>6} {'differ':>7}"
)


def row(policy: str, spec: WebSpec, found: Agreement) -> str:
    """The line of the table."""
    run = found.run
    return (
        f"{policy:14} {spec.quality:9} {spec.seed:4} {run.seconds:7.1f} {found.simulated_seconds:7.1f}"
        f" {found.real_connections:6} {found.simulated_connections:6} {run.cpu.share:5.0%} {found.cpu_time * 1e3:7.2f}"
        f" {found.real_area:6.4f} {found.simulated_area:6.4f} {found.difference:+7.2%}"
        f" {found.ideal_area:6.4f} {found.ideal_difference:+7.2%}"
    )


def main() -> int:
    """Print a row for each policy, quality and seed; 1 where one of them differs by more than the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default="breadth-first,capacity,prefix")
    parser.add_argument("--quality", default="pagerank", help="pagerank, zipf or both, with a comma between them")
    parser.add_argument("--seed", default="1", help="or several, with commas between them")
    parser.add_argument("--servers", type=int, default=60)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--time-scale", type=float, default=1.0, help="factor on the web's response times")
    parser.add_argument("--politeness", choices=("session", "request"), default="session")
    parser.add_argument("--factor", type=float, default=0.0)
    parser.add_argument("--min-delay", type=float, default=0.0)
    parser.add_argument("--max-delay", type=float, default=60.0)
    args = parser.parse_args()
    conditions = Conditions(args.sessions, args.politeness, args.factor, args.min_delay, args.max_delay)
    print(HEAD)
    worst = 0.0
    for quality in args.quality.split(","):
        for seed in map(int, args.seed.split(",")):
            spec = WebSpec(
                servers=args.servers, pages=args.pages, seed=seed, quality=quality, time_scale=args.time_scale
            )
            for policy in args.policies.split(","):
                found = compare(policy, spec, conditions)
                worst = max(worst, abs(found.difference))
                print(row(policy, spec, found), flush=True)
    return int(worst > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
