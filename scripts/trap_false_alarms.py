#!/usr/bin/env python3
"""Walks real link graphs with the guard of traps on and off: how many real pages does it cost?

    scripts/trap_false_alarms.py [--data DIR] [--max-run 4] [--orders breadth,links,depth]

``links``: the URL found on the most pages first; ``breadth`` and ``depth`` first as they say.  URLs that the guard
demotes come last, those of patterns it closes are dropped, as in a crawl.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import zstandard

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.frontier import Server, UrlQueue
from crawlproject.frontier.guard import Guard
from crawlproject.frontier.suspects import GuardLimits
from crawlproject.urls import Canonicalizer, server_key
from crawlproject.urls.pattern import pattern_of

if TYPE_CHECKING:
    from collections.abc import Sequence

UIC_SEED = "https://www.cs.uic.edu/"


class Graph(NamedTuple):
    """Pages are the first URLs; ``page_of``: the page that a URL leads to, or -1."""

    urls: list[str | None]
    indptr: np.ndarray
    links: np.ndarray
    page_of: Sequence[int]
    seeds: list[int]


def load_uic(data: Path) -> Graph:
    """Pages of a university's servers."""
    arrays = np.load(data / "graphs" / "uic.graph.npz")
    canonical = Canonicalizer().canonical
    urls = [canonical(line) for line in _lines(data / "graphs" / "uic.urls.txt.zst")]
    return Graph(urls, arrays["indptr"], arrays["links"], arrays["alias"].tolist(), [urls.index(UIC_SEED)])


def load_docs(data: Path) -> Graph:
    """Pages of documentation packages, each on a host of its own."""
    arrays = np.load(data / "docweb" / "setA.graph.npz")
    paths = _lines(data / "docweb" / "setA.paths.txt.zst")
    urls: list[str | None] = [f"http://h{h}.example{p}" for h, p in zip(arrays["host"].tolist(), paths, strict=True)]
    rows = [line.split("\t") for line in (data / "docweb" / "setA.hosts.tsv").read_text().splitlines()]
    column = rows[0].index("index_page")
    numbers = {path: number for number, path in enumerate(paths)}
    seeds = [numbers[row[column]] for row in rows[1:] if row[column] in numbers]
    return Graph(urls, arrays["indptr"], arrays["links"], range(len(paths)), seeds)


def _lines(path: Path) -> list[str]:
    return zstandard.ZstdDecompressor().decompress(path.read_bytes()).decode().split("\n")[:-1]


class Walk:
    """One walk; ``fetched`` has the pages."""

    def __init__(self, graph: Graph, limits: GuardLimits | None, order: str) -> None:
        self._graph, self._order = graph, order
        self._servers: dict[str, Server] = {}
        self._guard = None if limits is None else Guard(limits, self._servers.get)
        self._depth = dict.fromkeys(graph.seeds, 0)
        self._found: Counter[int] = Counter()
        self._demoted: set[int] = set()
        self._heap: list[tuple[float, int, int]] = []
        self._pushes = 0
        self.fetched: set[int] = set()
        for seed in graph.seeds:
            self._push(seed)
        done: set[int] = set()
        while self._heap:
            _, _, url = heappop(self._heap)
            if url not in done:
                done.add(url)
                self._fetch(url)

    def _push(self, url: int) -> None:
        self._pushes += 1
        text = self._graph.urls[url] or ""
        self._servers.setdefault(server_key(text), Server(server_key(text), UrlQueue(by_quality=True, window=1), 1))
        key = {"breadth": self._pushes, "depth": -self._pushes, "links": -self._found[url]}[self._order]
        heappush(self._heap, (key + 1e9 * (url in self._demoted), self._pushes, url))

    def _fetch(self, url: int) -> None:
        graph, text = self._graph, self._graph.urls[url]
        page = graph.page_of[url]
        if text is None or page < 0 or page in self.fetched:
            return
        known = self._servers[server_key(text)].guard
        if known is not None and pattern_of(text) in known.spent:
            return
        self.fetched.add(page)
        at = graph.urls[page]
        guarded = None if self._guard is None or at is None else self._guard.page(at, self._depth[url])
        new = []
        for link in dict.fromkeys(graph.links[graph.indptr[page] : graph.indptr[page + 1]].tolist()):
            target = graph.urls[link]
            if target is None or (guarded is not None and guarded.refuses_some and guarded.refuses(target)):
                continue
            self._found[link] += 1
            if link not in self._depth:
                self._depth[link] = self._depth[url] + 1
                new.append(link)
            elif self._order == "links" and link not in self._demoted:
                self._push(link)
        demoted = set() if guarded is None else guarded.learn([graph.urls[link] or "" for link in new])
        self._demoted.update(link for link in new if graph.urls[link] in demoted)
        for link in new:
            self._push(link)


def main() -> None:
    """Print a line for each graph and order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--max-run", type=int, default=GuardLimits.max_run)
    parser.add_argument("--orders", default="breadth,links,depth")
    args = parser.parse_args()
    for name, load in (("uic", load_uic), ("docs", load_docs)):
        graph = load(args.data)
        for order in args.orders.split(","):
            free = Walk(graph, None, order).fetched
            lost = free - Walk(graph, GuardLimits(max_run=args.max_run), order).fetched
            examples = ", ".join(str(graph.urls[page]) for page in sorted(lost)[:2])
            print(f"{name:5} {order:8} {len(free):>7,} pages, {len(lost)} lost  {examples}", flush=True)


if __name__ == "__main__":
    main()
