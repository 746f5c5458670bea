#!/usr/bin/env python3
"""Errors of the forecasts of a crawl's end and of its quality: crawls of synthetic webs in virtual time.

    scripts/forecast_error.py [--seed 1000] [--only 3]

Every look from the middle on is compared with what came: for the end from half of the crawl's time on, for 80% of the
known quality from half of the time until then.  The columns:

right   share of the looks with a forecast whose seconds left are within the factor
shown   share of the looks that have a forecast
all     as ``right``, but a look without a forecast counts as wrong
moment  share of the looks with a forecast that are within the factor as a moment, counted from the start of the crawl
range   share of the looks with a forecast whose range holds what came
5% ...  quantiles of forecast divided by what came
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.frontier.policy import POLICIES
from crawlproject.frontier.politeness import Politeness
from crawlproject.frontier.quality import QUALITIES
from crawlproject.monitor.forecast import FORECAST_SHARE, Forecast, Forecaster, Look
from crawlproject.monitor.survey import fetchable
from crawlproject.monitor.surveyor import Surveyor
from crawlproject.simulation.crawl import Watch, simulate
from crawlproject.simulation.record import CrawlOptions
from crawlproject.simulation.synthetic import SyntheticSpec, build
from testbed.bench import command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlproject.frontier.dispatch import Dispatcher

#: A forecast is right if it is within this factor of what came.
FACTOR = 1.5

#: Seconds of virtual time between two looks.
INTERVAL = 2.0


_COLUMNS = (
    f"{'right':>5} {'shown':>5} {'all':>5} {'moment':>6} {'range':>5} {'looks':>5} {'5%':>5} {'50%':>5} {'95%':>5}"
)

#: Above the rows.
HEAD = f"{'':40}  {'end:':<53}   quality:\n{'':32} {'seconds':>7}  {_COLUMNS}   {_COLUMNS}"

POLITE = CrawlOptions(politeness=Politeness())


@dataclass(frozen=True)
class Case:
    """A crawl."""

    name: str
    web: SyntheticSpec
    options: CrawlOptions = POLITE
    policy: str = "prefix"
    quality: str = "in-links"


def cases(seed: int) -> list[Case]:
    """Ten different crawls: web, speed, politeness, policy, failures differ."""
    small, big = SyntheticSpec(servers=100, pages=6_000, seed=seed), SyntheticSpec(seed=seed + 1)
    polite = CrawlOptions(politeness=Politeness())
    gentle = CrawlOptions(politeness=Politeness(factor=10.0, min_delay=2.0))
    return [
        Case("defaults", big),
        Case("few servers", replace(small, seed=seed + 2, servers=30, pages=3_000)),
        Case("servers of very different size", replace(big, seed=seed + 3, tail=True, pages=15_000)),
        Case("few connections", replace(small, seed=seed + 4), replace(polite, sessions=8)),
        Case("bound by CPU", replace(big, seed=seed + 5, pages=20_000), replace(polite, cpu_time=0.02)),
        Case("long waits", replace(small, seed=seed + 6), gentle),
        Case("breadth-first", replace(big, seed=seed + 7, pages=15_000), polite, policy="breadth-first"),
        Case("a fifth of the servers dead", replace(big, seed=seed + 8, pages=15_000, dead_share=0.2)),
        Case("few links", replace(small, seed=seed + 9, links_per_page=4.0, pages=8_000)),
        Case(
            "sitemaps, quality by depth", replace(big, seed=seed + 10, pages=15_000, sitemap_share=0.5), quality="depth"
        ),
    ]


@dataclass
class Watched:
    """A crawl and the forecasts made during it."""

    forecaster: Forecaster = field(default_factory=Forecaster)
    looks: list[tuple[float, Forecast]] = field(default_factory=list)
    _surveyor: Surveyor | None = None

    def look(self, now: float, dispatcher: Dispatcher, pages: int, failed: int) -> None:
        """As ``monitor.figures`` does in a real crawl."""
        frontier = dispatcher.frontier
        self._surveyor = self._surveyor or Surveyor(frontier)
        self._surveyor.step(now)
        survey = self._surveyor.survey
        quality = frontier.quality
        queued, waiting = fetchable(len(frontier), quality.queued(len(frontier)), survey)
        self.forecaster.add(
            Look(
                now=now,
                done=pages + failed,
                pages=pages,
                queued=queued,
                gathered=quality.gathered,
                waiting=waiting,
                polite_pace=0.0 if survey is None else survey.drains.pace,
                sessions=dispatcher.open_sessions,
                session_limit=dispatcher.max_sessions,
            )
        )
        self.looks.append((now, self.forecaster.forecast(survey)))

    def most_at(self) -> float:
        """When ``FORECAST_SHARE`` of the known quality was gathered, for good: between two looks, in proportion."""
        found = before = had = 0.0
        for now, forecast in self.looks:
            share = forecast.share or 0.0
            if had < FORECAST_SHARE <= share:
                found = before + (now - before) * (FORECAST_SHARE - had) / (share - had)
            before, had = now, share
        return found


@dataclass
class Errors:
    """Looks from the middle on: forecast divided by what came; None without a forecast."""

    ratios: list[float | None] = field(default_factory=list)
    #: Looks whose range held what came; whose forecast, counted from the start of the crawl, was within the factor.
    within: int = 0
    as_moments: int = 0

    @property
    def shown(self) -> float:
        """Share of looks with a forecast."""
        return sum(ratio is not None for ratio in self.ratios) / max(1, len(self.ratios))

    @property
    def right_of_all(self) -> float:
        """Share of looks within the factor."""
        right = sum(ratio is not None and 1 / FACTOR <= ratio <= FACTOR for ratio in self.ratios)
        return right / max(1, len(self.ratios))

    @property
    def right(self) -> float:
        """Share of looks with a forecast within the factor."""
        return self.right_of_all / self.shown if self.shown else 0.0

    def __str__(self) -> str:
        known = sorted(ratio for ratio in self.ratios if ratio is not None)
        count = max(1, len(known))
        quantiles = [known[int(share * (len(known) - 1))] for share in (0.05, 0.5, 0.95)] if known else []
        spread = " ".join(f"{ratio:>5.2f}" for ratio in quantiles) or " " * 17
        shares = f"{self.right:>5.0%} {self.shown:>5.0%} {self.right_of_all:>5.0%}"
        return f"{shares} {self.as_moments / count:>6.0%} {self.within / count:>5.0%} {len(self.ratios):>5} {spread}"


def judge(watched: Watched, end: float, interval: float) -> tuple[Errors, Errors]:
    """Errors of the forecasts of a crawl that took ``end`` seconds: of its end, and of most of the quality."""
    most = watched.most_at()
    errors = Errors(), Errors()
    for now, forecast in watched.looks:
        for found, truth, one in ((forecast.end, end, errors[0]), (forecast.most_quality, most, errors[1])):
            if truth / 2 <= now < truth - interval:
                one.ratios.append(None if found is None else found.likely / (truth - now))
                if found is not None:
                    one.within += found.low <= truth - now <= found.high
                    one.as_moments += 1 / FACTOR <= (now + found.likely) / truth <= FACTOR
    return errors


def sums_of(found: Sequence[tuple[Errors, Errors]]) -> str:
    """The row of all looks, and the means of the crawls."""
    sums = Errors(), Errors()
    for errors in found:
        for total, one in zip(sums, errors, strict=True):
            total.ratios += one.ratios
            total.within += one.within
            total.as_moments += one.as_moments
    end, quality = (sum(errors[i].right_of_all for errors in found) / max(1, len(found)) for i in (0, 1))
    means = f"mean of the crawls, of all looks: end {end:.0%}, quality {quality:.0%}"
    return f"{'all looks':40}  {sums[0]}   {sums[1]}\n{means}"


def run(case: Case) -> tuple[float, Errors, Errors]:
    """Crawl; returns the time that it took, and the errors of both forecasts."""
    watched = Watched()
    policy, quality, watch = POLICIES[case.policy](), QUALITIES[case.quality](), Watch(INTERVAL, watched.look)
    crawl = simulate(build(case.web), policy, quality, case.options, watch)
    end = max(crawl.full_time, watched.looks[-1][0])
    return end, *judge(watched, end, INTERVAL)


def show(rows: Iterable[tuple[str, float, Errors, Errors]]) -> None:
    """Print a row for each crawl (name, seconds, errors of both forecasts), and the sums."""
    print(HEAD)
    found = []
    for name, end, *errors in rows:
        print(f"{name:32} {end:>7.0f}  {errors[0]}   {errors[1]}", flush=True)
        found.append((errors[0], errors[1]))
    print(sums_of(found))


def chosen(only: int) -> slice:
    """Which of the cases to run: ``only`` this one; below 0: all."""
    return slice(only, only + 1) if only >= 0 else slice(None)


def main() -> None:
    parsed = command_line(__doc__, seed=1000, only=-1).parse_args()
    show((case.name, *run(case)) for case in cases(parsed.seed)[chosen(parsed.only)])


if __name__ == "__main__":
    main()
