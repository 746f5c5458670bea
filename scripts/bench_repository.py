#!/usr/bin/env python3
"""The cost of the repository: its share of a crawl's CPU.

    scripts/bench_repository.py [--pages 2000] [--rounds 3] [--page-bytes 19000] [--links 40]

The web spider on a fast web on loopback (20 servers that answer at once), in turns without a repository, with gzip and
with zstd; CPU seconds (user + system) of the crawling process from the opening to the closing of the spider, the best
of the rounds.  "repository" is the part spent inside it, within the same run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.middlewares.repository import RepositoryMiddleware
from crawlproject.repository import Repository
from testbed.bench import WEB, Stats, StepTimes, best_of, command_line, crawl, fast_web
from testbed.web import running_web


class RepositoryCpu(StepTimes):
    """Extension: also measures the CPU time of the repository, without the threads for long bodies."""

    steps = (("write", RepositoryMiddleware, "process_response"), ("commit", Repository, "commit"))


def measure(case: str, seeds: str) -> Stats:
    """Crawl once; deletes the repository afterwards."""
    with tempfile.TemporaryDirectory() as name:
        settings = WEB | {"EXTENSIONS": {"scripts.bench_repository.RepositoryCpu": 0}}
        if case != "off":
            settings |= {"REPOSITORY_DIR": name, "REPOSITORY_COMPRESSION": case}
        stats = crawl(settings, seeds=seeds)
        index = Path(name, "index.sqlite")
        return stats | {"bench/index": index.stat().st_size if index.exists() else 0}


def main() -> None:
    args = command_line(__doc__, pages=2000, rounds=3, page_bytes=19_000, links=40, cases="off,gzip,zstd").parse_args()
    with running_web(fast_web(args.pages, args.page_bytes, args.links)) as web:
        seeds = ",".join(web.seeds)
        best = best_of(args.cases.split(","), lambda case: measure(case, seeds), args.rounds)
    print(
        f"{'case':6} {'pages':>7} {'CPU ms/page':>12} {'repository ms/page':>19} {'share':>7} {'pages/s':>8}"
        f" {'WARC kB/page':>13} {'index B/page':>13} {'longest commit':>15}"
    )
    for case, stats in best.items():
        pages, cpu = stats["item_scraped_count"], stats["bench/cpu"]
        inside = sum(stats.get(f"bench/{step}", 0) for step, *_ in RepositoryCpu.steps)
        print(
            f"{case:6} {pages:>7.0f} {cpu / pages * 1e3:>12.3f} {inside / pages * 1e3:>19.3f}"
            f" {inside / cpu:>7.1%} {pages / stats['bench/wall']:>8.0f}"
            f" {stats.get('repository/bytes', 0) / pages / 1e3:>13.2f} {stats['bench/index'] / pages:>13.0f}"
            f" {stats.get('bench/commit/longest', 0) * 1e3:>12.1f} ms"
        )


if __name__ == "__main__":
    main()
