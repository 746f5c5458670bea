"""docs/scale.md: its table follows from its figures."""

from __future__ import annotations

import re
from math import isclose

import pytest

from tests.pages import page

PAGE = page("scale.md")
#: Assumed for each page fetched.
SEEN, QUEUED, SERVERS = 10, 9, 0.01
UNITS = {"bytes": 1.0, "kB": 1e3, "GB": 1e9, "ms": 1e-3, "µs": 1e-6}


def rows(section: str) -> dict[str, list[str]]:
    """The table of a section: first column -> other columns."""
    lines = re.findall(r"^\| (.*) \|$", PAGE.split(f"## {section}")[1].split("\n## ")[0], re.MULTILINE)
    cells = [line.split(" | ") for line in lines]
    return {first: rest for first, *rest in cells[1:]}


def figure(name: str) -> float:
    """A figure to plan with, in seconds or bytes."""
    number, unit = rows("Costs per page, URL and worker")[name][0].split()[:2]
    return float(number) * UNITS[unit]


def crawl(column: int) -> dict[str, float]:
    """A crawl of the table."""
    return {name: float(cells[column].rstrip("%").replace(",", "")) for name, cells in rows("Three crawls").items()}


@pytest.mark.parametrize(("column", "pages"), [(0, 1e6), (1, 1e8), (2, 1e9)])
def test_the_table_follows_from_the_figures(column: int, pages: float) -> None:
    """Within the rounding."""
    found = crawl(column)
    workers, speed = found["workers"], pages / found["days"] / 86_400
    partitions = found["`FRONTIER_PARTITIONS`"]
    data = pages * (QUEUED * figure("queued URL, Redis") + SEEN * figure("seen URL, Redis"))
    data += partitions * figure("partition, Redis")
    expected = {
        "pages/s": speed,
        "cores, for pages alone": speed * figure("page, CPU of a worker"),
        "memory of all workers, GB": workers * 0.4 + pages * SERVERS * figure("server, memory of its worker") / 1e9,
        "disk of all workers, GB": pages * SEEN * figure("seen URL, disk of workers") / 1e9,
        "Redis, GB of data": data / 1e9,
        "Redis, GB of memory while it rewrites its file": 2 * data / 1e9,
        "Redis, GB of disk: file, changes, new file": 3 * data / 1e9,
        "Redis, share of a core": 100
        * (speed * figure("page, CPU of Redis") + workers * figure("worker and second, CPU of Redis")),
        "network of Redis, MB/s": speed * figure("page, network of Redis") / 1e6,
        "network of the crawl, Mbit/s": speed * figure("page, network of the crawl") * 8 / 1e6,
        "start of all workers at the end of the crawl, minutes": pages
        * QUEUED
        * figure("queued URL, time to load it")
        / workers
        / 60,
    }
    assert {name: (found[name], value) for name, value in expected.items() if not _close(found[name], value)} == {}
    assert figure("worker, memory") == 0.4e9
    assert found.keys() - expected.keys() == {"days", "workers", "`FRONTIER_PARTITIONS`"}


def _close(shown: float, value: float) -> bool:
    return isclose(shown, value, rel_tol=0.06, abs_tol=0.05)
