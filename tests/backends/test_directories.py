"""Directories that cannot be used: the error names the setting and its value."""

import asyncio
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.repository import RepositoryMiddleware
from crawlproject.repository import RepositoryError
from crawlproject.scheduler import FrontierScheduler
from crawlproject.storage.errors import StoreError


@pytest.mark.parametrize(
    ("kind", "setting", "place", "error", "reason"),
    [
        (FrontierScheduler, "FRONTIER_DIR", "frontier", StoreError, "Not a directory"),
        (FrontierScheduler, "FRONTIER_DIR", "frontier/below", StoreError, "Not a directory"),
        (FrontierScheduler, "JOBDIR", "", StoreError, "Not a directory"),
        (RepositoryMiddleware, "FRONTIER_REPOSITORY_DIR", "frontier", RepositoryError, "File exists"),
    ],
)
def test_a_file_in_the_way(
    kind: type, setting: str, place: str, error: type[Exception], reason: str, tmp_path: Path
) -> None:
    """It is not changed."""
    (tmp_path / "frontier").write_text("mine")
    path = tmp_path / place
    addon = {"crawlproject.addon.FrontierAddon": 300}
    crawler = get_crawler(settings_dict={"ADDONS": addon, setting: str(path)})
    crawler.spider = crawler._create_spider("any")

    async def open_it() -> None:
        kind.from_crawler(crawler)  # type: ignore[attr-defined]

    with pytest.raises(error, match=f"^{setting}='{path}': .*{reason}"):
        asyncio.run(open_it())
    assert (tmp_path / "frontier").read_text() == "mine"
