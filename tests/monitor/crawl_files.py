"""Series and snapshots of made-up crawls, for reports."""

from __future__ import annotations

import json
import re
from html import unescape
from math import log
from pathlib import Path
from typing import Any

from crawlproject.frontier.observed_times import TIME_BOUNDS
from crawlproject.monitor.series.recording import plain
from crawlproject.monitor.series.samples import (
    COLUMNS,
    FILE_NAME,
    MAX_SAMPLES,
    SNAPSHOT_NAME,
    SNAPSHOT_VERSION,
    Run,
    Sample,
    Series,
    head,
    row,
    write_snapshot,
)

#: What strangers may send: markup, quotes, marks of direction, control characters, a megabyte.
HOSTILE = (
    "http://<script>alert(1)</script>.example",
    "\"><img src=x onerror=alert(1)>'",
    "http://\u202egnp.exe\u200f.example",
    "</script><script>alert(2)</script>",
    "\x1b[2J\x00\r\n",
    "http://long.example/" + "x" * 1_000_000,
    "&lt;b&gt;",
)


def samples(count: int, seconds: float, pages: int) -> list[Sample]:
    """A crawl that slows down."""
    found = []
    for i in range(1, count + 1):
        share = log(1 + 9 * i / count) / log(10)
        sample = dict.fromkeys(COLUMNS, 0.0) | {
            "elapsed": round(seconds * i / count, 1),
            "pages": round(pages * share),
            "bytes": round(20_000 * pages * share),
            "requests": round(1.2 * pages * share),
            "failed": round(0.1 * pages * share),
            "sessions": 40 + i % 20,
            "session_limit": 64,
            "servers/ready": i % 7,
            "servers/resting": 300,
            "servers/leased": 40,
            "servers/given_up": i // 100,
            "servers/known": 100_000,
            "queued": round(3 * pages * (1.2 - share)),
            "seen": round(4 * pages),
            "quality_gathered": pages * share**0.8,
            "quality_queued": pages * (1.1 - share),
            "cpu": 0.5,
            "memory": 500_000_000,
            "held_back": 2,
        }
        found.append(sample)
    return found


def server(number: int, **values: Any) -> dict[str, Any]:
    """A row of the table of servers."""
    row = {
        "server": f"http://server-{number:04}.example",
        "fetched": 5000 - number,
        "gathered": 12.5 + number,
        "measured": True,
        "urls": 10 * number,
        "rank": 1.0 / (1 + number),
        "state": "resting",
        "reason": "polite wait",
        "failures": number % 3,
        "best_quality": 2.5,
        "batch": 10,
        "connect_time": 0.123,
        "response_time": 0.456,
        "bonus": 1.5,
        "worth": 0.9,
        "session_time": 3.5,
        "copies": number % 10,
    }
    return row | {name: plain(value) for name, value in values.items()}


def snapshot(servers: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    """All that the report reads."""
    counts = [round(1000 / (1 + abs(place - 18))) for place in range(len(TIME_BOUNDS) + 1)]
    stats = {
        "downloader/request_count": 1_200_000,
        "downloader/response_status_count/200": 1_000_000,
        "fates/answer/not_found": 90_000,
        "fates/request/timeout": 10_000,
        "frontier/failures/timeout": 10_000,
        "duplicates/pages": 900_000,
        "duplicates/exact": 40_000,
        "finish_reason": "finished",
    }
    found = {
        "version": SNAPSHOT_VERSION,
        "servers": servers,
        "rest": {"servers": 99_000, "pages": 400_000, "gathered": 1e5, "urls": 7},
        "doubted": 12,
        "bounds": TIME_BOUNDS,
        "connect": counts,
        "response": counts,
        "waits": counts,
        "shortest_wait": 0.5,
        "longest_wait": 60.0,
        "too_early": 0,
        "budget": "",
        "examples": {},
        "stats": stats,
        "settings": {"FRONTIER_MAX_SESSIONS": "128"},
    }
    read: dict[str, Any] = json.loads(json.dumps(found | values))
    return read


def write(folder: Path, found: list[Sample], snapshot: dict[str, Any] | None) -> Path:
    """The files of a crawl in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE_NAME).write_text(head(1.8e9, 1.0) + "".join(map(row, found)))
    if snapshot is not None:
        write_snapshot(folder / SNAPSHOT_NAME, snapshot)
    return folder


def large(folder: Path) -> Path:
    """A million pages over 100,000 servers: as many samples and servers as are ever kept."""
    return write(
        folder, samples(MAX_SAMPLES, 86_400.0, 1_000_000), snapshot([server(number) for number in range(1000)])
    )


def series_of(found: list[Sample]) -> Series:
    """As if read from a file."""
    return Series([Run(1.8e9, found)])


def data_of(html: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(html.partition('id="data">')[2].partition("</script>")[0])
    return found


def rows_of(html: str, title: str) -> list[list[str]]:
    """The rows of all tables of a part of a report; ``title`` without its scope."""
    data = data_of(html)
    parts = [part for part in data["parts"] + data["after"] if part["title"].partition(" (")[0] == title]
    return [row for part in parts for each in part["tables"] for row in each["rows"]]


def text_of(html: str) -> str:
    """What a reader sees of a report, without charts and servers."""
    data = data_of(html)
    seen = [unescape(re.sub(r"<[^>]+>", " ", html.partition("<main>")[2].partition("<script")[0]))]
    seen += [data["charts"], data["servers_title"]]
    for part in data["parts"] + data["after"]:
        seen += [part["title"], *part["sentences"]]
        seen += [" ".join(row) for each in part["tables"] for row in each["rows"]]
    return re.sub(r"\s+", " ", " ".join(seen))
