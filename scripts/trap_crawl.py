#!/usr/bin/env python3
"""Crawls a local web with traps on some of its servers, and counts by the servers' log what went into them.

    scripts/trap_crawl.py [--servers 300] [--pages 10000] [--kinds calendar,session,repeat] [--share 0.1] [--without]

``--share``: of the servers have one of these traps; other kinds: visit, diary.
A request went into a trap if its page is one that the trap made up, or a page that was served before.  ``--without``
also crawls with each guard switched off; as some of those crawls never end, they stop after ``--most`` times the pages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.crawl import Conditions, crawl
from testbed.web import WebSpec, first_fetches, into_traps

NO_RULES = {
    **{"TRAPS_MAX_SEGMENTS": 0, "TRAPS_MAX_PARAMETERS": 0, "TRAPS_YEARS_BACK": 0},
    **{"TRAPS_REPEATS": False, "TRAPS_NESTED_URLS": False},
}
NO_GUARD = {"GUARD_ENABLED": False}
NO_LIST = {"URL_DROP_PARAMETERS": ""}
VARIANTS: dict[str, dict[str, Any]] = {
    "all guards": {},
    "no rules on URLs": NO_RULES,
    "no list of session ids": NO_LIST,
    "no guard, so no rules": NO_GUARD,
    "none of them": {**NO_RULES, **NO_LIST, **NO_GUARD},
}


def main() -> None:
    """Crawl and print a line for each variant."""
    args = command_line(
        __doc__, servers=300, pages=10_000, seed=1, kinds="calendar,session,repeat", share=0.1, without=False, most=2.0
    ).parse_args()
    kinds = args.kinds.split(",")
    shares = {f"{kind}_share": args.share / len(kinds) for kind in kinds}
    spec = WebSpec(servers=args.servers, pages=args.pages, seed=args.seed, time_scale=0, **shares)
    print(f"{args.servers} servers, {args.pages} pages; on {args.share:.0%} of the servers: {', '.join(kinds)}")
    print(f"{'':24} {'requests':>9} {'into traps':>16} {'real pages':>15}  ended")
    for name, settings in VARIANTS.items() if args.without else [("all guards", {})]:
        print(f"{name:24} {_line(spec, settings, int(args.most * args.pages))}", flush=True)


def _line(spec: WebSpec, settings: dict[str, Any], most: int) -> str:
    limit = {"CLOSESPIDER_PAGECOUNT": most} if settings else {}
    run = crawl("prefix", spec, Conditions(timeout=0, settings={"FRONTIER_QUALITY": "in-links", **settings, **limit}))
    answered = [each for each in run.records if each.kind == "request"]  # robots.txt files included, as by Scrapy
    requests = [each for each in answered if "robots" not in each.note]
    trapped = len(into_traps(run.records))
    real = len(first_fetches(run.records))
    ended = "stopped" if limit and len(answered) >= most else "by itself"
    share = trapped / max(1, len(requests))
    return f"{len(requests):>9,} {trapped:>8,} {share:>7.2%} {real:>7,}/{len(run.web.expected):,}  {ended}"


if __name__ == "__main__":
    main()
