"""``scripts/bench`` runs: with few pages, so that its figures mean nothing, and only the first ones are looked at."""

import subprocess
from pathlib import Path

import pytest

from tests.processes import HUNG, run_python

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

#: Options of each bench, and the first words of its rows.
BENCHES = {
    "frontier": (
        "--links 600 --urls 1200 --servers 50",
        ["Scrapy, memory", "prefix, memory", "Scrapy, disk", "prefix, disk", "opened"],
    ),
    "rules": ("--turns 1", ["python", "postgresql", "git", "all"]),
    "memory": ("--urls 300 --servers 5", ["stock", "add-on", "web", "5 servers"]),
}
LONG = {"throughput": ("--pages 60 --cases stock,project+addon,web,bare", ["stock", "project+addon", "web", "bare"])}


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        *((name, *each) for name, each in BENCHES.items()),
        *(pytest.param(name, *each, marks=pytest.mark.long) for name, each in LONG.items()),
    ],
)
def test_bench_prints_a_table(name: str, options: str, rows: list[str]) -> None:
    """A line for each case, after one with the headings."""
    done = run_python(str(SCRIPTS / f"bench_{name}.py"), *options.split())
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()[1:]]
    assert len(lines) == len(rows), done.stdout
    assert all(line.startswith(row) for line, row in zip(lines, rows, strict=True)), done.stdout


@pytest.mark.long
def test_bench_of_workers(redis_program: Path) -> None:
    """A line for each number of workers."""
    test_bench_prints_a_table("workers", "--workers 1 --servers 5 --pages 30", ["1 "])


def test_bench_lists_what_it_can_measure() -> None:
    """Each file bench_NAME.py of the folder, and no other, is in the usage; an unknown name is refused with it."""
    done = subprocess.run([SCRIPTS / "bench", "nothing"], capture_output=True, text=True, check=False, timeout=HUNG)
    assert done.returncode == 2
    names = "|".join(sorted(path.stem.removeprefix("bench_") for path in SCRIPTS.glob("bench_*.py")))
    listed = done.stderr.split("scripts/bench ")[1].split()[0]
    assert sorted(listed.split("|")) == names.split("|")
