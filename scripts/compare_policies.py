#!/usr/bin/env python3
"""Real crawls of the emulated web, a policy each, judged by the servers' own log.

    scripts/compare_policies.py [--policies breadth-first,capacity] [--servers 500] [--pages 30000] [--sessions 64]

Page quality is known on discovery, as in the paper (Cao 2003, figures 6 and 7).  Each policy crawls the same web.
Columns: seconds of the crawl; share of the quality collected by 10, 20, 30 and 50% of the slowest policy's time
and the mean over that time (area); the most connections open at once, in all and to one server; politeness
violations; and connections in use until the frontier thins out, that is until so few servers have pages left that
resting as politeness says they cannot keep all sessions busy.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from testbed.crawl import Conditions, Run, area, crawl
from testbed.web import (
    PolitenessRule,
    WebSpec,
    busy_share,
    duplicates,
    first_fetches,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    value_at,
)

SHARES = (0.1, 0.2, 0.3, 0.5)


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
    """The line of the table."""
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


def main() -> None:
    """Crawl by each policy and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default="breadth-first,performance,quality,capacity")
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--pages", type=int, default=30_000)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quality", choices=("pagerank", "zipf"), default="pagerank")
    parser.add_argument("--time-scale", type=float, default=3.0, help="factor on the web's response times")
    parser.add_argument("--politeness", choices=("session", "request"), default="session")
    parser.add_argument("--factor", type=float, default=1.0)
    parser.add_argument("--min-delay", type=float, default=0.5)
    parser.add_argument("--max-delay", type=float, default=60.0)
    args = parser.parse_args()
    spec = WebSpec(
        servers=args.servers,
        pages=args.pages,
        seed=args.seed,
        quality=args.quality,
        time_scale=args.time_scale,
    )
    conditions = Conditions(args.sessions, args.politeness, args.factor, args.min_delay, args.max_delay)
    runs = []
    for policy in args.policies.split(","):
        runs.append(crawl(policy, spec, conditions))
        print(f"# {policy}: {runs[-1].seconds:.1f} s", file=sys.stderr, flush=True)
    longest = max(run.seconds for run in runs)
    print(
        f"{'policy':14} {'seconds':>7} {' '.join(f'q@{share:.0%}'.rjust(5) for share in SHARES)} {'area':>5}"
        f" {'open':>5} {'/srv':>5} {'violations':>10} {'pages':>6} {'twice':>5} in use"
    )
    for run in runs:
        print(row(run, longest, args))


if __name__ == "__main__":
    main()
