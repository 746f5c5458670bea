#!/usr/bin/env python3
"""The cost of detecting duplicates: CPU of each step, and of whole crawls of real pages with and without detection.

    scripts/real_web.py setup --dir DIR && scripts/real_web.py start DIR
    scripts/bench_duplicates.py DIR [--pages 2000] [--rounds 3]

Steps: microseconds of CPU per page, over pages drawn from DIR, the best of the rounds.
Crawls: the spider ``web`` on the running web, in turns with everything off, with exact duplicates, and with both; user
and system time of its process per page, the best of the rounds.  The crawls fetch different pages, because copies count
against servers; therefore the share of the steps in a crawl's CPU is measured as well (``inside``).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.content import NearDuplicates, PageSketch
from crawlproject.middlewares import duplicates
from crawlproject.seen import bytes_fingerprint
from crawlproject.storage.content_file import ContentFile
from crawlproject.urls import extract
from testbed import real_web
from testbed.bench import WEB, Stats, StepTimes, best_of, command_line, crawl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CASES: dict[str, dict[str, Any]] = {
    "off": {"DUPLICATES_EXACT": False, "DUPLICATES_NEAR": False},
    "exact": {"DUPLICATES_NEAR": False},
    "exact and near": {},
}
INSIDE = {"EXTENSIONS": {"scripts.bench_duplicates.CrawlSteps": 0}}
CRAWL_STEPS = (
    ("hash", duplicates, "bytes_fingerprint"),
    ("file", ContentFile, "first"),
    ("sketch", PageSketch, "of"),
    ("look-up", NearDuplicates, "first_like"),
    ("counting", duplicates.DuplicatesMiddleware, "_learn"),
)


def main() -> None:
    parser = command_line(__doc__, pages=2000, rounds=3)
    parser.add_argument("dir", type=Path)
    args = parser.parse_args()
    seeds = ",".join(real_web.load(args.dir).seeds)

    def measure(settings: dict[str, Any]) -> Stats:
        return crawl(WEB | settings, seeds=seeds, max_pages=str(args.pages))

    measure_steps(args.dir, args.pages, args.rounds)
    best = best_of(CASES, lambda case: measure(CASES[case]), args.rounds)
    costs = {case: stats["bench/cpu"] / stats["item_scraped_count"] for case, stats in best.items()}
    for case, cost in costs.items():
        print(f"crawl, {case:15} {1e3 * cost:6.3f} ms/page  {cost / costs['off'] - 1:+.1%}")
    stats = measure(INSIDE)
    for step, *_ in CRAWL_STEPS:
        print(f"inside, {step:20} {stats[f'bench/{step}'] / stats['bench/cpu']:6.2%}")


def measure_steps(directory: Path, count: int, rounds: int) -> None:
    files = sorted(path for path in directory.rglob("*.html") if path.is_file() and not path.is_symlink())
    bodies = [path.read_bytes() for path in Random(1).sample(files, min(count, len(files)))]
    texts = [body.decode("utf-8", "replace") for body in bodies]
    read = [extract(text, "http://a.example/", with_text=True) for text in texts]
    sketches = [PageSketch.of(page.title, page.text or "", page.pictures) for page in read]
    print(f"{len(bodies)} pages of {sum(map(len, bodies)) / len(bodies):.0f} bytes; {sketches.count(None)} too short")
    steps: dict[str, Callable[[], Callable[[int], object]]] = {
        "hash": lambda: lambda n: bytes_fingerprint(bodies[n]),
        "file": lambda: _first_of_file(),
        "parse, links": lambda: lambda n: extract(texts[n], "http://a.example/"),
        "parse, links, text": lambda: lambda n: extract(texts[n], "http://a.example/", with_text=True),
        "sketch": lambda: lambda n: PageSketch.of(read[n].title, read[n].text or "", read[n].pictures),
        "look-up": lambda: _first_like(sketches),
    }
    for name, prepare in steps.items():
        cost = min(cpu_of(prepare(), range(len(bodies))) for _ in range(rounds))
        print(f"{name:22} {1e6 * cost / len(bodies):7.1f} us/page")


def _first_of_file() -> Callable[[int], object]:
    contents = ContentFile(None)
    contents.open()
    return lambda n: contents.first(n + 1, f"http://a.example/some/place/page{n}.html", 3)


def _first_like(sketches: list[PageSketch | None]) -> Callable[[int], object]:
    near = NearDuplicates(len(sketches), 0.95)

    def first_like(n: int) -> str | None:
        sketch = sketches[n]
        return None if sketch is None else near.first_like(str(n), sketch)

    return first_like


def cpu_of(step: Callable[[int], object], numbers: Iterable[int]) -> float:
    """CPU seconds of a step over all pages."""
    start = time.process_time()
    for number in numbers:
        step(number)
    return time.process_time() - start


class CrawlSteps(StepTimes):
    """Extension: CPU seconds of each step of this process's crawl."""

    steps = CRAWL_STEPS


if __name__ == "__main__":
    main()
