"""Quality over time of whole crawls: a spider that follows links by itself beside ``web``; both with the add-on.

    scripts/bench areas [--pages 3000] [--servers 500] [--rounds 5]

The web ``real`` of ``scripts/bench throughput``, the same for all crawls.  Area: mean share of the quality of all pages
(their scores) that was fetched, until the longest crawl ended; median of the rounds, and its difference from ``web``.
In the second area pages count instead of seconds: it shows the order alone, the first one the CPU per page as well.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.bench_throughput import FOLLOW, POLITE
from testbed.bench import command_line, real_web
from testbed.crawl import ADDON, QUIET, WEB, WEB_SPIDER, area, crawl
from testbed.web import running_web
from testbed.web.analysis import quality_over_time

CASES = {"web": (WEB_SPIDER, WEB), "follow": (FOLLOW, QUIET | ADDON)}


def main() -> None:
    args = command_line(__doc__, pages=3000, servers=500, rounds=5).parse_args()
    curves: dict[str, list[list[tuple[float, float]]]] = {case: [] for case in CASES}
    for case, (spider, settings) in [*CASES.items()] * args.rounds:
        with running_web(real_web(args.pages, servers=args.servers)) as web:
            crawl(settings | POLITE, spider, seeds=",".join(web.seeds))
            curves[case].append(quality_over_time(web.records(), web.web))
    until = max(curve[-1][0] for found in curves.values() for curve in found)
    for case, found in curves.items():
        areas, of_web = ([area(curve, until) for curve in each] for each in (found, curves["web"]))
        pages, seconds = (median(values) for values in (map(len, found), (curve[-1][0] for curve in found)))
        pages_area = median(mean(share for _, share in curve) for curve in found)
        print(f"{case:7} {pages:6.0f} pages {seconds:6.1f} s  area {median(areas):.4f} ({min(areas):.4f} to "
              f"{max(areas):.4f})  of web {median(areas) / median(of_web) - 1:+.4f}  "
              f"by pages {pages_area:.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
