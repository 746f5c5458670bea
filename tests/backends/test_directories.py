"""Directories that cannot be used: the error names the setting and its value."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.repository import RepositoryMiddleware
from crawlproject.repository import RepositoryError
from crawlproject.scheduler import FrontierScheduler
from crawlproject.storage.errors import StoreError

ADDON = {"ADDONS": {"crawlproject.addon.FrontierAddon": 300}}


def new_crawler(**settings: Any) -> Crawler:
    crawler = get_crawler(settings_dict={**ADDON, **settings})
    crawler.spider = crawler._create_spider("any")
    return crawler


@pytest.mark.parametrize("inside", ["", "/below"])
def test_frontier_dir_that_is_a_file(tmp_path: Path, inside: str) -> None:
    """Or is below one."""
    (tmp_path / "file").touch()
    path = f"{tmp_path}/file{inside}"
    crawler = new_crawler(FRONTIER_DIR=path)
    with pytest.raises(StoreError, match=f"^FRONTIER_DIR='{path}': .*Not a directory"):
        FrontierScheduler.from_crawler(crawler)


def test_frontier_in_a_jobdir_that_cannot_be_made(tmp_path: Path) -> None:
    """The frontier's own folder in it is a file."""
    (tmp_path / "frontier").touch()
    crawler = new_crawler(JOBDIR=str(tmp_path))
    with pytest.raises(StoreError, match=f"^JOBDIR='{tmp_path}': .*Not a directory"):
        FrontierScheduler.from_crawler(crawler)


def test_repository_dir_that_is_a_file(tmp_path: Path) -> None:
    """Nothing is changed."""
    path = tmp_path / "file"
    path.write_text("mine")
    crawler = new_crawler(FRONTIER_REPOSITORY_DIR=str(path))

    async def open_it() -> None:
        RepositoryMiddleware.from_crawler(crawler)

    with pytest.raises(RepositoryError, match=f"^FRONTIER_REPOSITORY_DIR='{path}': .*File exists"):
        asyncio.run(open_it())
    assert path.read_text() == "mine"
