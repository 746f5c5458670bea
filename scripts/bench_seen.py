#!/usr/bin/env python3
"""CPU time per link and memory per URL of the seen-set, and of Scrapy's dupefilter in the same run.

    scripts/bench_seen.py [--urls 200000] [--memory 10000000]

Pages of 60 links, 80% of them seen before: new URLs in order, the others drawn from all earlier ones, early ones more
often.  First come keys alone (the seen-set's own work, with and without cache and Bloom filter), then whole URLs:
canonical ones through ``SeenDupeFilter.urls_are_new``, and ``RFPDupeFilter.request_seen`` on requests created
beforehand and in the loop.  ``--urls``: number of different URLs for the times; 0: no times.  ``--memory N`` fills the
exact set with N keys and prints the process's memory per key as it grows.  CPU time of this process; on a busy machine
compare ratios.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import RequestFingerprinter
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.seen import ClockCache, MemorySeenSet, SeenSet, UrlBloom, url_fingerprint
from testbed.bench import command_line
from testbed.children import memory

if TYPE_CHECKING:
    from collections.abc import Callable

LINKS_PER_PAGE = 60
SEEN_SHARE = 0.8


def pages_of_links(new_urls: int) -> list[list[str]]:
    """Links by page, until there are ``new_urls`` different ones."""
    chance = random.Random(1)
    pages = []
    met = 0
    while met < new_urls:
        page = []
        for _ in range(LINKS_PER_PAGE):
            if met and chance.random() < SEEN_SHARE:
                number = int(met * chance.random() ** 3)
            else:
                number = met
                met += 1
            page.append(f"http://host{number % 997}.example/dir/page-{number}.html?id={number}")
        pages.append(page)
    return pages


def per_link(test: Callable[[list], object], pages: list[list]) -> float:
    """CPU microseconds per link of ``test``, a page at a time."""
    gc.collect()
    start = time.process_time()
    for page in pages:
        test(page)
    return 1e6 * (time.process_time() - start) / len(pages) / LINKS_PER_PAGE


def measure_time(new_urls: int) -> None:
    """Print a row for each method."""
    pages = pages_of_links(new_urls)
    keys = [[url_fingerprint(url) for url in page] for page in pages]
    requests = [[Request(url) for url in page] for page in pages]
    crawler = get_crawler()
    crawler.request_fingerprinter = RequestFingerprinter(crawler)

    def bloom() -> UrlBloom:
        return UrlBloom(new_urls, 0.001)

    python_set: set[int] = set()
    ours = SeenDupeFilter.from_crawler(crawler)
    rows: list[tuple[str, Callable[[list], object], list[list]]] = [
        ("keys: exact in memory", SeenSet(MemorySeenSet()).add_new, keys),
        ("keys: cache, exact", SeenSet(MemorySeenSet(), cache=ClockCache(2**16)).add_new, keys),
        ("keys: bloom, exact", SeenSet(MemorySeenSet(), bloom=bloom()).add_new, keys),
        ("keys: cache, bloom, exact", SeenSet(MemorySeenSet(), cache=ClockCache(2**16), bloom=bloom()).add_new, keys),
        ("keys: bloom alone", bloom().add_new, keys),
        ("keys: a Python set", lambda page: [_add(python_set, key) for key in page], keys),
        ("URLs: SeenDupeFilter.urls_are_new", ours.urls_are_new, pages),
        ("requests made: SeenDupeFilter", _request_by_request(SeenDupeFilter.from_crawler(crawler)), requests),
        ("requests made: RFPDupeFilter", _request_by_request(RFPDupeFilter.from_crawler(crawler)), requests),
        ("URLs: Request, RFPDupeFilter", _url_by_url(RFPDupeFilter.from_crawler(crawler)), pages),
    ]
    print(f"{len(pages) * LINKS_PER_PAGE} links on {len(pages)} pages, {new_urls} URLs\n")
    print(f"{'':38} {'us per link':>11} {'x the first':>11}")
    first = 0.0
    for name, test, items in rows:
        cost = per_link(test, items)
        first = first or cost
        print(f"{name:38} {cost:>11.2f} {cost / first:>11.1f}", flush=True)


def _add(seen: set[int], key: int) -> bool:
    before = len(seen)
    seen.add(key)
    return len(seen) != before


def _request_by_request(dupefilter: SeenDupeFilter | RFPDupeFilter) -> Callable[[list], object]:
    return lambda page: list(map(dupefilter.request_seen, page))


def _url_by_url(dupefilter: RFPDupeFilter) -> Callable[[list], object]:
    return lambda page: [dupefilter.request_seen(Request(url)) for url in page]


def measure_memory(keys: int) -> None:
    """Fill a set with ``keys`` random keys; print bytes per key, the maximum so far, and the longest page."""
    chance = random.Random(2)
    seen = MemorySeenSet()
    gc.collect()
    empty = memory()
    most = longest = total = 0.0
    print(f"\n{'keys':>10} {'bytes/key':>9} {'most':>6} {'allocated':>9} {'us/new key':>10} {'longest page, ms':>16}")
    for number in range(1, keys // LINKS_PER_PAGE + 1):
        page = [chance.getrandbits(64) for _ in range(LINKS_PER_PAGE)]
        start = time.process_time()
        seen.add_new(page)
        spent = time.process_time() - start
        total += spent
        longest = max(longest, spent)
        if len(seen) >= 1_000_000 and number % 200 == 0:  # with fewer keys, the process's other memory distorts it
            most = max(most, (memory() - empty) * 1024**2 / len(seen))
        if number % max(1, keys // LINKS_PER_PAGE // 10) == 0:
            held = (memory() - empty) * 1024**2 / len(seen)
            allocated = seen.__sizeof__() / len(seen)
            print(
                f"{len(seen):>10} {held:>9.2f} {most:>6.2f} {allocated:>9.2f} {1e6 * total / len(seen):>10.2f}"
                f" {1e3 * longest:>16.1f}",
                flush=True,
            )


def main() -> None:
    args = command_line(__doc__, urls=200_000, memory=0).parse_args()
    if args.memory:
        measure_memory(args.memory)
    if args.urls:
        measure_time(args.urls)


if __name__ == "__main__":
    main()
