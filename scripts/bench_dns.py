#!/usr/bin/env python3
"""Counts connections that wait for DNS, with and without prefetching: crawls of the emulated web by names.

    scripts/bench_dns.py [--servers 400] [--pages 2000] [--sessions 32] [--delay 0.2] [--seconds 40]
                         [--time-scale 1] [--rounds 1]

The name server on loopback takes ``--delay`` seconds on average, log-normal, the same for a name in each crawl.
Each crawl stops after ``--seconds``, because the slowest servers take minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.options.all_settings import DEFAULTS
from testbed.bench import ADDON, QUIET, command_line, crawl
from testbed.dns import Name, Zone, running_name_server
from testbed.web import Web, WebSpec, running_web

HEAD = (
    f"{'prefetch':>8} {'pages':>6} {'s':>6} {'connections':>11} {'waited':>7} {'share':>6} {'wait s':>7} {'ahead':>6}"
)
SIGMA = 0.8  # spread of the delays: 1 in 20 is 3 times the mean and more


def zone_of(web: Web, delay: float) -> Zone:
    """The DNS records of the web's servers, each with its delay."""
    random = Random(1)
    mu = -SIGMA * SIGMA / 2
    return {
        name: Name((f"A {address}",), delay=delay * random.lognormvariate(mu, SIGMA), ttl=3600)
        for name, address in web.addresses().items()
    }


def main() -> None:
    args = command_line(
        __doc__, servers=400, pages=2000, sessions=32, delay=0.2, time_scale=1.0, seconds=40, rounds=1
    ).parse_args()
    spec = WebSpec(servers=args.servers, pages=args.pages, time_scale=args.time_scale, domain="web.test")
    print(HEAD)
    with running_web(spec) as web, running_name_server(zone_of(web.web, args.delay)) as names:
        settings = QUIET | {
            "ADDONS": ADDON["ADDONS"],
            "ALLOWED_NETWORKS": "127.0.0.0/8",
            "CLOSESPIDER_TIMEOUT": args.seconds,
            "FRONTIER_DNS_SERVERS": names.address,
            "FRONTIER_MAX_SESSIONS": args.sessions,
        }
        for prefetch in (0, DEFAULTS["FRONTIER_DNS_PREFETCH"]) * args.rounds:
            stats = crawl(settings | {"FRONTIER_DNS_PREFETCH": prefetch}, seeds=",".join(web.seeds))
            waited, cached = stats.get("dns/waited", 0), stats.get("dns/cached", 0)
            print(
                f"{prefetch:>8} {stats['web/pages']:>6} {stats['elapsed_time_seconds']:>6.1f} {waited + cached:>11}"
                f" {waited:>7} {waited / (waited + cached):>6.1%} {stats.get('dns/wait_time', 0):>7.1f}"
                f" {stats.get('dns/prefetched', 0):>6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
