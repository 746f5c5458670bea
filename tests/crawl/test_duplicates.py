"""Crawls of webs with copies and near-duplicates, judged by the servers' log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from tests.content.texts import text
from tests.crawl.crawling import IMPOLITE, Crawl, crawl, crawling
from tests.crawl.scripted_site import Answer, Asked, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"


def crawl_web(site: Site, *seeds: str, spider: str = WEB, max_pages: str = "", **settings: Any) -> Crawl:
    """A crawl of the whole site, one request after another."""
    settings = {**IMPOLITE, "FRONTIER_MAX_SESSIONS": 1, **settings}
    arguments = {"max_pages": max_pages} if max_pages else {}
    return crawl(spider, settings=settings, seeds=",".join(map(site.url, seeds)), **arguments)


def article(*links: str, changed: tuple[int, ...] = ()) -> Answer:
    """A page long enough to be compared."""
    anchors = "".join(f'<a href="{link}"></a>' for link in links)
    body = f"<html><title>Article</title><body>{anchors}{text(400, 0, changed)}</body></html>"
    return Answer(body, headers={"Content-Type": "text/html"})


def marks(result: Crawl, site: Site) -> dict[str, tuple[str | None, str | None]]:
    """Of which page each item is a copy."""
    return {
        site.short(item["url"]): tuple(
            value and site.short(value) for value in (item["duplicate_of"], item["near_duplicate_of"])
        )
        for item in result.items
    }


def test_item_of_a_copy_has_all_fields_and_is_marked() -> None:
    """Its title and links are its own; the pages it links to are fetched once."""
    copy = page("/target", "/a", title="copied")
    with scripted_site() as site:
        site.script = {"1/": page("/a", "/b"), "1/a": copy, "1/b": copy, "1/target": page(title="end")}
        runs = [crawl_web(site, "1/", FRONTIER_DUPLICATES_FOLLOW=follow) for follow in ("all", "none")]
        assert marks(runs[0], site)["1/b"] == ("1/a", None)
        assert sorted(site.places()) == sorted(2 * ["1/", "1/a", "1/b", "1/target"])
    for result, followed in zip(runs, (True, False), strict=True):
        (item,) = [item for item in result.items if item["duplicate_of"]]
        assert (item["title"], item["links"], item["followed"]) == ("copied", 2, followed)
        assert (result.stat("duplicates/exact"), result.stat("duplicates/pages")) == (1, 4)
        assert result.stat("duplicates/not_followed") == (not followed)


def test_relative_links_of_a_copy_are_followed() -> None:
    """Equal references on pages of one directory, or of one path with different queries or base elements."""
    links = "".join(f'<a href="{href}"></a>' for href in ("?list", "", "#top", "sub/more", "../up", "//127.4.0.1/x"))
    copy = Answer(f"<title>copied</title>{links}", headers={"Content-Type": "text/html"})
    with scripted_site() as site:
        copies = [f"1/{place}" for place in ("one", "two", "d/three?a=1", "d/three?a=2", "d/")]
        expected = ["1/one?list", "1/two?list", "1/d/three?list", "1/d/?list", "1/sub/more", "1/d/sub/more", "1/up"]
        site.script = {place: page(title=place) for place in expected}
        site.script |= {"1/": page(*(place[1:] for place in copies)), **dict.fromkeys(copies, copy)}
        result = crawl_web(site, "1/", FRONTIER_MIN_BACKOFF=0.1, FRONTIER_MAX_BACKOFF=0.1)  # nothing listens at port 80
        assert sorted(set(site.places())) == sorted({*site.script})
        assert len(site.places()) == len(set(site.places()))
    assert result.stat("duplicates/exact") == 4


def test_near_copies_are_marked_and_followed() -> None:
    """By default; ``none`` drops their links."""
    fetched = {}
    for follow in ("none", "all"):
        with scripted_site() as site:
            site.script = {
                "1/": page("/a", "/b", "/c"),
                "1/a": article("/x"),
                "1/b": article("/y", changed=(300,)),
                "1/c": article("/x"),
                **{f"1/{name}": page(title=name) for name in "xy"},
            }
            result = crawl_web(site, "1/", FRONTIER_DUPLICATES_FOLLOW=follow)
            found = marks(result, site)
            fetched[follow] = "1/y" in site.places()
        assert (found["1/b"], found["1/c"]) == ((None, "1/a"), ("1/a", None))
        assert (result.stat("duplicates/near"), result.stat("duplicates/exact")) == (1, 1)
        assert result.stat("duplicates/not_followed") == {"none": 2, "all": 0}[follow]
    assert fetched == {"none": False, "all": True}


def trap(*words: str) -> Answer:
    """A page that links to directories below it."""
    return page(*(f"{word}/" for word in words), "/about", title="You are here")


def test_server_that_answers_every_url_with_one_page_is_finished() -> None:
    """Nothing in its URLs repeats or has a number: it is dropped because its pages are all the same."""
    words = ["apple", "bread", "cloud", "dream", "eagle", "fruit"]
    with scripted_site(2) as site:
        answers = [trap(*words), trap(*words[:3])]

        def answer(asked: Asked) -> Answer:
            return page() if asked.path == "/about" else answers[asked.path.endswith("bread/")]

        site.script = Everything(answer)
        result = crawl_web(site, "1/", max_pages="2000")
        first = len(site.places(1))
        assert first <= 400
        site.script = {"2/about": page(), **{f"2{path}": page(title=path) for path in ("/new", "/apple/new")}}
        site.script |= {"2/": page("new", "apple/", title="start"), "2/apple/": page("new", "apple/", title="start")}
        crawl_web(site, "2/")
        assert sorted(site.places(2)) == ["2/", "2/apple/", "2/apple/apple/", "2/apple/new", "2/new"]
    assert result.stat("finish_reason") == "finished"


class Everything(dict[str, Callable[[Asked], Answer]]):
    """A script that answers all addresses with one function."""

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        super().__init__()
        self._answer = answer

    def get(self, place: str, default: Any = None) -> Any:  # type: ignore[override]
        """The function, unless it is the robots.txt."""
        return default if place.endswith("/robots.txt") else self._answer


def two_trees(pages: int) -> dict[str, Answer]:
    """Pages under ``/a/`` and copies under ``/b/``; each of the last copies links to two pages not under ``/a/``."""
    # no numbers, so the guard has nothing to judge
    names = ["".join(pair) for pair in product("abcdefgh", repeat=2)][:pages]
    script = {}
    for number, name in enumerate(names):
        links = [f"{child}.html" for child in names[2 * number + 1 : 2 * number + 3]]
        same = page(*(links or [f"x/{name}.html"]), "/b/aa.html" if name == names[-1] else "aa.html", title=name)
        script |= {f"1/a/{name}.html": same, f"1/b/{name}.html": same}
        if not links:
            script[f"1/b/x/{name}.html"] = page(f"y{name}.html", title=f"new {name}")
            script[f"1/b/x/y{name}.html"] = page(title=f"last {name}")
    return script


def test_copied_tree_is_crawled_fully_after_kills(tmp_path: Path) -> None:
    """The same after three times kill -9, whatever was stored of contents and frontier by then."""
    settings = {**IMPOLITE, "FRONTIER_MAX_SESSIONS": 1, "JOBDIR": str(tmp_path), "FRONTIER_COMMIT_INTERVAL": 0.1}
    with scripted_site() as site:
        site.script = {place: replace(answer, delay=0.005) for place, answer in two_trees(60).items()}
        for requests in (93, 104, 120):
            with crawling(WEB, tmp_path / "results", settings=settings, seeds=site.url("1/a/aa.html")) as process:
                site.wait_for(requests)
                process.kill()
                process.wait()
        result = crawl(WEB, settings=settings, seeds=site.url("1/a/aa.html"))
        assert set(site.script) <= set(site.places())
    assert result.stat("finish_reason") == "finished"


def test_nothing_is_compared_if_switched_off() -> None:
    """No page is marked, no stat set, no link dropped."""
    copy = page("/target")
    with scripted_site() as site:
        site.script = {"1/": page("/a", "/b"), "1/a": copy, "1/b": copy, "1/target": page()}
        result = crawl_web(site, "1/", FRONTIER_DUPLICATES_EXACT=False, FRONTIER_DUPLICATES_NEAR=False)
    assert set(marks(result, site).values()) == {(None, None)}
    assert not [name for name in result.stats if name.startswith("duplicates/")]
