"""``scrapy list``."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]


def listed(*options: str, **environment: str) -> list[str]:
    variables = {name: value for name, value in os.environ.items() if name != "SCRAPY_PROJECT"} | environment
    done = run_python("-m", "scrapy", "list", *options, cwd=ROOT, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_spider_with_what_it_is_for() -> None:
    """Its name, spaces, a sentence; only names for those who ask, and for scrapyd, which takes lines as names."""
    rows = dict(line.split(maxsplit=1) for line in listed())
    assert {"keyword", "topic", "web"} <= set(rows)
    assert rows["web"].startswith("The broad crawl")
    assert rows["topic"].startswith("The focused crawl")
    assert listed("--names") == listed(SCRAPY_PROJECT="default") == list(rows)
