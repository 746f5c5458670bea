"""A real crawl of the emulated web beside a simulated one of the same web: areas under quality over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.frontier import POLICIES, Politeness
from crawlproject.frontier.dispatch import LINGER
from crawlproject.simulation.crawl import CrawlOptions, simulate
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.worth import KnownWorth
from testbed.crawl import area, crawl

from .twin import twin

if TYPE_CHECKING:
    from testbed.crawl import Conditions, Run
    from testbed.web import WebSpec


@dataclass(frozen=True)
class Agreement:
    """Areas as shares of the time span, which is that of the longer of the crawls; times in seconds."""

    run: Run
    #: The crawler's CPU time for each response, waiting for a CPU included: measured in the real crawl.
    cpu_time: float
    real_area: float
    #: Simulated with that CPU time, and with none.
    simulated_area: float
    ideal_area: float
    simulated_seconds: float
    real_connections: int
    simulated_connections: int

    @property
    def difference(self) -> float:
        """Of the simulated crawl's area from the real one's, relative to this."""
        return self.simulated_area / self.real_area - 1

    @property
    def ideal_difference(self) -> float:
        """The same, the crawler's CPU left out of the simulation."""
        return self.ideal_area / self.real_area - 1


def compare(policy: str, spec: WebSpec, conditions: Conditions) -> Agreement:
    """Crawl the web of ``spec`` for real, then simulate that crawl."""
    run = crawl(policy, spec, conditions)
    cpu = run.cpu
    cpu_time = (cpu.user + cpu.system + cpu.queued) / run.responses
    web = twin(run.web)
    politeness = Politeness(conditions.politeness, conditions.factor, conditions.min_delay, conditions.max_delay)
    done, ideal = (
        simulate(
            web,
            POLICIES[policy](),
            KnownWorth(web),
            CrawlOptions(conditions.sessions, politeness, linger=LINGER, cpu_time=seconds),
        )
        for seconds in (cpu_time, 0.0)
    )
    until = max(run.seconds, done.full_time, ideal.full_time)
    return Agreement(
        run=run,
        cpu_time=cpu_time,
        real_area=area(run.curve, until),
        simulated_area=Curve.of(done).area(until) / until,
        ideal_area=Curve.of(ideal).area(until) / until,
        simulated_seconds=done.full_time,
        real_connections=sum(each.kind == "open" for each in run.records),
        simulated_connections=done.connections,
    )
