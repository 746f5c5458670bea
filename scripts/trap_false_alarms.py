#!/usr/bin/env python3
"""Walks real link graphs with the guard of traps on and off: how many real pages does it cost?

    scripts/trap_false_alarms.py [--data DIR] [--max-same 8] [--orders breadth,links,depth]

The graphs have no texts: the guard is told that no page shows anything but its links, the worst that can be.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import zstandard

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.frontier.guard.watched_patterns import GuardLimits
from crawlproject.urls import Canonicalizer
from scripts.guard_walk import NO_MARKS, ORDERS, Shown, Walk

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


def walk(graph: Graph, limits: GuardLimits | None, order: str) -> set[str]:
    """URLs of the pages that a walk with these limits finds."""
    numbers = {url: number for number, url in reversed(list(enumerate(graph.urls))) if url is not None}

    def page_of(url: str) -> Shown | None:
        page = graph.page_of[numbers[url]]
        if page < 0:
            return None
        linked = graph.links[graph.indptr[page] : graph.indptr[page + 1]].tolist()
        links = [target for link in linked if (target := graph.urls[link]) is not None]
        return Shown(links, lambda: NO_MARKS, graph.urls[page])

    seeds = [url for seed in graph.seeds if (url := graph.urls[seed]) is not None]
    return set(Walk(seeds, page_of, limits, order=order).fetched)


def main() -> None:
    """Print a line for each graph and order."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--max-same", type=int, default=GuardLimits.max_same)
    parser.add_argument("--orders", default=",".join(ORDERS))
    args = parser.parse_args()
    for name, load in (("uic", load_uic), ("docs", load_docs)):
        graph = load(args.data)
        for order in args.orders.split(","):
            free = walk(graph, None, order)
            lost = free - walk(graph, GuardLimits(max_same=args.max_same), order)
            examples = ", ".join(sorted(lost)[:3])
            print(f"{name:5} {order:8} {len(free):>7,} pages, {len(lost)} lost  {examples}", flush=True)


if __name__ == "__main__":
    main()
