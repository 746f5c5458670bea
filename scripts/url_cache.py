#!/usr/bin/env python3
"""Hit rate of URL caches by size, on the links of real crawls: reproduces Broder, Najork & Wiener 2003, §5.

    scripts/url_cache.py [LINKS ...] [--data DIR] [--sizes 64,65536]

LINKS: files of links of your own, ``.gz`` or not: ``FRONTIER_LINKS_FILE`` of a crawl.  Their pages come in the order
of the file, as the crawl fetched them from many servers.  Without one, the graphs in DIR:

Traces: the links of all pages in the order of a breadth-first crawl, each link once per page.  ``uic`` (University of
Illinois at Chicago, 2018), whole and ("cross") the links that N crawler processes, which share the hosts by a hash,
send each other, each process with its own cache; ``cnr`` (CNR, 2000), which has no hosts, whole.

Policies: MIN (clairvoyant; the bound), LRU, CLOCK, RANDOM, STATIC and INFINITE.  STATIC has the most popular URLs of
the trace.  In the paper they are in the cache from the start (column "preloaded"), so that even a first request is a
hit; a crawl that did so would never fetch them.  In all other columns, STATIC included, a first request is a miss.
A second table has the misses as a multiple of MIN's.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.seen.cache import ClockCache
from crawlproject.simulation.link_file import read_link_file
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = [2**power for power in range(6, 19)]
UIC_SEED = "https://www.cs.uic.edu/"

#: The URL numbers that a crawler looks up in its cache, in order.
Trace = np.ndarray


@dataclass(frozen=True)
class LinkGraph:
    """Pages 0..n-1; the links of page p are ``links[indptr[p]:indptr[p + 1]]``: URL numbers, each once per page."""

    indptr: np.ndarray
    links: np.ndarray
    #: The page of each URL, or -1.
    page_of: np.ndarray
    #: Host of each URL (pages are the first URLs); None if unknown.
    hosts: list[str] | None
    #: None: pages are crawled by number.
    seed: int | None


def load_uic(graphs: Path) -> LinkGraph:
    """The crawl of the University of Illinois at Chicago."""
    import zstandard

    arrays = np.load(graphs / "uic.graph.npz")
    urls = zstandard.ZstdDecompressor().decompress((graphs / "uic.urls.txt.zst").read_bytes()).decode().split("\n")
    rows = (graphs / "uic.hosts.tsv").read_text().splitlines()[1:]
    names = [row.split("\t")[1] for row in rows]
    hosts = [names[number] for number in arrays["host"]]
    return LinkGraph(arrays["indptr"], arrays["links"], arrays["alias"], hosts, urls.index(UIC_SEED))


def load_cnr(graphs: Path) -> LinkGraph:
    """The crawl of CNR by UbiCrawler (Boldi & Vigna, WWW 2004); targets are sorted, and stored as gaps."""
    arrays = np.load(graphs / "cnr-2000.graph.npz")
    counts = arrays["outdegree"].astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    sums = np.cumsum(arrays["gaps"].astype(np.int64))
    filled = np.flatnonzero(counts)
    first = indptr[filled]
    # A link is the page's own number plus the sum of the page's gaps up to it.
    before = sums[first] - arrays["gaps"][first].astype(np.int64)
    links = sums - np.repeat(before - filled, counts[filled])
    pages = len(counts)
    return LinkGraph(indptr, links, np.arange(pages), None, seed=int(np.argmax(counts)))  # it reaches all pages


def load_links(path: Path) -> LinkGraph:
    """A link file."""
    file = read_link_file(path)
    numbers = np.arange(len(file.urls))
    page_of = np.where(numbers < file.pages, numbers, -1)
    return LinkGraph(file.indptr[: file.pages + 1], file.targets, page_of, list(map(server_key, file.urls)), None)


LOADERS: dict[str, Callable[[Path], LinkGraph]] = {"uic": load_uic, "cnr": load_cnr}


def breadth_first(graph: LinkGraph) -> list[int]:
    """The pages reachable from the seed, in breadth-first order; without a seed all, by number."""
    if graph.seed is None:
        return list(range(len(graph.indptr) - 1))
    reached = np.zeros(len(graph.indptr) - 1, dtype=bool)
    reached[graph.seed] = True
    order = [graph.seed]
    for page in order:  # grows in the loop
        targets = graph.page_of[graph.links[graph.indptr[page] : graph.indptr[page + 1]]]
        for target in targets[targets >= 0].tolist():
            if not reached[target]:
                reached[target] = True
                order.append(target)
    return order


def links_in_order(graph: LinkGraph, pages: list[int]) -> Trace:
    """The links of the pages, one page after the other."""
    parts = [graph.links[graph.indptr[page] : graph.indptr[page + 1]] for page in pages]
    return np.concatenate([np.empty(0, dtype=graph.links.dtype), *parts])


def cross_traces(graph: LinkGraph, processes: int) -> list[Trace]:
    """For each crawler process, the links on its pages to hosts of other processes."""
    assert graph.hosts is not None
    owner_of = {host: crc32(host.encode()) % processes for host in set(graph.hosts)}
    owner = np.array([owner_of[host] for host in graph.hosts])
    order = breadth_first(graph)
    own = [links_in_order(graph, [page for page in order if owner[page] == process]) for process in range(processes)]
    return [links[owner[links] != process] for process, links in enumerate(own)]


def next_uses(trace: list[int]) -> list[int]:
    """For each request, the position of the next request of the same URL; ``len(trace)`` or more if there is none."""
    never = len(trace)
    upcoming: dict[int, int] = {}
    result = [never] * len(trace)
    for time in range(len(trace) - 1, -1, -1):
        result[time] = upcoming.get(trace[time], never)
        upcoming[trace[time]] = time
    return result


def min_hits(trace: list[int], size: int, uses: list[int]) -> int:
    """Hits of Belady's clairvoyant policy (§3.2): evicts the URL requested latest, also a new one. O(n log size).

    The heap may hold a URL with a time before its next use; such stale entries are dropped when popped.
    """
    hits = 0
    never = len(trace)
    held: dict[int, int] = {}
    latest: list[tuple[int, int]] = []
    for time, url in enumerate(trace):
        use = uses[time]
        if url in held:
            hits += 1
            del held[url]
        if use == never:
            continue  # no cache could use it
        if len(held) == size:
            while held.get(latest[0][1]) != -latest[0][0]:
                heappop(latest)
            if -latest[0][0] <= use:
                continue
            del held[heappop(latest)[1]]
        held[url] = use
        heappush(latest, (-use, url))
    return hits


def lru_hits(trace: list[int], size: int) -> int:
    """Hits of a cache that evicts the least recently used URL (§3.3). O(n)."""
    hits, held = 0, OrderedDict[int, None]()
    for url in trace:
        if url in held:
            hits += 1
        elif len(held) == size:
            held.popitem(last=False)
        held[url] = None
        held.move_to_end(url)
    return hits


def clock_hits(trace: list[int], size: int) -> int:
    """Hits of the cache that crawls use (§3.4). O(n) amortised."""
    return sum(map(ClockCache(size).add, trace))


def random_hits(trace: list[int], size: int, seed: int = 1) -> int:
    """Hits of a cache that evicts a random URL (§3.5); equal seeds give equal evictions. O(n)."""
    hits, held, places, chance = 0, set[int](), list[int](), random.Random(seed)
    for url in trace:
        if url in held:
            hits += 1
            continue
        held.add(url)
        if len(places) < size:
            places.append(url)
        else:
            place = int(chance.random() * size)
            held.remove(places[place])
            places[place] = url
    return hits


def measure(traces: list[Trace], size: int) -> dict[str, int]:
    """Hits of each policy with caches of this size, one for each trace, summed."""
    lists = [trace.tolist() for trace in traces]
    popularity = [np.sort(np.unique(trace, return_counts=True)[1])[::-1] for trace in traces]
    hits = {"MIN": sum(min_hits(trace, size, next_uses(trace)) for trace in lists)}
    for policy, hits_of in (("LRU", lru_hits), ("CLOCK", clock_hits), ("RANDOM", random_hits)):
        hits[policy] = sum(hits_of(trace, size) for trace in lists)
    hits["STATIC"] = sum(int((counts[:size] - 1).sum()) for counts in popularity)
    hits["preloaded"] = sum(int(counts[:size].sum()) for counts in popularity)
    hits["INFINITE"] = sum(map(len, lists)) - sum(map(len, popularity))
    return hits


def table(traces: list[Trace], sizes: list[int]) -> Iterator[str]:
    """Two Markdown tables, a row for each size: hit rates in per cent, and misses as a multiple of MIN's."""
    requests = sum(map(len, traces))
    found = {size: measure(traces, size) for size in sizes}
    policies = list(next(iter(found.values())))
    for shown in (
        {size: [f"{100 * each / requests:.1f}" for each in hits.values()] for size, hits in found.items()},
        {
            size: [f"{(requests - each) / max(1, requests - hits['MIN']):.2f}" for each in hits.values()]
            for size, hits in found.items()
        },
    ):
        yield from ("| size | " + " | ".join(policies) + " |", "|---:|" + "---:|" * len(policies))
        yield from (f"| {size:,} | {' | '.join(row)} |" for size, row in shown.items())
        yield ""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; returns 1 if there is no data, or a file cannot be read; else 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("links", nargs="*", type=Path, metavar="LINKS")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with graphs/")
    parser.add_argument("--graphs", default="uic,cnr")
    parser.add_argument("--processes", type=int, default=4, help="crawler processes of the cross trace (the paper: 4)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    args = parser.parse_args(argv)
    if not args.links and not (args.data / "graphs").is_dir():
        print(f"no graphs in {args.data}; name the folder with --data", file=sys.stderr)
        return 1
    sizes = sorted(map(int, args.sizes.split(",")))
    graphs = {path.name: partial(load_links, path) for path in args.links} or {
        name: partial(LOADERS[name], args.data / "graphs") for name in args.graphs.split(",")
    }
    for name, load in graphs.items():
        try:
            graph = load()
        except (OSError, UnicodeDecodeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        if not len(graph.links):
            print(f"{name}: no links", file=sys.stderr)
            return 1
        streams = {f"{name}, full": [links_in_order(graph, breadth_first(graph))]}
        if graph.hosts is not None and args.processes > 1:
            streams[f"{name}, cross"] = cross_traces(graph, args.processes)
        whole = len(streams[f"{name}, full"][0])
        for title, traces in streams.items():
            length = sum(map(len, traces))
            distinct = sum(len(np.unique(trace)) for trace in traces)
            print(f"\n{title}: {length:,} links ({100 * length / whole:.1f}% of all), {distinct:,} URLs\n", flush=True)
            for line in table(traces, sizes):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
