"""Compares a real crawl of the emulated web with a simulated one: areas under quality over time.

Pages, links, servers, times, limits, qualities, sessions and politeness are the same.  The simulation also includes the
other costs of the real crawl: a robots.txt for each server, connection costs that are known with the first response,
and a crawler with one thread, which needs as much CPU per response as the real one did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crawlproject.frontier import POLICIES
from crawlproject.frontier.dispatch import LINGER
from crawlproject.simulation.crawl import NO_WAIT, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.web import FORBIDDEN, MISSING, MOVED, PAGE, RETRIES, SimulatedWeb, compressed, sources_of
from testbed.crawl import area, crawl_web
from testbed.web import graph

if TYPE_CHECKING:
    from testbed.web import Web, WebSpec


#: Time to open or to close a connection on loopback (seconds).
LOOPBACK = 3e-4

#: Kind of page of the emulated web -> that of the simulated one.
_KINDS = np.zeros(5, dtype=np.int64)
_KINDS[[graph.PLAIN, graph.PRIVATE, graph.NOT_FOUND, graph.SERVER_ERROR, graph.MOVED]] = (
    PAGE,
    FORBIDDEN,
    MISSING,
    PAGE,
    MOVED,
)


class Agreement(NamedTuple):
    """Areas are means over the duration of the longer crawl."""

    pages: int
    real_area: float
    #: With the real crawl's CPU time per response, including waits for a CPU.
    simulated_area: float
    real_connections: int
    simulated_connections: int


def compare(policy: str, spec: WebSpec, sessions: int) -> Agreement:
    """Run a real crawl of the web of ``spec``, then simulate it."""
    run = crawl_web(policy, spec, sessions)
    responses = sum(each.kind == "request" and each.status > 0 for each in run.records)
    web = twin(run.web)
    cpu_time = (run.stats["bench/cpu"] + run.stats["bench/queued"]) / responses
    options = CrawlOptions(sessions, NO_WAIT, linger=LINGER, cpu_time=cpu_time)
    done = simulate(web, POLICIES[policy](), KnownWorth(web), options)
    until = max(run.seconds, done.full_time)
    return Agreement(
        pages=len(run.curve),
        real_area=area(run.curve, until),
        simulated_area=Curve.of(done).area(until) / until,
        real_connections=sum(each.kind == "open" for each in run.records),
        simulated_connections=done.connections,
    )


def twin(web: Web) -> SimulatedWeb:
    """``web`` for a simulated crawl. Raises ValueError for features that simulated webs lack. O(links log links).

    A connection opens immediately, as on loopback; its cost is part of its first response, as in the emulated web.
    """
    spec = web.spec
    if spec.throttled_share or spec.dead_share or any(server.trap for server in web.servers):
        raise ValueError("a simulated web has no traps, and no throttled or dead servers")
    shown = [[web.redirects[page]] if page in web.redirects else web.links(page) for page in range(spec.pages)]
    links = np.array([link for page in shown for link in page], dtype=np.int64)
    bounds = np.concatenate(([0], np.cumsum([len(page) for page in shown]))).astype(np.int64)
    indptr, targets = compressed(sources_of(bounds), links, spec.pages)
    kinds = np.array(list(web.kinds), dtype=np.int64)
    connect = np.full(spec.servers, LOOPBACK)
    by_url = {url: page for page, url in enumerate(map(web.url, range(spec.pages)))}
    return SimulatedWeb(
        server=np.array(web.server_of, dtype=np.int64),
        indptr=indptr,
        targets=targets,
        size=np.array(web.sizes, dtype=np.float64),
        page_time=np.array(web.times),
        quality=np.array(web.scores),
        connect_time=connect,
        connect_draws=np.full(spec.pages, LOOPBACK),
        keep_alive_limit=np.array([server.keep_alive_limit for server in web.servers], dtype=np.int64),
        seeds=np.array([by_url[url] for url in web.seeds()], dtype=np.int64),
        dead=np.zeros(spec.servers, dtype=np.bool_),
        given_urls=tuple(by_url),
        first_extra=np.array([server.connect_cost for server in web.servers]),
        robots_time=np.array([server.response_time for server in web.servers]),
        kinds=_KINDS[kinds],
        errors=np.where(kinds == graph.SERVER_ERROR, RETRIES + 1, 0),
        crawl_delay=np.array([server.crawl_delay for server in web.servers]),
    )
