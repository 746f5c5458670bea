"""Experiments on webs: parameters and results."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, TypeAlias

from crawlproject.frontier.policy import POLICIES
from crawlproject.simulation.graph import GraphSpec
from crawlproject.simulation.record import CrawlOptions
from crawlproject.simulation.synthetic import SyntheticSpec

if TYPE_CHECKING:
    from crawlproject.simulation.bound import Bound
    from crawlproject.simulation.metrics import Outcome, Reference, Score
    from crawlproject.simulation.web import FloatArray

WebSpec: TypeAlias = SyntheticSpec | GraphSpec


@dataclass(frozen=True)
class Knowledge:
    """The crawler's knowledge of page quality."""

    #: One of ``ESTIMATES``.
    estimate: str = "known"
    #: Spread (sigma) of the log-normal error of a known quality.
    error: float = 0.0


#: Policies that are compared by default: depth-first orders URLs, and ranks servers as ``quality`` does.
COMPARED = tuple(name for name in POLICIES if name != "depth-first")


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
class Ground:
    """Properties of a web and its quality by which crawls are scored; times in seconds."""

    pages: int
    servers: int
    links: int
    #: Number of collectable pages, their total quality, and the share of it in the best of them (``best_first``).
    collectable: int
    total: float
    best_first: FloatArray
    #: Time of the slowest server, and the sum over all servers.
    longest_chain: float
    work: float
    #: Bounds of quality, and of pages (each worth 1).
    bound: Bound
    page_bound: Bound
    #: Share of the quality within the crawl's limits, at most, by the oracle and by that of means; nan without limits.
    most_within: float = nan
    oracle_within: float = nan
    means_within: float = nan


@dataclass(frozen=True)
class Trial:
    """One policy's crawl of one web."""

    web: WebSpec
    quality: str
    policy: str
    outcome: Outcome
    ground: Ground
    reference: Reference
    score: Score
    #: Time to 80% of the quality, relative to breadth-first's and to capacity's (nan if that was not run).
    t80_breadth_first: float
    t80_capacity: float
