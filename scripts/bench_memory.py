#!/usr/bin/env python3
"""CPU and memory of a crawl that starts, and memory with many URLs queued.

    scripts/bench_memory.py [--urls 100000] [--servers 100,2000,20000] [--rounds 3] [--disk]

Each row is a process of its own that fetches nothing; resident memory (RSS) in MB, medians of the rounds.  First what
the spider finds when it opens: of Scrapy with a spider of five lines, of the same with the add-on, of ``web``.  Then
with URLs queued, by number of servers: from one file of seeds (the peak is while it is read), or found on pages with 40
links, half of them to known URLs, three quarters to the page's own server.  ``--disk``: with a JOBDIR as well.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import QUIET, WEB_SPIDER, Stats, command_line, in_turns, stats_of
from testbed.bench_memory import url_of

STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "stock": ("", {}),
    "add-on": ("", {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}}),
    "web": (WEB_SPIDER, {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}}),
}


def measure(settings: dict[str, Any], spider: str, **arguments: str) -> Stats:
    """The stats of one crawl in a separate process. Raises ``subprocess.CalledProcessError``."""
    settings = QUIET | {"LOG_LEVEL": "ERROR"} | settings
    return stats_of("testbed.bench_memory", json.dumps([settings, spider, arguments]))


def queued(way: str, urls: int, servers: int, folder: Path) -> Stats:
    """The stats of a crawl with ``urls`` queued in this ``way``: ``seeds`` or ``pages``, ``+disk`` with a JOBDIR."""
    spider, settings = STARTS["web"]
    seeds = folder / "seeds.txt"
    with tempfile.TemporaryDirectory(dir=folder) as job:
        more: dict[str, Any] = {"JOBDIR": job} if way.endswith("+disk") else {}
        if way.startswith("seeds"):
            seeds.write_text("".join(f"{url_of(number, number % servers)}\n" for number in range(urls)))
            return measure(settings | more | {"BENCH_WAIT": urls}, spider, seeds=str(seeds))
        more |= {"BENCH_PAGES": [urls, servers], "BENCH_WAIT": urls}
        return measure(settings | more, spider, seeds="http://www.host-0.example/")


def main() -> None:
    args = command_line(__doc__, urls=100_000, servers="100,2000,20000", rounds=3, disk=False).parse_args()
    print(f"{'start':>8} {'CPU s':>7} {'MB':>6}")
    seeds = {"seeds": "http://www.host-0.example/"}

    def start(name: str) -> Stats:
        spider, settings = STARTS[name]
        return measure(settings, spider, **(seeds if spider else {}))

    for name, found in in_turns(STARTS, start, args.rounds).items():
        cpu, memory = (median(stats[f"bench/{each}"] for stats in found) for each in ("start_cpu", "start_memory"))
        print(f"{name:>8} {cpu:>7.2f} {memory:>6.0f}", flush=True)
    print(f"{'from':>12} {'urls':>8} {'servers':>8} {'MB':>6} {'peak':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for servers in map(int, args.servers.split(",")):
            for way in ("seeds", "pages", *(("seeds+disk", "pages+disk") if args.disk else ())):
                found = [queued(way, args.urls, servers, Path(folder)) for _ in range(args.rounds)]
                urls, count, memory, peak = (
                    median(stats[f"bench/{each}"] for stats in found) for each in ("urls", "servers", "memory", "peak")
                )
                print(f"{way:>12} {urls:>8.0f} {count:>8.0f} {memory:>6.0f} {peak:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
