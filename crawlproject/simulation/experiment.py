"""Runs many crawls of the same webs: webs x qualities x policies, scored by breadth-first and the bound of each web."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import product
from math import nan
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from crawlproject.frontier.budgets import NO_LIMITS
from crawlproject.frontier.policy import POLICIES, Policy, checked_policy
from crawlproject.frontier.quality import QUALITIES, Quality, ScoredQuality
from crawlproject.simulation.bound import bound_of, bound_within
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.graph import build as build_graph_web
from crawlproject.simulation.metrics import (
    Ground,
    Outcome,
    Reference,
    Trial,
    WebSpec,
    best_first,
    collectable_quality,
    score,
)
from crawlproject.simulation.oracle import oracle_within
from crawlproject.simulation.pagerank import zipf
from crawlproject.simulation.synthetic import SyntheticSpec
from crawlproject.simulation.synthetic import build as build_synthetic

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlproject.simulation.web import SimulatedWeb

Task = TypeVar("Task")
Done = TypeVar("Done")

#: Qualities to collect, besides ``scores:FILE``.
COLLECTED = ("pagerank", "zipf", "uniform")
SCORES = "scores:"
#: The crawler's estimates of quality; ``known`` is the true quality.
ESTIMATES = ("known", *(name for name in QUALITIES if name != "zipf"))
#: The policy whose full time is the unit of time.
BREADTH_FIRST = "breadth-first"


#: Policies that are compared by default: depth-first orders URLs, and ranks servers as ``quality`` does.
COMPARED = tuple(name for name in POLICIES if name != "depth-first")


@dataclass(frozen=True)
class Knowledge:
    """The crawler's knowledge of page quality."""

    #: One of ``ESTIMATES``.
    estimate: str = "known"
    #: Spread (sigma) of the log-normal error of a known quality.
    error: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """Parameters of an experiment: every policy crawls the same webs under the same conditions."""

    webs: tuple[WebSpec, ...]
    qualities: tuple[str, ...] = ("pagerank",)
    #: Names of ``POLICIES`` or paths of classes.
    policies: tuple[str, ...] = COMPARED
    options: CrawlOptions = field(default_factory=CrawlOptions)
    knowledge: Knowledge = field(default_factory=Knowledge)


@dataclass(frozen=True)
class _Task:
    """A crawl by ``policy``; with None, the computation of the web's ``Ground``."""

    web: WebSpec
    quality: str
    policy: str | None
    options: CrawlOptions
    knowledge: Knowledge


def run(experiment: Experiment, jobs: int = 1) -> list[Trial]:
    """Run all trials in ``jobs`` processes; returns them by web, quality and policy in the order given.

    The bound and breadth-first are computed once for each web and quality.  Raises ValueError or OSError for an invalid
    graph, file of scores or policy.
    """
    policies = tuple(dict.fromkeys((BREADTH_FIRST, *experiment.policies)))
    grounds = list(dict.fromkeys(product(experiment.webs, experiment.qualities)))
    keys = [(*ground, policy) for ground in grounds for policy in (None, *policies)]
    tasks = [_Task(*key, experiment.options, experiment.knowledge) for key in keys]
    done = dict(zip(keys, in_parallel(_perform, tasks, jobs), strict=True))
    trials = []
    for web, quality in grounds:
        ground = cast("Ground", done[web, quality, None])
        reference = Reference.of(cast("Outcome", done[web, quality, BREADTH_FIRST]), ground.bound, ground.total)
        for policy in dict.fromkeys(experiment.policies):
            outcome = cast("Outcome", done[web, quality, policy])
            row = score(outcome, reference)
            trials.append(Trial(web, quality, policy, outcome, ground, reference, row))
    return trials


def outcomes(crawls: Sequence[tuple[Trial, CrawlOptions]], knowledge: Knowledge, jobs: int = 1) -> list[Outcome]:
    """The crawls of trials with other options, in ``jobs`` processes."""
    tasks = [_Task(trial.web, trial.quality, trial.policy, options, knowledge) for trial, options in crawls]
    return cast("list[Outcome]", in_parallel(_perform, tasks, jobs))


def web_of(spec: WebSpec, quality: str) -> SimulatedWeb:
    """The web of ``spec`` with the quality to collect: one of ``COLLECTED``, or ``scores:FILE`` (URL<TAB>score).

    Raises ValueError for another one, or OSError.
    """
    if quality not in COLLECTED and not quality.startswith(SCORES):
        raise ValueError(f"quality {quality!r}: must be one of {', '.join(COLLECTED)}, {SCORES}FILE")
    web = _build(spec)
    if quality.startswith(SCORES):
        with Path(quality.removeprefix(SCORES)).open(encoding="utf-8") as lines:
            scores = ScoredQuality.from_lines(lines)
        return web.with_quality(np.array([scores.quality(url, 0) for url in web.urls]))
    if quality == "pagerank":
        return web
    return web.with_quality(zipf(web.pages, spec.seed) if quality == "zipf" else np.ones(web.pages))


def estimator(knowledge: Knowledge, web: SimulatedWeb, seed: int) -> Quality:
    """The crawler's estimate of quality; ``seed`` draws its errors."""
    if knowledge.estimate == "known":
        return KnownWorth(web, knowledge.error, seed)
    return QUALITIES[knowledge.estimate]()


def policy_of(name: str) -> type[Policy]:
    """The policy of that name, or the class at that path; ValueError if there is none."""
    if name in POLICIES:
        return POLICIES[name]
    module, _, attribute = name.rpartition(".")
    try:
        loaded = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        needed = f"must be one of {', '.join(POLICIES)}, or the path of a class"
        raise ValueError(f"policy {name!r}: {needed} ({error})") from error
    return checked_policy(loaded)


def in_parallel(function: Callable[[Task], Done], tasks: Sequence[Task], jobs: int) -> list[Done]:
    """Results of ``function`` for each task, in order, computed in ``jobs`` processes."""
    if jobs == 1:
        return [function(task) for task in tasks]
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        return list(pool.map(function, tasks))


def _perform(task: _Task) -> Outcome | Ground:
    """Run a task in a worker process; tasks of one web are adjacent, so a web is rarely built twice."""
    web = _web(task.web, task.quality)
    if task.policy is None:
        return _ground(web, task.options)
    quality = estimator(task.knowledge, web, task.web.seed)
    return Outcome.of(simulate(web, policy_of(task.policy)(), quality, task.options))


def _ground(web: SimulatedWeb, options: CrawlOptions) -> Ground:
    chains, sessions, total = web.chains(), options.sessions, collectable_quality(web)
    most = oracle = nan
    if options.limits != NO_LIMITS:
        most = bound_within(web, sessions, options.limits)
        # the oracle discovers pages as a crawl by ``prefix`` does
        whole = simulate(web, POLICIES["prefix"](), KnownWorth(web), replace(options, limits=NO_LIMITS))
        oracle = oracle_within(whole, sessions, options.limits)
    return Ground(
        pages=web.pages,
        servers=web.servers,
        links=len(web.targets),
        collectable=int(web.collectable.sum()),
        total=total,
        best_first=best_first(web),
        longest_chain=float(chains.max()),
        work=float(chains.sum()),
        bound=bound_of(web, sessions),
        page_bound=bound_of(web.with_quality(web.collectable.astype(np.float64)), sessions),
        most_within=most / total,
        oracle_within=oracle / total,
    )


@lru_cache(maxsize=1)
def _build(spec: WebSpec) -> SimulatedWeb:
    return build_synthetic(spec) if isinstance(spec, SyntheticSpec) else build_graph_web(spec)


@lru_cache(maxsize=1)
def _web(spec: WebSpec, quality: str) -> SimulatedWeb:
    return web_of(spec, quality)


class KnownWorth(ScoredQuality):
    """The true quality, known when a URL is discovered, multiplied by a log-normal error of spread ``sigma``."""

    def __init__(self, web: SimulatedWeb, sigma: float = 0.0, seed: int = 0) -> None:
        error = np.random.default_rng([seed, 0xE4404]).lognormal(0.0, sigma, web.pages)
        values = web.quality * error
        super().__init__(dict(zip(web.urls, values.tolist(), strict=True)))
