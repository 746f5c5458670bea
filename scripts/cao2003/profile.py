"""Where a crawl's CPU goes: cProfile's seconds of each function, summed up by the part of the program it serves."""

from __future__ import annotations

import pstats
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TypeAlias

from testbed.crawl.crawl import ROOT
from testbed.web import WebSpec, running_web

#: (file, line, name), as ``pstats`` has it.
Function: TypeAlias = tuple[str, int, str]

SCHEDULING, DOWNLOAD, PARSE, SEEN, REST = "scheduling", "download", "parse and links", "canonical and seen", "rest"
#: Part of a path -> part of the program; the first that fits. Other files belong to whoever calls them.
PARTS = (
    ("crawlproject/urls/extract", PARSE),
    ("crawlproject/urls/parse_budget", PARSE),
    ("crawlproject/spiders/", PARSE),
    ("scrapy/http/response/", PARSE),
    ("selectolax", PARSE),
    ("crawlproject/urls/", SEEN),
    ("crawlproject/seen/", SEEN),
    ("crawlproject/intake", SEEN),
    ("crawlproject/dupefilter", SEEN),
    ("crawlproject/frontier/", SCHEDULING),
    ("crawlproject/scheduler", SCHEDULING),
    ("crawlproject/engine_alarm", SCHEDULING),
    ("crawlproject/link_request", SCHEDULING),
    ("crawlproject/download/", DOWNLOAD),
    ("scrapy/core/downloader/handlers", DOWNLOAD),
    ("/aiohttp/", DOWNLOAD),
    ("/yarl/", DOWNLOAD),
    ("/asyncio/", DOWNLOAD),
    ("crawlproject/", REST),
    ("/scrapy/", REST),
    ("/twisted/", REST),
)
WAITING = ("poll", "select", "acquire")  # of builtins: time in which nothing is computed
ROUNDS = 40  # of handing a function's time on to its callers; deeper chains lose nothing worth the name


def profiled_crawl(spec: WebSpec) -> dict[str, float]:
    """Crawl the web of ``spec`` under the profiler; seconds by part. Start-up is not counted."""
    with tempfile.TemporaryDirectory() as folder, running_web(spec) as web:
        file = Path(folder) / "profile"
        command = [sys.executable, "-m", "cProfile", "-o", str(file), "-m", "scrapy", "crawl", "web"]
        settings = (
            "FRONTIER_DELAY_FACTOR=0",
            "FRONTIER_MIN_DELAY=0",
            "LOG_LEVEL=WARNING",
            "ALLOWED_NETWORKS=127.0.0.0/8",
        )
        command += ["-a", f"seeds={','.join(web.seeds)}"]
        for setting in settings:
            command += ["-s", setting]
        subprocess.run(command, cwd=ROOT, check=True)
        stats: dict[Function, tuple[int, int, float, float, dict[Function, tuple[int, int, float, float]]]]
        stats = pstats.Stats(str(file)).stats  # type: ignore[attr-defined]
    own = {function: entry[2] for function, entry in stats.items() if not _waits(function)}
    callers = {
        function: {caller: numbers[2] for caller, numbers in entry[4].items()} for function, entry in stats.items()
    }
    return by_part(own, callers)


def part_of(function: Function) -> str | None:
    """The part of the program that a function belongs to; None: its caller's.

    >>> part_of(("/x/site-packages/aiohttp/client.py", 1, "request"))
    'download'
    """
    path = function[0].replace("\\", "/")
    return next((part for fragment, part in PARTS if fragment in path), None)


def by_part(own: dict[Function, float], callers: dict[Function, dict[Function, float]]) -> dict[str, float]:
    """Seconds by part: functions that belong to none hand theirs on to their callers, by how much each caused.

    What starts the program (imports) has no caller of a part and is dropped.  O(ROUNDS x calls).
    """
    parts: defaultdict[str, float] = defaultdict(float)
    pending = dict(own)
    for _ in range(ROUNDS):
        handed_on: defaultdict[Function, float] = defaultdict(float)
        for function, seconds in pending.items():
            part = part_of(function)
            if part is not None:
                parts[part] += seconds
                continue
            causes = {caller: share for caller, share in callers.get(function, {}).items() if caller != function}
            total = sum(causes.values())
            for caller, share in causes.items():
                handed_on[caller] += seconds * (share / total if total else 1 / len(causes))
        pending = handed_on
    return dict(parts)


def _waits(function: Function) -> bool:
    return function[0] == "~" and any(f"'{name}'" in function[2] for name in WAITING)
