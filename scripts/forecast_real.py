#!/usr/bin/env python3
"""Errors of the forecasts in real crawls: ten emulated webs on loopback, crawled one after the other in real time.

    scripts/forecast_real.py [--seed 1000] [--slow] [--stretch 4] [--only 3]

Each crawl takes one to three minutes.  Looks and judgement are those of ``scripts/forecast_error.py``, a look each
second.  In the ten crawls 80% of the known quality comes within seconds; with ``--slow`` there are five others, of
slower servers and larger webs, where it takes half a minute or more.  ``--stretch`` makes all servers slower, and waits
longer.
"""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.project import get_project_settings

from crawlproject.frontier.politeness import Politeness
from scripts.forecast_error import Errors, Watched, chosen, judge, show
from testbed.bench import command_line
from testbed.web import WebSpec, running_web

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Seconds between two looks.
INTERVAL = 1.0

#: ``FRONTIER_MIN_DELAY`` of the cases that do not set it, seconds.
MIN_DELAY = Politeness().min_delay

QUIET = {
    "ALLOWED_NETWORKS": "127.0.0.0/8",
    "LOG_LEVEL": "ERROR",
    "PROGRESS": "off",
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass(frozen=True)
class Case:
    """A crawl."""

    name: str
    web: WebSpec
    settings: dict[str, Any] = field(default_factory=dict)


def cases(seed: int) -> list[Case]:
    """Ten different crawls: web, speed, politeness, policy, quality, failures differ."""

    def web(number: int, **spec: Any) -> WebSpec:
        return WebSpec(**({"servers": 100, "pages": 3000, "seed": seed + number, "time_scale": 0.4} | spec))

    return [
        Case("defaults", web(0)),
        Case("few servers", web(1, servers=25, pages=1200, time_scale=0.5)),
        Case("servers of very different size", web(2, size_exponent=0.7)),
        Case("few connections", web(3, pages=2000), {"FRONTIER_MAX_SESSIONS": 8, "FRONTIER_DELAY_FACTOR": 1.0}),
        Case("long waits", web(4, servers=80, pages=1500, time_scale=0.4), {"FRONTIER_MIN_DELAY": 2.0}),
        Case("breadth-first", web(5), {"FRONTIER_POLICY": "breadth-first"}),
        Case("a fifth of the servers dead", web(6, dead_share=0.2)),
        Case("few links", web(7, links_per_page=4)),
        Case("quality by depth", web(8), {"FRONTIER_QUALITY": "depth"}),
        Case(
            "errors, Crawl-delays, 429",
            web(
                9,
                not_found_share=0.05,
                server_error_share=0.02,
                redirect_share=0.05,
                crawl_delay_share=0.05,
                crawl_delay=2.0,
                throttled_share=0.1,
            ),
        ),
    ]


def slow_cases(seed: int) -> list[Case]:
    """Five crawls that gather most of their quality in half a minute or more."""

    def web(number: int, **spec: Any) -> WebSpec:
        return WebSpec(**({"servers": 80, "pages": 4000, "seed": seed + number} | spec))

    few = {"FRONTIER_MAX_SESSIONS": 12}
    return [
        Case("slow servers", web(20, time_scale=1.5)),
        Case("slow servers, few connections", web(21), few),
        Case("slow servers of different size", web(22, size_exponent=0.6), few),
        Case("slow servers, few links", web(23, links_per_page=5), few),
        Case("slow servers, quality by depth", web(24), few | {"FRONTIER_QUALITY": "depth"}),
    ]


def stretched(case: Case, factor: float) -> Case:
    """The same crawl, with all times of servers and the shortest waits ``factor`` times as long."""
    web = replace(case.web, time_scale=case.web.time_scale * factor, crawl_delay=case.web.crawl_delay * factor)
    shortest = factor * case.settings.get("FRONTIER_MIN_DELAY", MIN_DELAY)
    return replace(case, web=web, settings=case.settings | {"FRONTIER_MIN_DELAY": shortest})


def crawl(case: Case, seeds: list[str], results: Connection) -> None:
    """Crawl, and send what was seen: a ``Watched``, and the seconds that it took."""
    settings = get_project_settings()
    settings.setdict(QUIET | case.settings, priority="cmdline")
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler("web")
    watched = Watched()

    def opened() -> None:
        from crawlproject.monitor.figures import figures_of

        figures = figures_of(crawler)

        def look() -> None:
            found = figures.now(fresh=0.0)
            watched.looks.append((found.elapsed, found.forecast))

        def closed() -> None:
            looping.stop()  # another look, after the frontier is closed, would see nothing
            look()

        looping = create_looping_call(look)
        looping.start(INTERVAL)
        crawler.signals.connect(closed, signals.spider_closed, weak=False)

    crawler.signals.connect(opened, signals.spider_opened)
    process.crawl(crawler, seeds=",".join(seeds))
    process.start()
    results.send(watched)


def run(case: Case) -> tuple[float, Errors, Errors]:
    """Crawl in a separate process; returns the time that it took, and the errors of both forecasts."""
    with running_web(case.web) as web:
        mine, its = multiprocessing.Pipe(duplex=False)  # after the web's process, which would keep it open
        process = multiprocessing.get_context("spawn").Process(target=crawl, args=(case, web.seeds, its))
        process.start()
        its.close()
        try:
            watched: Watched = mine.recv()
        finally:
            process.join()
    end = watched.looks[-1][0]
    return end, *judge(watched, end, INTERVAL)


def main() -> None:
    parsed = command_line(__doc__, seed=1000, slow=False, stretch=1.0, only=-1).parse_args()
    made = (slow_cases if parsed.slow else cases)(parsed.seed)
    show((case.name, *run(stretched(case, parsed.stretch))) for case in made[chosen(parsed.only)])


if __name__ == "__main__":
    main()
