"""The exit code of ``scrapy crawl``."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree

import pytest

from crawlproject.compat import VERSION
from tests.crawl.scripted_site import Answer, Asked, page, scripted_site
from tests.processes import ROOT, run_python

#: The environment of a process that has this project's settings in any directory.
PROJECT = {**os.environ, "SCRAPY_SETTINGS_MODULE": "crawlproject.settings", "PYTHONPATH": str(ROOT)}


#: Scrapy 2.14 exits with 0 whatever ``Crawler.crawl`` raises, unless there is no spider.
has_exit_codes = pytest.mark.skipif(VERSION < (2, 15), reason="Scrapy 2.14 has no such exit codes")


@has_exit_codes
@pytest.mark.parametrize(
    ("reason", "code"),
    [("finished", 0), ("shutdown", 0), ("closespider_timeout", 0), ("store_failed", 1), ("redis_lost", 1)],
)
def test_crawls_that_could_not_go_on_fail(reason: str, code: int, tmp_path: Path) -> None:
    """Those that were stopped, or have reached a limit, do not."""
    project = {"SCRAPY_SETTINGS_MODULE": "tests.commands.worker_project", "PYTHONPATH": str(ROOT)}
    line = ["-m", "scrapy", "crawl", "closing", "-a", f"reason={reason}"]
    done = run_python(*line, cwd=tmp_path, env={**os.environ, **project})
    assert f"Spider closed ({reason})" in done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@has_exit_codes
def test_crawl_whose_last_commit_fails(tmp_path: Path) -> None:
    """It has ended, but the next run does not know what it has fetched."""

    def last(asked: Asked) -> Answer:
        rmtree(tmp_path / "job" / "frontier")
        return page()

    settings = ["JOBDIR=job", "FRONTIER_COMMIT_INTERVAL=1000", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8"]
    with scripted_site() as site:
        site.script = {"1/": last}
        line = ["-m", "scrapy", "crawl", "web", "-a", f"seeds={site.url('1/')}"]
        line += [part for setting in settings for part in ("-s", setting)]
        done = run_python(*line, cwd=tmp_path, env=PROJECT)
    assert "The frontier cannot be stored" in done.stderr
    assert "Spider closed (finished)" in done.stderr
    assert done.returncode == 1
