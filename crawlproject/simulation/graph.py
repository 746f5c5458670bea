"""A simulated web on a real link graph: links and sizes come from a file, times are drawn.

Formats:

``.npz`` (numpy), for P pages numbered from 0:
    ``indptr`` (P + 1), ``links`` (or ``indices``, ``targets``)
        links of page p: ``links[indptr[p]:indptr[p + 1]]``, in document order
    ``alias`` (optional)
        if the links are URL numbers: the page of each URL, or -1; else links are page numbers, and numbers from P on
        are ignored
    ``host`` (or ``server``)
        number of each page's server; entries after the first P are ignored
    ``size`` (optional)
        bytes of each page
any other name, ``.gz`` or not
    lines ``URL<TAB>link<TAB>link...``, see ``link_file``; links to URLs without a line are ignored
"""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from crawlproject.simulation.link_file import read_link_file
from crawlproject.simulation.pagerank import pagerank
from crawlproject.simulation.times import (
    TIME_MODELS,
    draw_connects,
    draw_dead,
    draw_limits,
    draw_page_times,
    draw_sizes,
    draw_speeds,
)
from crawlproject.simulation.web import FloatArray, IntArray, SimulatedWeb, compressed, reachable, sources_of
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LINK_ARRAYS = ("links", "indices", "targets")
SERVER_ARRAYS = ("host", "server")
CANDIDATES = 16  # pages tried as the start: those with the highest PageRank, and as many with the most links


@dataclass(frozen=True)
class GraphSpec:
    """A part of a graph, and how to draw its times; only the times depend on ``seed``."""

    path: str
    seed: int = 1
    #: A name of ``TIME_MODELS``.
    times: str = "synthetic"
    #: Page numbers, or URLs if the file has them; empty: ``LinkGraph.best_start``.
    starts: tuple[str, ...] = ()
    #: Maximum pages per server: the first that breadth-first discovers. None: all.
    per_server: int | None = None
    dead_share: float = 0.0


@dataclass(frozen=True)
class LinkGraph:
    """Pages 0..n-1 and their links, ``targets[indptr[p]:indptr[p + 1]]``: distinct, in document order."""

    indptr: IntArray
    targets: IntArray
    #: Server of each page, numbered from 0 without gaps.
    server: IntArray
    #: Bytes of each page, if known.
    size: FloatArray | None = None
    #: Canonical URL of each page, if known.
    urls: tuple[str, ...] = ()

    @property
    def pages(self) -> int:
        return len(self.server)

    @property
    def servers(self) -> int:
        return len(np.unique(self.server))

    @cached_property
    def best_start(self) -> int:
        """The page that reaches the most pages, among those with the highest PageRank and with the most links.

        The first one among equals.  O(pages + links) for each of at most 32 candidates that no earlier one reaches.
        """
        by_rank = np.argsort(-pagerank(self.indptr, self.targets), kind="stable")[:CANDIDATES]
        by_links = np.argsort(-np.diff(self.indptr), kind="stable")[:CANDIDATES]
        best, reached = 0, np.zeros(self.pages, dtype=np.bool_)
        for page in np.concatenate((by_rank, by_links)):
            if not reached[page]:  # else it reaches no page that the best does not
                reaches = reachable(self.indptr, self.targets, page)
                if reaches.sum() > reached.sum():
                    best, reached = int(page), reaches
        return best

    def discovered(self, starts: Sequence[int], per_server: int) -> IntArray:
        """The pages that breadth-first discovers from ``starts``, at most ``per_server`` of each server, in order.

        Further pages are dropped, and their links not followed. O(pages + links).
        """
        server, targets, indptr = self.server.tolist(), self.targets.tolist(), self.indptr.tolist()
        room = [per_server] * self.servers
        found: dict[int, None] = {}
        queue: deque[int] = deque()
        links: Sequence[int] = starts
        while True:
            for page in links:
                if page not in found and room[server[page]]:
                    room[server[page]] -= 1
                    found[page] = None
                    queue.append(page)
            if not queue:
                return np.fromiter(found, dtype=np.int64, count=len(found))
            page = queue.popleft()
            links = targets[indptr[page] : indptr[page + 1]]

    def part(self, pages: IntArray) -> LinkGraph:
        """The graph of ``pages``, renumbered in their order, and the links among them. O(links log links)."""
        number = np.full(self.pages, -1)
        number[pages] = np.arange(len(pages))
        source, target = number[sources_of(self.indptr)], number[self.targets]
        inside = (source >= 0) & (target >= 0)
        indptr, targets = compressed(source[inside], target[inside], len(pages))
        return LinkGraph(
            indptr,
            targets,
            np.unique(self.server[pages], return_inverse=True)[1].astype(np.int64),
            None if self.size is None else self.size[pages],
            tuple(self.urls[page] for page in pages.tolist()) if self.urls else (),
        )


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


def load(path: str | Path) -> LinkGraph:
    """Read the file at ``path``. O(links log links): 0.1 s for 600,000 links of an ``.npz``.

    Raises OSError if the file cannot be read, and ValueError with the reason if it is invalid.
    """
    graph = _load_arrays(path) if str(path).endswith(".npz") else _load_text(path)
    if not graph.pages:
        raise ValueError("no page in it")
    return graph


def _load_text(path: str | Path) -> LinkGraph:
    file = read_link_file(path)
    urls = file.urls[: file.pages]
    numbers: dict[str, int] = {}
    server = [numbers.setdefault(server_key(url), len(numbers)) for url in urls]
    indptr, targets = _links_to_pages(file.indptr[: file.pages + 1], file.targets)
    return LinkGraph(indptr, targets, np.array(server, dtype=np.int64), None, urls)


def _load_arrays(path: str | Path) -> LinkGraph:
    try:
        with Path(path).open("rb") as file, np.load(file) as arrays:
            return _graph_of(arrays)
    except (BadZipFile, zlib.error, EOFError, TypeError, IndexError) as error:
        raise ValueError(f"not a graph as numpy saves it: {error}") from error


def _graph_of(arrays: Mapping[str, Any]) -> LinkGraph:
    indptr = _named(arrays, ("indptr",))
    links = _named(arrays, LINK_ARRAYS)
    server = _named(arrays, SERVER_ARRAYS)[: len(indptr) - 1]
    pages = len(server)
    if len(indptr) != pages + 1 or indptr[0] != 0 or indptr[-1] > len(links) or (np.diff(indptr) < 0).any():
        raise ValueError("indptr must rise from 0 to the number of links, and each page must have a server")
    links = links[: indptr[-1]]
    if "alias" in arrays:
        links = _named(arrays, ("alias",))[links]
    indptr, targets = _links_to_pages(indptr, links)
    size = arrays["size"][:pages].astype(np.float64) if "size" in arrays else None
    if size is not None and not (len(size) == pages and (size >= 0).all()):
        raise ValueError("size must have an entry >= 0 for each page")
    return LinkGraph(indptr, targets, np.unique(server, return_inverse=True)[1].astype(np.int64), size)


def _named(arrays: Mapping[str, Any], names: tuple[str, ...]) -> IntArray:
    for name in names:
        if name in arrays:
            array: IntArray = arrays[name].astype(np.int64)
            return array
    raise ValueError(f"no array {' or '.join(names)} in it")


def _links_to_pages(indptr: IntArray, targets: IntArray) -> tuple[IntArray, IntArray]:
    pages = len(indptr) - 1
    leads = (targets >= 0) & (targets < pages)
    return compressed(sources_of(indptr)[leads], targets[leads], pages)
