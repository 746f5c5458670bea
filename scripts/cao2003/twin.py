"""The emulated web as a simulated one: the same pages, links, servers, times, limits and qualities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawlproject.simulation.web import SimulatedWeb, compressed, sources_of

if TYPE_CHECKING:
    from testbed.web import Web

#: To open or to close a connection on loopback (seconds).
LOOPBACK = 3e-4


def twin(web: Web) -> SimulatedWeb:
    """``web`` for a simulated crawl. Raises ValueError where it has what a simulated web has not. O(links log links).

    A connection opens at once, as on loopback; its cost is part of its first response, as the emulated web serves it.
    """
    spec = web.spec
    if any((web.redirects, any(web.kinds), spec.throttled_share, spec.dead_share, spec.crawl_delay_share)):
        raise ValueError("a simulated web has no errors, redirects, rules in robots.txt, or throttled or dead servers")
    links, bounds = np.array(web.targets, dtype=np.int64), np.array(web.bounds, dtype=np.int64)
    indptr, targets = compressed(sources_of(bounds), links, spec.pages)
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
    )
