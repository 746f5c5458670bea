"""Scrapy's own tests pass with this project's replacements, but for those listed in ``differences.toml``."""

import os
from pathlib import Path

import pytest

from tests.scrapy_suite.suite import HANDLER_TESTS, NoSourceError, differences, prepared, run

pytestmark = pytest.mark.long

#: What is run together. Not run: other commands, settings, exporters, selectors, ... of which nothing is replaced here,
#: and Scrapy's own scheduler, dupefilter, queues and handlers, which are.
GROUPS = {
    "handler": (HANDLER_TESTS, "tests/test_downloader_handlers.py"),
    "downloader": ("tests/test_core_downloader.py", "tests/test_downloaderslotssettings.py"),
    "downloader middlewares": ("tests/test_downloadermiddleware*.py", "tests/test_robotstxt_interface.py"),
    "crawl": ("tests/test_crawl.py", "tests/test_closespider.py", "tests/test_request_[acl]*.py"),
    "crawler": ("tests/test_crawler.py", "tests/test_addons.py", "tests/test_contracts.py"),
    "engine": ("tests/test_engine*.py", "tests/test_signals.py", "tests/test_core_scraper.py"),
    "pipelines": ("tests/test_pipeline*.py",),
    "feeds": ("tests/test_feedexport*.py",),
    "spiders": ("tests/test_spider.py", "tests/test_spider_*.py", "tests/test_spiderstate.py"),
    "spider middlewares": ("tests/test_spidermiddleware*.py",),
    "commands": ("tests/test_command_fetch.py", "tests/test_command_parse.py"),
    "extensions": (
        "tests/test_extension_throttle.py",
        "tests/test_extension_periodic_log.py",
        "tests/test_log*.py",
        "tests/test_stats.py",
        "tests/test_http_cookies.py",
    ),
}


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scrapy's tests, downloaded once for all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    try:
        return prepared((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "scrapy")
    except NoSourceError as error:
        pytest.skip(f"Scrapy's tests cannot be downloaded: {error}")


@pytest.mark.parametrize("group", GROUPS)
def test_scrapys_own_tests(source: Path, tmp_path: Path, group: str) -> None:
    """No failure that is not listed, and nothing listed that passes."""
    outcome = run(source, tmp_path / "run", *GROUPS[group])
    listed = set(differences())
    assert outcome.passed
    assert outcome.failed <= listed, f"{sorted(outcome.failed - listed)}\n{outcome.output[-20_000:]}"
    assert not outcome.passed & listed, "they pass now: take them off differences.toml"
