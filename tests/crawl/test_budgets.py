"""A limit of pages is not spent on servers that waste it; real crawls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.nasty_server import page, response, running

if TYPE_CHECKING:
    from pathlib import Path

WEB = "crawlproject.spiders.web.WebSpider"
COUNT = 40
LINKS = [f"/{number}" for number in range(COUNT)]
WASTE = {"files": response(b"x" * 200, "Content-Type: image/png"), "copies": response(page())}


@pytest.mark.parametrize("waste", WASTE)
def test_a_limit_of_pages_is_not_spent_on_a_server_that_wastes_it(tmp_path: Path, waste: str) -> None:
    """One connection, two servers: that with more links to it answers only with files, or with copies of one page.

    Both home pages are fetched first, whatever is expected of a new server.
    """
    settings = {**IMPOLITE, "ROBOTSTXT_OBEY": False, "FRONTIER_MAX_SESSIONS": 1, "FRONTIER_MAX_PAGES": COUNT}
    seeds = tmp_path / "seeds.txt"
    with running({"site": {"/": (response(page(*LINKS)),), **dict.fromkeys(LINKS, (WASTE[waste],))}}) as vain:
        home = page(*LINKS, *(f"{vain['site']}{link}" for link in LINKS))
        pages = {link: (response(page(f"{link}#{link}")),) for link in LINKS}
        with running({"site": {"/": (response(home),), **pages}}) as good:
            seeds.write_text(f"{vain['site']}/ 1e6\n{good['site']}/ 1e6\n")
            result = crawl(WEB, settings=settings, seeds=str(seeds))
            of_good = sum(item["url"].startswith(good["site"]) for item in result.items)
    assert len(result.items) == COUNT
    assert of_good >= COUNT / 2
