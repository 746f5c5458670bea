"""Crawls of generated sites: every page with new text is fetched, and traps cost little, also over restarts."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.crawl.crawling import IMPOLITE, Crawl, crawl, crawling
from tests.crawl.nasty_server import NO_ROBOTS, Script, response, running
from tests.generated_sites import PLAIN, REAL, REDIRECT, TRAPS, Site, downloads, logins, replies

if TYPE_CHECKING:
    from pathlib import Path

#: Requests that a trap may cost.
BUDGET = 300

WEB = "crawlproject.spiders.web.WebSpider"
SITES = {**REAL, **TRAPS, "logins": logins(), "downloads": downloads(), "replies": replies()}


class Served(Mapping[str, Script]):
    """A site as a server's answers. ``asked``: the paths of pages that were fetched, in order."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.root = ""
        self.asked: list[str] = []
        self.many = threading.Event()
        self.enough = 10**9

    def get(self, path: str, default: object = None) -> Script:  # type: ignore[override]
        """The page at a path."""
        markup = self.site.render(unquote(path))
        if markup is None:
            return (NO_ROBOTS,)
        self.asked.append(unquote(path))
        if len(self.asked) >= self.enough:
            self.many.set()
        if markup.startswith(REDIRECT):
            return (response("", f"Location: {markup.removeprefix(REDIRECT)}", status="302 Found"),)
        if markup.startswith(PLAIN):
            return (response(markup.removeprefix(PLAIN), "Content-Type: text/calendar"),)
        return (response(markup.replace("{root}", self.root)),)

    def __getitem__(self, path: str) -> Script:
        return self.get(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    @property
    def missing(self) -> set[str]:
        """Pages with new text that were not fetched."""
        return {path.replace("{root}", self.root) for path in self.site.real} - set(self.asked)

    @property
    def others(self) -> int:
        """How many other pages were fetched."""
        return len(set(self.asked) - {path.replace("{root}", self.root) for path in self.site.real})


@contextmanager
def serving(*names: str) -> Iterator[dict[str, Served]]:
    """These sites, one server each."""
    served = {name: Served(SITES[name]) for name in names}
    with running(served) as roots:
        for name, root in roots.items():
            served[name].root = root
        yield served


def crawl_of(served: dict[str, Served], **given: object) -> Crawl:
    """A crawl from all home pages, with these settings."""
    return crawl(WEB, settings={**IMPOLITE, "LOG_LEVEL": "INFO", **given}, seeds=seeds(served))


def seeds(served: dict[str, Served]) -> str:
    """The home pages."""
    return ",".join(f"{site.root}/" for site in served.values())


def test_every_page_with_new_text_is_fetched_and_traps_cost_little() -> None:
    """On real sites that contain traps; the crawl finishes."""
    names = ("nodes", "gaps", "shop", "parameters", "events", "past the end", "members", "logins", "downloads")
    with serving(*names) as served:
        result = crawl_of(served)
    assert result.stat("finish_reason") == "finished"
    assert {name: site.missing for name, site in served.items() if site.missing} == {}
    assert {name: site.others for name, site in served.items() if site.others > BUDGET} == {}
    assert result.stat("guard/patterns") > 0
    assert result.stat("guard/dropped") > 0
    assert result.stat("guard/demoted") > 0


def test_pages_that_ask_for_a_login_come_last() -> None:
    """Ten redirects to a login that leads back are enough; all others wait for the articles."""
    with serving("replies") as served:
        result = crawl_of(served)
    asked = served["replies"].asked
    articles = [place for place, path in enumerate(asked) if not path.endswith("/reply") and "?" not in path]
    assert served["replies"].missing == set()
    assert sum(path.endswith("/reply") and "?" not in path for path in asked[: articles[-1]]) <= 12
    assert not any(re.fullmatch(r"/login\?next=/article-[0-9]+", path) for path in asked[: articles[-1]])
    assert result.stat("guard/closed_patterns") == 1


def test_guard_works_without_the_duplicates_middleware() -> None:
    """It extracts the texts itself: no page is lost, and calendars end."""
    with serving("gaps", "months") as served:
        result = crawl_of(served, FRONTIER_DUPLICATES_EXACT=False, FRONTIER_DUPLICATES_NEAR=False)
    assert result.stat("duplicates/pages") == 0
    assert all(not site.missing and site.others <= BUDGET for site in served.values())


def test_guard_remembers_pages_after_a_restart(tmp_path: Path) -> None:
    """Killed in the middle: no page with new text is lost, and traps cost as much as in one run."""
    settings = {**IMPOLITE, "JOBDIR": str(tmp_path / "job"), "FRONTIER_COMMIT_INTERVAL": 0.2, "LOG_LEVEL": "ERROR"}
    with serving("gaps", "past the end", "events") as served:
        for site in served.values():
            site.enough = 25
        with crawling(WEB, tmp_path, settings=settings, seeds=seeds(served)) as process:
            for site in served.values():
                site.many.wait()
            process.kill()
            process.wait()
        assert any(site.missing for site in served.values())
        result = crawl(WEB, settings=settings, seeds=seeds(served))
    assert result.stat("finish_reason") == "finished"
    assert {name: site.missing for name, site in served.items() if site.missing} == {}
    assert {name: site.others for name, site in served.items() if site.others > BUDGET} == {}
