#!/usr/bin/env python3
"""The cost of the repository: its share of a crawl's CPU, the levels of compression, the stalls.

    scripts/bench_repository.py crawl [--pages 2000] [--rounds 3] [--page-bytes 19000] [--links 40]
    scripts/bench_repository.py levels FOLDER [--suffix .html]
    scripts/bench_repository.py stalls FOLDER [--suffix .html]

crawl   the web spider on a fast web on loopback (20 servers that answer at once), in turns without a repository,
        with gzip and with zstd; CPU seconds (user + system) of the crawling process from the opening to the closing
        of the spider, the best of the rounds.  "repository" is the part spent inside it, within the same run.
levels  CPU per record, and size, by level, over files of a folder (real pages)
stalls  how long the records of a body of some size hold up the event loop (CPU time, that is on an idle core)
"""

from __future__ import annotations

import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import zstandard
from isal import isal_zlib

from crawlproject.middlewares.repository import RepositoryMiddleware
from crawlproject.repository import COMPRESSIONS, Capture, Measured, Repository
from crawlproject.repository.records import new_id, page_records, payload_digest
from testbed.bench import WEB, CpuTime, Stats, best_of, command_line, crawl, fast_web
from testbed.web import running_web

if TYPE_CHECKING:
    import argparse

SIZES = (16_384, 65_536, 262_144, 1_048_576, 4_194_304)


class RepositoryCpu(CpuTime):
    """Extension: also measures the CPU time of the repository, without the threads for long bodies."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        process_response, commit = RepositoryMiddleware.process_response, Repository.commit

        async def timed_response(middleware: RepositoryMiddleware, request: Any, response: Any) -> Any:
            start = time.thread_time()
            response = await process_response(middleware, request, response)
            self.stats.inc_value("bench/inside", time.thread_time() - start)
            return response

        def timed_commit(repository: Repository) -> None:
            start, wall = time.thread_time(), time.perf_counter()
            commit(repository)
            self.stats.inc_value("bench/inside", time.thread_time() - start)
            self.stats.max_value("bench/longest_commit", time.perf_counter() - wall)

        RepositoryMiddleware.process_response = timed_response  # type: ignore[method-assign]
        Repository.commit = timed_commit  # type: ignore[method-assign]


def measure(case: str, seeds: str, folder: Path | None) -> Stats:
    """Crawl once; deletes the repository afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        settings = WEB | {"EXTENSIONS": {"scripts.bench_repository.RepositoryCpu": 0}}
        if case != "off":
            settings |= {"REPOSITORY_DIR": name, "REPOSITORY_COMPRESSION": case}
        stats = crawl(settings, seeds=seeds)
        index = Path(name, "index.sqlite")
        return stats | {"bench/index": index.stat().st_size if index.exists() else 0}


def crawls(args: argparse.Namespace) -> None:
    """Print a row per case."""
    with running_web(fast_web(args.pages, args.page_bytes, args.links)) as web:
        seeds = ",".join(web.seeds)
        best = best_of(args.cases.split(","), lambda case: measure(case, seeds, args.folder), args.rounds)
    print(
        f"{'case':6} {'pages':>7} {'CPU ms/page':>12} {'repository ms/page':>19} {'share':>7} {'pages/s':>8}"
        f" {'WARC kB/page':>13} {'index B/page':>13} {'longest commit':>15}"
    )
    for case, stats in best.items():
        pages, cpu, inside = stats["item_scraped_count"], stats["bench/cpu"], stats.get("bench/inside", 0)
        print(
            f"{case:6} {pages:>7.0f} {cpu / pages * 1e3:>12.3f} {inside / pages * 1e3:>19.3f}"
            f" {inside / cpu:>7.1%} {pages / stats['bench/wall']:>8.0f}"
            f" {stats.get('repository/bytes', 0) / pages / 1e3:>13.2f} {stats['bench/index'] / pages:>13.0f}"
            f" {stats.get('bench/longest_commit', 0) * 1e3:>12.1f} ms"
        )


def _captures(folder: Path, suffix: str) -> list[Capture]:
    """Up to 500 files as pages."""
    found: list[Capture] = []
    for path in sorted(folder.rglob(f"*{suffix}")):
        if path.is_file() and 2_000 <= path.stat().st_size <= 60_000:
            found.append(capture(path.read_bytes(), f"http://example.org/{path.name}"))
            if len(found) == 500:
                break
    if not found:
        sys.exit(f"{folder}: no file *{suffix} of 2,000 to 60,000 bytes")
    return found


def capture(body: bytes, url: str = "http://example.org/") -> Capture:
    """A page with this body."""
    return Capture(
        url=url,
        fetched_at=time.time(),
        status=200,
        request_head=b"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: crawlproject/0.1\r\nAccept: */*\r\n\r\n",
        request_body=b"",
        response_head=b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
        body=body,
        content_type="text/html",
        last_modified=None,
        ip_address="192.0.2.1",
        protocols=("http/1.1",),
        truncated=None,
        measured=Measured("http://example.org", 2, 1.0, None, 0.01, 0.02, None, 0.1, 0.12),
    )


def levels(args: argparse.Namespace) -> None:
    """Print a row per level."""
    captures = _captures(args.pages, args.suffix)
    made = [page_records(one, new_id(), payload_digest(one.body), None) for one in captures]
    count, size = len(made), sum(len(record) for records in made for record in records)
    start = time.process_time()
    for one in captures:
        page_records(one, new_id(), payload_digest(one.body), None)
    print(f"{count} pages of {size / count / 1e3:.1f} kB; creating the records: {_micro(start, count)} us/page\n")
    print(f"{'':8} {'us/page':>8} {'size':>7}")
    compressors: dict[str, Any] = {f"gzip {level}": _gzip(level) for level in (1, 2, 3, 4, 5, 6, 9)}
    compressors |= {f"isal {level}": _isal(level) for level in range(4)}  # gzip, too
    compressors |= {f"zstd {level}": _zstd(level) for level in (-1, 1, 2, 3, 4, 6, 9)}
    for name, compress in compressors.items():
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            packed = sum(len(compress(record)) for records in made for record in records)
            best = min(best, time.process_time() - start)
        print(f"{name:8} {best / count * 1e6:>8.0f} {packed / size:>7.3f}")


def _micro(start: float, count: int) -> int:
    return round((time.process_time() - start) / count * 1e6)


def _gzip(level: int) -> Any:
    def compress(data: bytes) -> bytes:
        compressor = zlib.compressobj(level, wbits=31)
        return compressor.compress(data) + compressor.flush()

    return compress


def _isal(level: int) -> Any:
    return lambda data: isal_zlib.compress(data, level, wbits=31)


def _zstd(level: int) -> Any:
    return lambda data: zstandard.ZstdCompressor(level=level, write_checksum=True).compress(data)


def stalls(args: argparse.Namespace) -> None:
    """Print a row per body size."""
    text = b"".join(one.body for one in _captures(args.pages, args.suffix))
    print(f"{'bytes':>9} " + " ".join(f"{name:>9}" for name in COMPRESSIONS))
    for size in SIZES:
        one = capture((text * (1 + size // len(text)))[:size])
        times = []
        for compression in COMPRESSIONS.values():
            best = float("inf")
            for _ in range(5):
                start = time.process_time()
                for record in page_records(one, new_id(), payload_digest(one.body), None):
                    compression.compress(record)
                best = min(best, time.process_time() - start)
            times.append(f"{best * 1e3:>6.1f} ms")
        print(f"{size:>9} " + " ".join(times))


def main() -> None:
    """Read the command line."""
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("crawl")
    one.set_defaults(do=crawls)
    one.add_argument("--pages", type=int, default=2000)
    one.add_argument("--rounds", type=int, default=3)
    one.add_argument("--page-bytes", type=int, default=19_000)
    one.add_argument("--links", type=int, default=40)
    one.add_argument("--cases", default="off,gzip,zstd")
    one.add_argument("--folder", type=Path, help="folder for temporary repositories")
    for name, do in (("levels", levels), ("stalls", stalls)):
        one = commands.add_parser(name)
        one.set_defaults(do=do)
        one.add_argument("pages", type=Path, metavar="FOLDER")
        one.add_argument("--suffix", default=".html")
    args = parser.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
