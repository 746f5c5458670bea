#!/usr/bin/env python3
"""How many connections wait for DNS, with and without looking ahead: crawls of the emulated web by names.

    scripts/bench_dns.py [--servers 400] [--pages 2000] [--sessions 32] [--delay 0.2] [--seconds 40]
                         [--rounds 1]

The name server on loopback takes ``--delay`` seconds on average: log-normal, the same for a name in each crawl.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.options.all_settings import DEFAULTS
from testbed.dns import Name, Zone, running_name_server
from testbed.web import Web, WebSpec, running_web

HEAD = (
    f"{'prefetch':>8} {'pages':>6} {'s':>6} {'connections':>11} {'waited':>7} {'share':>6} {'wait s':>7} {'ahead':>6}"
)
SIGMA = 0.8  # spread of the delays: 1 in 20 is 3 times the mean and more


def zone_of(web: Web, delay: float) -> Zone:
    """Each server's name, and how long its look-up takes."""
    random = Random(1)
    mu = -SIGMA * SIGMA / 2
    return {
        name: Name((f"A {address}",), delay=delay * random.lognormvariate(mu, SIGMA), ttl=3600)
        for name, address in web.addresses().items()
    }


def run_one(job: dict[str, Any]) -> None:
    """Crawl in this process; print the stats."""
    from scrapy.crawler import AsyncCrawlerProcess

    from crawlproject.spiders.web import WebSpider

    process = AsyncCrawlerProcess(job["settings"])
    crawler = process.create_crawler(WebSpider)
    process.crawl(crawler, seeds=job["seeds"])
    process.start()
    print(json.dumps(crawler.stats.get_stats(), default=str))


def measure(seeds: list[str], settings: dict[str, Any]) -> dict[str, Any]:
    """The stats of a crawl in a process of its own."""
    job = json.dumps({"seeds": ",".join(seeds), "settings": settings})
    command = [sys.executable, __file__, "--job", job]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    stats: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return stats


def main() -> None:
    """Print a row for each crawl."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=400)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that the name server takes on average")
    parser.add_argument("--time-scale", type=float, default=1.0, help="factor on the web's response times")
    parser.add_argument(
        "--seconds", type=int, default=40, help="stop each crawl then; the slowest servers take minutes"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        run_one(json.loads(args.job))
        return
    spec = WebSpec(servers=args.servers, pages=args.pages, time_scale=args.time_scale, domain="web.test")
    print(HEAD)
    with running_web(spec) as web, running_name_server(zone_of(web.web, args.delay)) as names:
        settings = {
            "ADDONS": {"crawlproject.addon.FrontierAddon": 300},
            "ALLOWED_NETWORKS": "127.0.0.0/8",
            "CLOSESPIDER_TIMEOUT": args.seconds,
            "FRONTIER_DNS_SERVERS": names.address,
            "FRONTIER_MAX_SESSIONS": args.sessions,
            "LOG_LEVEL": "WARNING",
            "REMOTE_CONTROL_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
        for _ in range(args.rounds):
            for prefetch in (0, DEFAULTS["FRONTIER_DNS_PREFETCH"]):
                stats = measure(web.seeds, settings | {"FRONTIER_DNS_PREFETCH": prefetch})
                waited, cached = stats.get("dns/waited", 0), stats.get("dns/cached", 0)
                print(
                    f"{prefetch:>8} {stats['web/pages']:>6} {stats['elapsed_time_seconds']:>6.1f} {waited + cached:>11}"
                    f" {waited:>7} {waited / (waited + cached):>6.1%} {stats.get('dns/wait_time', 0):>7.1f}"
                    f" {stats.get('dns/prefetched', 0):>6}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
