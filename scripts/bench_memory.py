"""CPU and memory of a crawl that starts, and memory with many URLs queued, from a file of seeds.

    scripts/bench memory [--urls 50000] [--servers 100,5000] [--rounds 1] [--disk]

Each row is a process of its own that fetches nothing; resident memory (RSS) in MB, medians of the rounds.  First what
the spider finds when it opens: of Scrapy with a spider of five lines, of the same with the add-on, of ``web``.  Then
with URLs queued, by number of servers; the peak is while the file is read.  "times" is memory, that of Scrapy being 1.
``--disk``: with a JOBDIR.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line, in_turns
from testbed.crawl import QUIET, WEB_SPIDER, stats_of

ADDON = {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}}


def url_of(number: int, server: int) -> str:
    """A URL of a usual length, about 60 characters."""
    return f"http://www.host-{server}.example/articles/{number % 97}/page-{number}.html"


def main() -> None:
    args = command_line(__doc__, urls=50_000, servers="100,5000", rounds=1, disk=False).parse_args()
    names = ["stock", "add-on", "web", *args.servers.split(",")]

    def measure(name: str) -> dict[str, Any]:
        settings: dict[str, Any] = QUIET | {"LOG_LEVEL": "ERROR"} | ({} if name == "stock" else ADDON)
        if name in ("stock", "add-on"):
            return stats_of("testbed.bench_memory", json.dumps([settings, "", {}]))
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            urls, servers = (1, 1) if name == "web" else (args.urls, int(name))
            (folder / "seeds").write_text("".join(f"{url_of(each, each % servers)}\n" for each in range(urls)))
            settings |= {"BENCH_WAIT": urls} | ({"JOBDIR": str(folder / "job")} if args.disk else {})
            return stats_of(
                "testbed.bench_memory", json.dumps([settings, WEB_SPIDER, {"seeds": str(folder / "seeds")}])
            )

    print(f"{'start':>14} {'CPU s':>7} {'MB':>6} {'peak':>6} {'times':>6}")
    results = in_turns(names, measure, args.rounds)
    base = median(stats["bench/memory"] for stats in results["stock"])
    for name, found in results.items():
        cpu, memory, peak = (median(stats[f"bench/{each}"] for stats in found) for each in ("cpu", "memory", "peak"))
        print(f"{name + (' servers' if name.isdigit() else ''):>14} {cpu:>7.2f} {memory:>6.0f} {peak:>6.0f}", end="")
        print(f" {memory / base:>6.2f}")


if __name__ == "__main__":
    main()
