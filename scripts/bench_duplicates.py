#!/usr/bin/env python3
"""What finding duplicates costs: CPU of each step, and of whole crawls of real pages with and without it.

    scripts/real_web.py setup --dir DIR && scripts/real_web.py start DIR
    scripts/bench_duplicates.py DIR [--pages 2000] [--rounds 3]

Steps: microseconds of CPU a page, over pages drawn from DIR, the best of the rounds.
Crawls: the spider ``web`` on the running web, in turns with all off, with exact duplicates, with both; user and system
time of its process a page, the best of the rounds.  They do not fetch the same pages, as copies count against servers;
so what the steps take within a crawl is measured, too, as a share of its CPU (``inside``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.content import NearDuplicates, PageSketch
from crawlproject.middlewares import duplicates
from crawlproject.seen import bytes_fingerprint
from crawlproject.storage.content_file import ContentFile
from crawlproject.urls import extract
from scripts.bench_throughput import ADDON, QUIET
from testbed import real_web

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CASES: dict[str, dict[str, Any]] = {
    "off": {"DUPLICATES_EXACT": False, "DUPLICATES_NEAR": False},
    "exact": {"DUPLICATES_NEAR": False},
    "exact and near": {},
    "inside": {},
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        crawl(options.case, options.dir, options.pages)
        return
    measure_steps(options.dir, options.pages, options.rounds)
    best: dict[str, float] = {}
    for _ in range(options.rounds):
        for case in ("off", "exact", "exact and near"):
            best[case] = min(best.get(case, 1e9), cpu_per_page(case, options))
    for case, cpu in best.items():
        print(f"crawl, {case:15} {1e3 * cpu:6.3f} ms/page  {cpu / best['off'] - 1:+.1%}")
    for step, share in result_of("inside", options)["shares"].items():
        print(f"inside, {step:20} {share:6.2%}")


def measure_steps(directory: Path, count: int, rounds: int) -> None:
    """Print the cost of each step."""
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


def cpu_per_page(case: str, options: argparse.Namespace) -> float:
    """CPU seconds a page of a crawl."""
    result = result_of(case, options)
    return float(result["cpu"] / result["pages"])


def result_of(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """What a crawl in a process of its own prints at the end."""
    command = [sys.executable, __file__, str(options.dir), "--pages", str(options.pages), "--case", case]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def crawl(case: str, directory: Path, pages: int) -> None:
    """Crawl in this process."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    process = AsyncCrawlerProcess(QUIET | ADDON | {"CONCURRENT_ITEMS": 1} | CASES[case])
    seeds = ",".join(real_web.load(directory).seeds)
    process.crawl(load_object("crawlproject.spiders.web.WebSpider"), seeds=seeds, max_pages=str(pages))
    spent: dict[str, float] = {}
    if case == "inside":
        spent = timed_steps()
    start = time.process_time()
    process.start()
    if case == "inside":
        total = time.process_time() - start
        print(json.dumps({"shares": {step: seconds / total for step, seconds in spent.items()}}))


def timed_steps() -> dict[str, float]:
    """Have the steps of this process's crawl timed; CPU seconds of each, to be read at its end."""
    spent = dict.fromkeys(("hash", "file", "sketch", "look-up", "counting"), 0.0)

    def timed(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[step] += time.thread_time() - start

        return run

    for step, owner, name in (
        ("hash", duplicates, "bytes_fingerprint"),
        ("file", ContentFile, "first"),
        ("sketch", PageSketch, "of"),
        ("look-up", NearDuplicates, "first_like"),
        ("counting", duplicates.DuplicatesMiddleware, "_learn"),
    ):
        setattr(owner, name, timed(step, getattr(owner, name)))
    return spent


if __name__ == "__main__":
    main()
