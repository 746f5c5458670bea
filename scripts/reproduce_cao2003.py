#!/usr/bin/env python3
"""Reproduces the figures of Cao 2003 with this project: a markdown table for each, CSV files and plots.

    scripts/reproduce_cao2003.py [--figures 3,4,5,6,7] [--real] [--output DIR] [--webs 8] [--jobs 2]

3  requests per connection: how servers differ
4  pages per second by protocol (HTTP/1.0, HTTP/1.1) and number of connections
5  where the crawler's CPU time goes (real crawls only)
6  the paper's four policies and prefix, with PageRank as page quality
7  the same with Zipf quality

Crawls are simulated; --real adds real ones of the emulated web, over loopback, in real time: about 15 minutes for all
figures.  Do not run other work meanwhile: two cores serve both the crawl and its web.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.cao2003 import fig3, fig4, fig5, policies
from scripts.cao2003.figure import Plan, Result, Size, markdown, write

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIGURES: dict[str, Callable[[Plan], Result]] = {
    "3": fig3.figure,
    "4": fig4.figure,
    "5": fig5.figure,
    "6": partial(policies.figure, "pagerank"),
    "7": partial(policies.figure, "zipf"),
}
REAL_ONLY = "5"


def main(argv: Sequence[str] | None = None) -> int:
    """Print each figure's table and write its files; 2 on bad arguments."""
    args = _parser().parse_args(argv)
    chosen = args.figures.split(",")
    if unknown := set(chosen) - FIGURES.keys():
        print(f"--figures {args.figures}: no figure {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    plan = Plan(
        simulated=Size(args.servers, args.pages, args.sessions),
        real=Size(args.real_servers, args.real_pages, args.real_sessions) if args.real else None,
        seed=args.seed,
        webs=args.webs,
        connections=tuple(map(int, args.connections.split(","))),
        seconds=args.seconds,
        jobs=args.jobs,
    )
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
    for number in chosen:
        if number == REAL_ONLY and not args.real:
            print("## Figure 5\n\nReal crawls only: give --real.\n")
            continue
        result = FIGURES[number](plan)
        print(markdown(result), end="\n\n", flush=True)
        if args.output is not None:
            print(f"in {args.output}: {', '.join(path.name for path in write(result, args.output))}\n", flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", default=",".join(FIGURES))
    parser.add_argument("--real", action="store_true", help="also run real crawls")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write CSV files and plots to DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--webs", type=int, default=1, help="number of simulated webs (seeds) for figures 6 and 7")
    parser.add_argument("--jobs", type=int, default=1, help="processes for simulated crawls")
    sizes = parser.add_argument_group("sizes")
    sizes.add_argument("--servers", type=int, default=500, help="servers of a simulated web")
    sizes.add_argument("--pages", type=int, default=30_000)
    sizes.add_argument("--sessions", type=int, default=64, help="sessions, figures 6 and 7")
    sizes.add_argument("--connections", default="8,16,32,64,96,128", help="numbers of connections, figure 4")
    sizes.add_argument("--real-servers", type=int, default=120, help="servers of the emulated web, figures 3, 6, 7")
    sizes.add_argument("--real-pages", type=int, default=4000, help="its pages, figures 6 and 7")
    sizes.add_argument("--real-sessions", type=int, default=16)
    sizes.add_argument("--seconds", type=int, default=15, help="duration of a real crawl, figures 4 and 5")
    return parser


if __name__ == "__main__":
    sys.exit(main())
