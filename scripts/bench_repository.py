#!/usr/bin/env python3
"""What keeping pages in the repository costs: the share of a crawl's CPU, the levels of compression, the stalls.

    scripts/bench_repository.py crawl [--pages 2000] [--rounds 3] [--page-bytes 19000] [--links 40]
    scripts/bench_repository.py levels FOLDER [--suffix .html]
    scripts/bench_repository.py stalls FOLDER [--suffix .html]

crawl   the web spider over a fast web on loopback (20 servers that answer at once), in turns without a repository,
        with gzip and with zstd; CPU seconds (user + system) of the crawling process between the opening and the
        closing of the spider.  "repository" is the part that was spent inside it, within the same run; the best of
        the rounds.
levels  CPU per record and size, over files of a folder (real pages), by level
stalls  how long a body of a size holds up the event loop while its records are made (CPU time: on a free core)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import zstandard
from isal import isal_zlib

from crawlproject.middlewares.repository import RepositoryMiddleware
from crawlproject.repository import COMPRESSIONS, Capture, Measured, Repository
from crawlproject.repository.records import new_id, page_records, payload_digest
from scripts.bench_throughput import ADDON, QUIET, CpuTime
from testbed.web import WebSpec, running_web

SIZES = (16_384, 65_536, 262_144, 1_048_576, 4_194_304)


class RepositoryCpu(CpuTime):
    """Extension: besides the CPU of the crawl, that of the repository; a long body's threads do not count."""

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._inside = 0.0
        self._longest = 0.0
        process_response, commit = RepositoryMiddleware.process_response, Repository.commit

        async def timed_response(middleware: RepositoryMiddleware, request: Any, response: Any) -> Any:
            start = time.thread_time()
            response = await process_response(middleware, request, response)
            self._inside += time.thread_time() - start
            return response

        def timed_commit(repository: Repository) -> None:
            start, wall = time.thread_time(), time.perf_counter()
            commit(repository)
            self._inside += time.thread_time() - start
            self._longest = max(self._longest, time.perf_counter() - wall)

        RepositoryMiddleware.process_response = timed_response  # type: ignore[method-assign]
        Repository.commit = timed_commit  # type: ignore[method-assign]

    def closed(self) -> None:
        """Stop and tell."""
        stats = self._crawler.stats
        written = stats.get_value("repository/bytes", 0)
        print(json.dumps({"inside": self._inside, "longest_commit": self._longest, "bytes": written}), flush=True)
        super().closed()


def run_one(case: str, seeds: str, folder: str) -> None:
    """Crawl in this process."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.utils.misc import load_object

    settings = QUIET | ADDON | {"CONCURRENT_ITEMS": 1, "EXTENSIONS": {"scripts.bench_repository.RepositoryCpu": 0}}
    if case != "off":
        settings |= {"REPOSITORY_DIR": folder, "REPOSITORY_COMPRESSION": case}
    process = AsyncCrawlerProcess(settings)
    process.crawl(load_object("crawlproject.spiders.web.WebSpider"), seeds=seeds)
    process.start()


def measure(case: str, seeds: list[str], folder: Path) -> dict[str, float]:
    """Crawl in a process of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        done = subprocess.run(
            [sys.executable, __file__, "one", case, ",".join(seeds), name],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        result: dict[str, float] = {}
        for line in done.stdout.strip().splitlines()[-2:]:
            result |= json.loads(line)
        index = Path(name, "index.sqlite")
        result["index"] = index.stat().st_size if index.exists() else 0
    return result


def crawl(args: argparse.Namespace) -> None:
    """Print a row per case."""
    spec = WebSpec(
        servers=20,
        pages=args.pages,
        time_scale=0,
        page_bytes=args.page_bytes,
        links_per_page=args.links,
        links_sigma=0,
        keep_alive_limit=100,
    )
    best: dict[str, dict[str, float]] = {}
    with running_web(spec) as web:
        for _ in range(args.rounds):
            for case in args.cases.split(","):
                result = measure(case, web.seeds, args.folder)
                if case not in best or result["cpu"] < best[case]["cpu"]:
                    best[case] = result
    print(
        f"{'case':6} {'pages':>7} {'CPU ms/page':>12} {'repository ms/page':>19} {'share':>7} {'pages/s':>8}"
        f" {'WARC kB/page':>13} {'index B/page':>13} {'longest commit':>15}"
    )
    for case, result in best.items():
        pages = result["pages"]
        print(
            f"{case:6} {pages:>7.0f} {result['cpu'] / pages * 1e3:>12.3f} {result['inside'] / pages * 1e3:>19.3f}"
            f" {result['inside'] / result['cpu']:>7.1%} {pages / result['wall']:>8.0f}"
            f" {result['bytes'] / pages / 1e3:>13.2f} {result['index'] / pages:>13.0f}"
            f" {result['longest_commit'] * 1e3:>12.1f} ms"
        )


def _captures(folder: Path, suffix: str, least: int = 2_000, most: int = 60_000) -> list[Capture]:
    """Files as pages: up to 500."""
    found: list[Capture] = []
    for path in sorted(folder.rglob(f"*{suffix}")):
        if path.is_file() and least <= path.stat().st_size <= most:
            found.append(capture(path.read_bytes(), f"http://example.org/{path.name}"))
            if len(found) == 500:
                break
    if not found:
        sys.exit(f"{folder}: no file *{suffix} of {least} to {most} bytes")
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
    print(f"{count} pages of {size / count / 1e3:.1f} kB; to make the records: {_micro(start, count)} us a page\n")
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
    """Print a row per size of body."""
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("crawl")
    one.add_argument("--pages", type=int, default=2000)
    one.add_argument("--rounds", type=int, default=3)
    one.add_argument("--page-bytes", type=int, default=19_000)
    one.add_argument("--links", type=int, default=40)
    one.add_argument("--cases", default="off,gzip,zstd")
    one.add_argument("--folder", type=Path, help="where repositories are written for the time being")
    for name in ("levels", "stalls"):
        one = commands.add_parser(name)
        one.add_argument("pages", type=Path, metavar="FOLDER")
        one.add_argument("--suffix", default=".html")
    one = commands.add_parser("one")
    one.add_argument("arguments", nargs=3)
    args = parser.parse_args()
    if args.command == "one":
        run_one(*args.arguments)
    else:
        {"crawl": crawl, "levels": levels, "stalls": stalls}[args.command](args)


if __name__ == "__main__":
    main()
