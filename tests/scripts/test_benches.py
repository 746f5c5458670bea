"""The benchmarks run: with few URLs, so that their figures mean nothing."""

from pathlib import Path

import pytest

from tests.processes import run_python

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

BENCHES = (
    "bench_disk.py --urls 2000 --servers 50 --rounds 1 --scrapy 100",
    "bench_dns.py --servers 10 --pages 60 --sessions 8 --delay 0.01 --seconds 2 --time-scale 0.1",
    "bench_frontier.py --urls 2000 --servers 50",
    "bench_policy.py --servers 50 --pages 2000",
    "bench_redis.py --pages 100 --workers 1 --rounds 1",
    "bench_redis_sizes.py --urls 2000 --load 500",
    "bench_repository.py --pages 60 --rounds 1",
    "bench_rules.py --turns 1",
    "bench_seen.py --urls 2000 --memory 10000",
)


@pytest.mark.long
@pytest.mark.parametrize("command", BENCHES, ids=lambda command: command.split()[0])
def test_bench_prints_a_table(command: str) -> None:
    script, *arguments = command.split()
    done = run_python(str(SCRIPTS / script), *arguments)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2
