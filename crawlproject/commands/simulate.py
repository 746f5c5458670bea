"""``scrapy simulate``: compares policies by crawls of simulated webs, without a network."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from crawlproject.simulation.experiment import Experiment
    from crawlproject.simulation.metrics import WebSpec

SYNTHETIC_WEBS = ("work", "tail")
SEEDS = 5  # of a synthetic web


class Command(Described, ScrapyCommand):
    """Prints a table; writes CSV files with ``--output``."""

    requires_crawler_process = False
    usage = "[options]"
    summary = "Compare policies by crawls of simulated webs"
    explanation = "Crawl simulated webs with each policy, without a network, and print how fast each collects quality."

    def add_options(self, parser: ArgumentParser) -> None:
        """Exit code 1 if the extra ``simulation`` is not installed."""
        super().add_options(parser)
        with command_needs_extra("simulate", "simulation"):
            from crawlproject.simulation.experiment import COLLECTED, COMPARED, ESTIMATES
            from crawlproject.simulation.times import TIME_MODELS
        from crawlproject.frontier.policy import POLICIES

        qualities = f"page quality: {', '.join(COLLECTED)}, scores:FILE"
        add = parser.add_argument_group("Experiment").add_argument
        add("--policy", default=",".join(COMPARED), metavar="A,B", help=f"{', '.join(POLICIES)}, or paths of classes")
        add("--quality", default="pagerank", metavar="A,B", help=qualities)
        add("--estimate", choices=ESTIMATES, default="known", help="how the crawler estimates quality")
        add("--error", type=_number, default=0.0, metavar="SIGMA", help="log-normal error of the known quality")
        add("--jobs", type=_count, default=os.cpu_count() or 1, metavar="N", help="processes")
        add("-o", "--output", metavar="DIR", help="write table.csv, or budgets.csv, to DIR")
        add = parser.add_argument_group("Web").add_argument
        add("--web", default="work", metavar="work|tail|FILE", help="synthetic, or a graph from a file")
        add("--webs", type=_count, default=1, metavar="N", help="number of webs, with consecutive seeds (1)")
        add("--seed", type=_count, default=1, metavar="S", help="the first seed (1)")
        add("--servers", type=_count, default=500, metavar="N", help="servers of a synthetic web (500)")
        add("--pages", type=_count, default=30_000, metavar="N", help="pages of a synthetic web (30000)")
        add("--start", metavar="A,B", help="start pages in a graph: numbers or URLs")
        add("--max-pages-per-server", type=_count, metavar="N", help="graph pages kept per server, the first found")
        add("--times", choices=tuple(TIME_MODELS), default="synthetic", help="response times of a graph's servers")
        add("--dead", type=_number, default=0.0, metavar="SHARE", help="share of servers that do not answer")
        add = parser.add_argument_group("Crawl").add_argument
        add("--sessions", type=_count, default=64, metavar="N", help="concurrent connections (64)")
        add("--politeness", choices=("session", "request"), default="session")
        add("--delay-factor", type=_number, default=0.0, metavar="X", help="wait X times the time taken (0)")
        add("--min-delay", type=_number, default=0.0, metavar="SECONDS", help="shortest wait (0)")
        add("--max-pages", type=_count, metavar="N", help="end after N pages")
        add("--max-time", type=_number, metavar="SECONDS", help="end after this time")
        add("--max-bytes", type=_count, metavar="N", help="end after pages of N bytes")
        add("--choosiness", type=_number, metavar="X", help="as FRONTIER_CHOOSINESS (10)")
        add("--tradeoff", metavar="FILE", help="draw quality and seconds by choosiness: an SVG file")

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.simulation import experiment, report, tradeoff

        if args:
            raise UsageError(f"unknown argument {args[0]!r}", print_help=False)
        if opts.tradeoff and not (opts.max_pages or opts.max_bytes):
            raise UsageError(f"--tradeoff {opts.tradeoff}: needs --max-pages or --max-bytes", print_help=False)
        try:  # before anything runs
            plan = _experiment(opts)
            if opts.output:
                Path(opts.output).mkdir(parents=True, exist_ok=True)
            if opts.tradeoff:
                Path(opts.tradeoff).touch()
        except (OSError, ValueError) as error:
            raise UsageError(str(error), print_help=False) from error
        trials = experiment.run(plan, opts.jobs)
        print(report.text(trials))  # noqa: T201
        if opts.output:
            print(f"\nin {report.write(trials, Path(opts.output))}")  # noqa: T201
        if opts.tradeoff:
            crawl = partial(experiment.outcomes, knowledge=plan.knowledge, jobs=opts.jobs)
            picture = tradeoff.svg(tradeoff.lines(trials, plan.options, crawl))
            Path(opts.tradeoff).write_text(picture, encoding="utf-8")
            print(f"\nby choosiness: {opts.tradeoff}")  # noqa: T201


def _experiment(opts: Namespace) -> Experiment:
    """What the options ask for; reads the files that they name, so that errors are told before anything runs."""
    from crawlproject.frontier.budgets import CHOOSINESS, Limits
    from crawlproject.frontier.politeness import Politeness
    from crawlproject.simulation.crawl import CrawlOptions
    from crawlproject.simulation.experiment import COLLECTED, Experiment, Knowledge, policy_of, web_of

    webs = tuple(_web(opts, seed) for seed in range(opts.seed, opts.seed + opts.webs))
    policies, qualities = tuple(opts.policy.split(",")), tuple(opts.quality.split(","))
    for policy in policies:
        policy_of(policy)
    for quality in qualities:
        if opts.web not in SYNTHETIC_WEBS or quality not in COLLECTED:
            web_of(webs[0], quality)
    return Experiment(
        webs=webs,
        qualities=qualities,
        policies=policies,
        options=CrawlOptions(
            sessions=opts.sessions,
            politeness=Politeness(opts.politeness, opts.delay_factor, opts.min_delay, max(60.0, opts.min_delay)),
            limits=Limits(opts.max_pages or inf, opts.max_time or inf, opts.max_bytes or inf),
            choosiness=CHOOSINESS if opts.choosiness is None else opts.choosiness,
        ),
        knowledge=Knowledge(opts.estimate, opts.error),
    )


def _web(opts: Namespace, seed: int) -> WebSpec:
    from crawlproject.simulation.graph import GraphSpec
    from crawlproject.simulation.synthetic import SyntheticSpec

    if opts.web in SYNTHETIC_WEBS:
        count = min(SEEDS, opts.servers)
        tail = opts.web == "tail"
        return SyntheticSpec(opts.servers, opts.pages, seed, tail=tail, seed_count=count, dead_share=opts.dead)
    starts = tuple(opts.start.split(",")) if opts.start else ()
    return GraphSpec(opts.web, seed, opts.times, starts, opts.max_pages_per_server, opts.dead)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number >= 1, not {text!r}")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number < inf:
        raise ArgumentTypeError(f"must be a number >= 0, not {text!r}")
    return number
