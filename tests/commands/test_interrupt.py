"""Ctrl-C before a crawl has begun."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import ROOT, run_python


def test_ctrl_c_before_the_workers_start_is_one_line(tmp_path: Path) -> None:
    """No traceback, as after the start; nothing was crawled, so the exit code is not 0."""
    project = {"SCRAPY_SETTINGS_MODULE": "tests.commands.worker_project", "PYTHONPATH": str(ROOT)}
    done = run_python("-m", "scrapy", "workers", "interrupted", cwd=tmp_path, env={**os.environ, **project})
    assert done.stderr.splitlines()[-1:] == ["scrapy workers: interrupted before the crawl began"]
    assert "Traceback" not in done.stderr
    assert done.returncode == 1
