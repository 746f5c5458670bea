"""Links with file extensions: what one server teaches about others, and what is remembered."""

from typing import Any

from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.discovery.skipped_files import SkippedFiles
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.options.following import LinkOptions


def files_over(frontier: Frontier, **settings: Any) -> SkippedFiles:
    stats = get_crawler().stats
    assert stats is not None
    return SkippedFiles(frontier, stats, LinkOptions.from_settings(Settings(settings)))


def answered(files: SkippedFiles, url: str, media: str = "image/png") -> None:
    files.learn(Response(url, headers={"Content-Type": media}, request=Request(url)))


def test_file_type_is_learned_from_three_servers_not_from_three_directories() -> None:
    """Then one answer is enough, until any server has a page with this extension."""
    frontier = Frontier(BestPrefix(), Politeness())
    keys = [f"http://{name}.example" for name in "abcde"]
    frontier.push([Entry(f"{key}/") for key in keys])
    files = files_over(frontier)
    for directory in ("x", "y", "z"):
        for number in range(3):
            answered(files, f"{keys[0]}/{directory}/{number}.png")
    answered(files, f"{keys[3]}/i/1.png")
    assert files.is_skipped(f"{keys[0]}/x/9.png")
    assert not files.is_skipped(f"{keys[3]}/i/2.png")
    for key in keys[1:3]:
        for number in range(3):
            answered(files, f"{key}/i/{number}.png")
    assert files.is_skipped(f"{keys[3]}/i/2.png")
    assert files_over(frontier).is_skipped(f"{keys[3]}/i/2.png")  # also after a restart
    answered(files, f"{keys[4]}/wiki/a.png", "text/html")
    assert not files.is_skipped(f"{keys[3]}/i/2.png")
    assert files.is_skipped(f"{keys[0]}/x/9.png")
