"""The bench of memory, with few URLs."""

from pathlib import Path

from tests.processes import run_python

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench_memory.py"


def test_starts_and_queues_are_measured() -> None:
    """A row for each start, and for each number of servers and way to find the URLs, which are all queued."""
    done = run_python(str(SCRIPT), "--urls", "400", "--servers", "5", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    starts, rows = done.stdout.split("from", 1)
    assert [line.split()[0] for line in starts.splitlines()[1:4]] == ["stock", "add-on", "web"]
    assert all(float(cell) > 0 for line in starts.splitlines()[1:4] for cell in line.split()[1:])
    queued = [line.split() for line in rows.splitlines()[1:]]
    assert [(row[0], row[2]) for row in queued] == [("seeds", "5"), ("pages", "5")]
    assert all(400 <= int(row[1]) < 450 and 0 < float(row[3]) <= float(row[4]) for row in queued)
