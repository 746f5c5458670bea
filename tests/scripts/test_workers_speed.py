"""The table of one crawl by one worker; Redis's figures by hand."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from scripts.workers_speed import COLUMNS, main, redis_figures
from testbed.workers import Workers
from tests.crawl.workers import fork


def test_redis_figures_are_growth_per_page() -> None:
    """100 pages; memory at its highest. A server that does not count reads has none."""
    before = {"used_cpu_user": 1.0, "used_cpu_sys": 0.5, "total_commands_processed": 10, "used_memory": 1000}
    before |= {"total_net_input_bytes": 100, "total_net_output_bytes": 200, "used_memory_peak": 1500}
    after = {"used_cpu_user": 1.002, "used_cpu_sys": 0.501, "total_commands_processed": 260, "used_memory": 1200}
    after |= {"total_net_input_bytes": 50_100, "total_net_output_bytes": 10_200, "used_memory_peak": 6000}
    figures = redis_figures(before, after, 100)
    assert figures == pytest.approx(
        {
            "Redis CPU us/page": 30.0,
            "reads/page": 0,
            "commands/page": 2.5,
            "bytes sent/page": 600,
            "Redis bytes/page": 50,
        }
    )


def test_row_of_a_crawl(
    redis_program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the frontier in memory, by one worker: every page once."""
    monkeypatch.setattr("scripts.workers_speed.Workers", partial(Workers, start=fork))
    main(["--workers", "1", "--backend", "memory", "--pages", "30", "--servers", "5"])
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == " ".join(COLUMNS).split()
    assert row.split()[:6] == ["1", "30", "0", "0", "0", "0"]
