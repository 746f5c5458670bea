"""A simulated web on a real link graph: links and sizes come from a file, times are drawn."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from crawlproject.simulation.graph import GraphSpec, LinkGraph, load
from crawlproject.simulation.pagerank import pagerank
from crawlproject.simulation.times import (
    TIME_MODELS,
    draw_connects,
    draw_dead,
    draw_limits,
    draw_page_times,
    draw_sitemaps,
    draw_sizes,
    draw_speeds,
)
from crawlproject.simulation.web import SimulatedWeb


def build(spec: GraphSpec) -> SimulatedWeb:
    """Build the web of ``spec``: the pages reachable from its starts, with PageRank as quality. O(links log links).

    Raises OSError and ValueError as ``load``, and ValueError for a start that is not in the graph.
    """
    return drawn(*_part(spec.path, spec.starts, spec.per_server), spec)


def drawn(graph: LinkGraph, starts: int, spec: GraphSpec) -> SimulatedWeb:
    """The web of ``graph``, from its first ``starts`` pages, with the times of ``spec``."""
    model = TIME_MODELS[spec.times]
    speeds = draw_speeds(model, graph.servers, spec.seed)
    size = draw_sizes(graph.pages, spec.seed) if graph.size is None else graph.size
    times = draw_page_times(model, speeds, graph.server, size, spec.seed)
    counts = np.bincount(graph.server).astype(np.int64)
    return SimulatedWeb(
        server=graph.server,
        indptr=graph.indptr,
        targets=graph.targets,
        size=size,
        page_time=times.fixed + times.thinking,
        quality=pagerank(graph.indptr, graph.targets),
        connect_time=speeds.connect,
        connect_draws=draw_connects(speeds, counts, spec.seed),
        keep_alive_limit=draw_limits(graph.servers, spec.seed),
        seeds=np.arange(starts, dtype=np.int64),
        dead=draw_dead(graph.servers, spec.dead_share, graph.server[:starts], spec.seed),
        given_urls=graph.urls,
        sitemap_time=draw_sitemaps(model, speeds, counts, spec.sitemap_share, spec.seed),
    )


@lru_cache(maxsize=1)
def _part(path: str, starts: tuple[str, ...], per_server: int | None) -> tuple[LinkGraph, int]:
    """The graph to crawl, with the starts first, and the number of starts; the same for all seeds."""
    graph = load(path)
    numbers = [_page(graph, start) for start in dict.fromkeys(starts)] or [graph.best_start]
    pages = graph.discovered(numbers, graph.pages if per_server is None else per_server)
    return graph.part(pages), int(np.isin(pages, numbers).sum())


def _page(graph: LinkGraph, start: str) -> int:
    if start.isascii() and start.isdigit():
        number = int(start)
    else:
        number = graph.urls.index(start) if start in graph.urls else graph.pages
    if number >= graph.pages:
        raise ValueError(f"no page {start!r} to start from among its {graph.pages} pages")
    return number
