"""``scrapy simulate``: compares policies by crawls of simulated webs, without a network."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _ArgumentGroup
    from collections.abc import Iterator

    from crawlproject.simulation.trial import Experiment, WebSpec

SYNTHETIC_WEBS = ("work", "tail")
SEEDS = 5  # of a synthetic web
GRAPH_OPTIONS = ("start", "max_pages_per_server", "times")
SYNTHETIC_OPTIONS = ("servers", "pages")


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
            import crawlproject.simulation.experiment  # noqa: F401 - before anything runs
        _add_experiment(parser.add_argument_group("Experiment"))
        _add_web(parser.add_argument_group("Web"))
        _add_crawl(parser.add_argument_group("Crawl"))

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.simulation import experiment, report, tradeoff

        if args:
            raise UsageError(f"unknown argument {args[0]!r}", print_help=False)
        plan = _experiment(opts)
        folder = None if opts.output is None else Path(opts.output)
        if folder is not None:
            with _blaming("--output", opts.output):
                folder.mkdir(parents=True, exist_ok=True)
        picture = None if opts.tradeoff is None else Path(opts.tradeoff)
        if picture is not None:
            if not (opts.max_pages or opts.max_bytes):
                raise UsageError(f"--tradeoff {picture}: needs --max-pages or --max-bytes", print_help=False)
            with _blaming("--tradeoff", opts.tradeoff):
                picture.touch()
        trials = experiment.run(plan, opts.jobs)
        print(report.text(trials))  # noqa: T201
        if folder is not None:
            print(f"\nin {folder}: {', '.join(path.name for path in report.write(trials, folder))}")  # noqa: T201
        if picture is not None:
            crawl = partial(experiment.outcomes, knowledge=plan.knowledge, jobs=opts.jobs)
            picture.write_text(tradeoff.svg(tradeoff.lines(trials, plan.options, crawl)), encoding="utf-8")
            print(f"\nby choosiness: {picture}")  # noqa: T201


def _add_experiment(group: _ArgumentGroup) -> None:
    from crawlproject.frontier.policy import POLICIES
    from crawlproject.simulation.experiment import COLLECTED, ESTIMATES
    from crawlproject.simulation.trial import COMPARED

    names = ", ".join(POLICIES)
    group.add_argument("--policy", metavar="A,B", default=",".join(COMPARED), help=f"{names}, or paths of classes")
    group.add_argument(
        "--quality", metavar="A,B", default="pagerank", help=f"page quality: {', '.join(COLLECTED)}, scores:FILE"
    )
    group.add_argument("--estimate", choices=ESTIMATES, default="known", help="how the crawler estimates quality")
    group.add_argument("--error", type=_number, metavar="SIGMA", help="log-normal error of the known quality")
    group.add_argument("--jobs", type=_count, metavar="N", default=os.cpu_count() or 1, help="processes")
    group.add_argument("-o", "--output", metavar="DIR", help="write table.csv, summary.csv, curves.csv to DIR")


def _add_web(group: _ArgumentGroup) -> None:
    from crawlproject.simulation.times import TIME_MODELS

    group.add_argument("--web", metavar="work|tail|FILE", default="work", help="synthetic, or a graph from a file")
    group.add_argument("--webs", type=_count, metavar="N", default=1, help="number of webs, with consecutive seeds (1)")
    group.add_argument("--seed", type=_natural, metavar="S", default=1, help="the first seed (1)")
    group.add_argument("--servers", type=_count, metavar="N", help="servers of a synthetic web (500)")
    group.add_argument("--pages", type=_count, metavar="N", help="pages of a synthetic web (30000)")
    group.add_argument("--start", metavar="A,B", help="start pages in a graph: numbers or URLs")
    group.add_argument(
        "--max-pages-per-server", type=_count, metavar="N", help="graph pages kept per server, the first found"
    )
    group.add_argument("--times", choices=tuple(TIME_MODELS), help="response times of a graph's servers (synthetic)")
    group.add_argument("--dead", type=_share, metavar="SHARE", default=0.0, help="share of servers that do not answer")
    group.add_argument("--sitemaps", type=_share, metavar="SHARE", default=0.0, help="share of servers with a sitemap")


def _add_crawl(group: _ArgumentGroup) -> None:
    group.add_argument("--sessions", type=_count, metavar="N", default=64, help="concurrent connections (64)")
    group.add_argument("--parked", type=_natural, metavar="N", default=0, help="additional idle connections (0)")
    group.add_argument("--politeness", choices=("session", "request"), default="session")
    group.add_argument("--delay-factor", type=_number, metavar="X", default=0.0, help="wait X times the time taken (0)")
    group.add_argument("--min-delay", type=_number, metavar="SECONDS", default=0.0, help="shortest wait (0)")
    group.add_argument("--max-delay", type=_number, metavar="SECONDS", default=60.0, help="longest wait (60)")
    group.add_argument("--parse-delay", type=_number, metavar="SECONDS", default=0.0, help="time to extract links (0)")
    group.add_argument("--max-pages", type=_count, metavar="N", help="end after N pages")
    group.add_argument("--max-time", type=_number, metavar="SECONDS", help="end after this time")
    group.add_argument("--max-bytes", type=_count, metavar="N", help="end after pages of N bytes")
    group.add_argument("--choosiness", type=_number, metavar="X", help="as FRONTIER_CHOOSINESS (10)")
    group.add_argument("--tradeoff", metavar="FILE", help="draw quality and seconds by choosiness: an SVG file")


def _experiment(opts: Namespace) -> Experiment:
    from crawlproject.frontier.budgets import CHOOSINESS, Limits
    from crawlproject.frontier.dispatch import LINGER
    from crawlproject.frontier.politeness import PARKING_TIME, Politeness
    from crawlproject.simulation.record import CrawlOptions
    from crawlproject.simulation.trial import Experiment, Knowledge

    if opts.error and opts.estimate != "known":
        raise UsageError(f"--error {opts.error:g}: for --estimate known only", print_help=False)
    if opts.min_delay > opts.max_delay:
        raise UsageError(f"--min-delay {opts.min_delay:g}: above --max-delay {opts.max_delay:g}", print_help=False)
    policies = _policies(opts.policy)
    webs = _webs(opts)
    return Experiment(
        webs=webs,
        qualities=_qualities(opts.quality, webs[0]),
        policies=policies,
        options=CrawlOptions(
            sessions=opts.sessions,
            parked=opts.parked,
            politeness=Politeness(
                opts.politeness,
                opts.delay_factor,
                opts.min_delay,
                opts.max_delay,
                parking_time=PARKING_TIME if opts.parked else 0.0,
            ),
            parse_delay=opts.parse_delay,
            linger=LINGER if opts.parse_delay else 0.0,
            limits=Limits(opts.max_pages or inf, opts.max_time or inf, opts.max_bytes or inf),
            choosiness=CHOOSINESS if opts.choosiness is None else opts.choosiness,
        ),
        knowledge=Knowledge(opts.estimate, opts.error or 0.0),
    )


def _policies(value: str) -> tuple[str, ...]:
    from crawlproject.simulation.experiment import policy_of

    for name in value.split(","):
        with _blaming("--policy", name):
            policy_of(name)
    return tuple(value.split(","))


def _qualities(value: str, web: WebSpec) -> tuple[str, ...]:
    from crawlproject.simulation.experiment import COLLECTED, SCORES, web_of

    for name in value.split(","):
        with _blaming("--quality", name):
            if name.startswith(SCORES):
                web_of(web, name)
            elif name not in COLLECTED:
                raise ValueError(f"must be one of {', '.join(COLLECTED)}, {SCORES}FILE")
    return tuple(value.split(","))


def _webs(opts: Namespace) -> tuple[WebSpec, ...]:
    """A web for each seed; loads a graph, so that an invalid one is reported before anything runs."""
    from crawlproject.simulation.experiment import web_of
    from crawlproject.simulation.graph import GraphSpec
    from crawlproject.simulation.synthetic import SyntheticSpec

    seeds = range(opts.seed, opts.seed + opts.webs)
    if opts.web in SYNTHETIC_WEBS:
        _refuse(opts, GRAPH_OPTIONS, "for a graph from a file only")
        servers, pages = opts.servers or 500, opts.pages or 30_000
        if pages < servers:
            raise UsageError(f"--pages {pages}: fewer than --servers {servers}", print_help=False)
        count = min(SEEDS, servers)
        like = SyntheticSpec(servers, pages, tail=opts.web == "tail", seed_count=count)
        return tuple(replace(like, seed=seed, dead_share=opts.dead, sitemap_share=opts.sitemaps) for seed in seeds)
    _refuse(opts, SYNTHETIC_OPTIONS, "for --web work and tail only")
    starts = tuple(opts.start.split(",")) if opts.start else ()
    times, most = opts.times or "synthetic", opts.max_pages_per_server
    webs = tuple(GraphSpec(opts.web, seed, times, starts, most, opts.dead, opts.sitemaps) for seed in seeds)
    with _blaming("--web", opts.web):
        web_of(webs[0], "pagerank")
    return webs


def _refuse(opts: Namespace, names: tuple[str, ...], reason: str) -> None:
    for name in names:
        if (value := getattr(opts, name)) is not None:
            raise UsageError(f"--{name.replace('_', '-')} {value}: {reason}", print_help=False)


@contextmanager
def _blaming(option: str, value: str) -> Iterator[None]:
    """Turn errors in the ``with`` block into a UsageError about this option."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{option} {value}: {reason}", print_help=False) from error


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"must be a whole number >= {least}, not {text!r}")
    return number


def _number(text: str, most: float = inf) -> float:
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not (isfinite(number) and 0 <= number <= most):
        raise ArgumentTypeError(f"must be a number >= 0{'' if most == inf else f' and <= {most:g}'}, not {text!r}")
    return number


_count, _natural, _share = partial(_whole, least=1), partial(_whole, least=0), partial(_number, most=1.0)
