"""Experiments on webs: what to run, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    """What the crawler knows of the qualities."""

    #: One of ``ESTIMATES``.
    estimate: str = "known"
    #: Of a known quality: spread (sigma) of its log-normal error.
    error: float = 0.0


@dataclass(frozen=True)
class Experiment:
    """What to run: every policy meets the same webs under the same conditions."""

    webs: tuple[WebSpec, ...]
    qualities: tuple[str, ...] = ("pagerank",)
    #: Names of ``POLICIES`` or paths of classes.
    policies: tuple[str, ...] = tuple(POLICIES)
    options: CrawlOptions = field(default_factory=CrawlOptions)
    knowledge: Knowledge = field(default_factory=Knowledge)


@dataclass(frozen=True)
class Ground:
    """A web with its quality, as far as crawls are judged by it; times in seconds."""

    pages: int
    servers: int
    links: int
    #: Pages that can be fetched, what they are worth in all, and what share of it the best of them hold.
    collectable: int
    total: float
    best_first: FloatArray
    #: The longest time that one server needs, and all of them one after another.
    longest_chain: float
    work: float
    #: Of quality, and of pages (each worth 1).
    bound: Bound
    page_bound: Bound


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
    #: Time to 80% of the quality, relative to breadth-first's and to capacity's (nan where that was not run).
    t80_breadth_first: float
    t80_capacity: float
