#!/usr/bin/env python3
"""What look-ahead and urgency bring: `prefix` with and without them, on many synthetic webs, in virtual time.

    scripts/look_ahead_worth.py [--rows default,sitemaps] [--webs 16] [--first 201] [--servers 150] [--pages 6000]

A line for each row and quality: mean and standard error of the differences from `prefix` in the area under quality over
time, in the time to 80% of the quality and in the full time; unit: the full time of breadth-first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.frontier.policy import BestPrefix, BreadthFirst, Policy
from crawlproject.frontier.politeness import Politeness
from crawlproject.simulation.crawl import simulate
from crawlproject.simulation.experiment import estimator, web_of
from crawlproject.simulation.flaws import Flaws
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.record import NO_WAIT, CrawlOptions
from crawlproject.simulation.synthetic import SyntheticSpec
from crawlproject.simulation.trial import Knowledge
from testbed.bench import command_line

if TYPE_CHECKING:
    from argparse import Namespace

    from crawlproject.frontier.server import Server


class NoBonus(BestPrefix):
    """Urgency and the worth of sitemaps, but no bonus for links."""

    def rank(self, server: Server) -> float:
        """As ``BestPrefix``."""
        return server.urls.best_rate(server.setup_time, server.page_time, 0.0) * server.worth * server.urgency

    def goes_on(self, server: Server, alternative: float) -> bool:
        """As ``BestPrefix``."""
        rate = server.urls.best_quality * server.worth / server.page_time
        return rate >= self.STAY * alternative or rate * rate >= self.STAY * alternative * self.rank(server)

    def rerank_above(self, server: Server, rank: float) -> float:
        """As ``BestPrefix``."""
        return rank / (server.worth * server.urgency) * server.page_time


class NoUrgency(BestPrefix):
    """The bonus alone."""

    def rank(self, server: Server) -> float:
        """As ``BestPrefix``."""
        return server.urls.best_rate(server.setup_time, server.page_time, server.bonus) * server.worth

    def rerank_above(self, server: Server, rank: float) -> float:
        """As ``BestPrefix``."""
        return rank / server.worth * server.page_time - server.bonus


class Neither(BestPrefix):
    """Sitemaps are worth nothing, too."""

    looks_ahead = False


VARIANTS: dict[str, type[Policy]] = {
    "breadth-first": BreadthFirst,
    "prefix": BestPrefix,
    "no bonus": NoBonus,
    "no urgency": NoUrgency,
    "neither": Neither,
}
REQUEST = Politeness(mode="request", factor=10.0, min_delay=0.0)
DELAY = Politeness(request_delay=1.0)
MANY_DELAYS = Flaws(crawl_delays=0.2, crawl_delay=3.0)
#: Row -> (web, estimate of quality, politeness, sessions, qualities).
ROWS = {
    "nowait": (SyntheticSpec(), "known", NO_WAIT, 20, "pagerank,zipf"),
    "default": (SyntheticSpec(), "known", Politeness(), 20, "pagerank,zipf"),
    "in-links": (SyntheticSpec(), "in-links", Politeness(), 20, "pagerank"),
    "flaws-in-links": (SyntheticSpec(flaws=Flaws()), "in-links", Politeness(), 20, "pagerank"),
    "sitemaps": (SyntheticSpec(sitemap_share=0.3), "known", NO_WAIT, 20, "pagerank,zipf"),
    "request-10": (SyntheticSpec(), "known", REQUEST, 20, "pagerank"),
    "delay-1s": (SyntheticSpec(), "in-links", DELAY, 20, "pagerank"),
    "crawl-delays": (SyntheticSpec(flaws=MANY_DELAYS), "known", Politeness(), 20, "pagerank"),
}


def measure(row: str, quality: str, seed: int, args: Namespace) -> dict[str, tuple[float, float, float]]:
    """Variant -> (area, time to 80%, full time)."""
    spec, estimate, politeness, sessions, _ = ROWS[row]
    web = web_of(
        SyntheticSpec(args.servers, args.pages, seed, sitemap_share=spec.sitemap_share, flaws=spec.flaws), quality
    )
    options = CrawlOptions(sessions=sessions, politeness=politeness)
    found, unit = {}, 0.0
    for name, policy in VARIANTS.items():
        crawl = simulate(web, policy(), estimator(Knowledge(estimate=estimate), web, seed), options)
        unit = unit or crawl.full_time
        curve = Curve.of(crawl)
        found[name] = curve.area(unit) / unit, curve.time_of(0.8) / unit, crawl.full_time / unit
    return found


def main() -> None:
    """Print the lines."""
    args = command_line(__doc__, rows=",".join(ROWS), webs=16, first=201, servers=150, pages=6000).parse_args()
    for row in args.rows.split(","):
        for quality in ROWS[row][4].split(","):
            results = [measure(row, quality, seed, args) for seed in range(args.first, args.first + args.webs)]
            for variant in list(VARIANTS)[2:]:
                differences = [[one[variant][part] - one["prefix"][part] for one in results] for part in range(3)]
                shown = ", ".join(
                    f"{name} {mean(each):+.4f} ± {stdev(each) / len(each) ** 0.5:.4f}"
                    for name, each in zip(("area", "t80", "full time"), differences, strict=True)
                )
                print(f"{row}, {quality}, {variant}: {shown}", flush=True)


if __name__ == "__main__":
    main()
