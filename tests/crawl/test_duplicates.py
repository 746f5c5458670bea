"""Crawls of webs with copies, near copies and mirrors, judged by what the servers were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.content.texts import text
from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Site, page, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
LINKS = "tests.crawl.spiders.LinksSpider"


def crawl_web(site: Site, *seeds: str, spider: str = WEB, **settings: Any) -> Crawl:
    """A crawl of the whole site, one request after another."""
    settings = {**IMPOLITE, "FRONTIER_MAX_SESSIONS": 1, **settings}
    return crawl(spider, settings=settings, seeds=",".join(map(site.url, seeds)))


def article(*links: str, changed: tuple[int, ...] = ()) -> Answer:
    """A page long enough to be judged."""
    anchors = "".join(f'<a href="{link}"></a>' for link in links)
    body = f"<html><title>Article</title><body>{anchors}{text(400, 0, changed)}</body></html>"
    return Answer(body, headers={"Content-Type": "text/html"})


def marks(result: Crawl, site: Site) -> dict[str, tuple[str | None, str | None]]:
    """What each item says it is a copy of."""
    return {
        site.short(item["url"]): tuple(
            value and site.short(value) for value in (item["duplicate_of"], item["near_duplicate_of"])
        )
        for item in result.items
    }


def test_a_copy_is_marked_and_not_read_again() -> None:
    """The second page with the same bytes: no links looked for, no title; all other pages are fetched."""
    copy = page("/target", title="copied")
    with scripted_site() as site:
        site.script = {"1/": page("/a", "/b"), "1/a": copy, "1/b": copy, "1/target": page(title="end")}
        result = crawl_web(site, "1/")
        assert marks(result, site)["1/b"] == ("1/a", None)
        assert [item["title"] for item in result.items if item["duplicate_of"]] == [None]
        assert sorted(site.places()) == ["1/", "1/a", "1/b", "1/target"]
    assert (result.stat("duplicates/exact"), result.stat("duplicates/pages")) == (1, 4)
    assert result.stat("duplicates/not_followed") == 1
    assert result.stat("frontier/links/found") == 3 + 1  # with the seed; of "/a" one, of its copy none


def test_equal_pages_in_other_places_lead_to_pages_of_their_own() -> None:
    """Relative links of a copy in another directory, or at the root of another server, are followed."""
    index = page("chapter.html", title="Manual")
    with scripted_site(2) as site:
        site.script = {
            "1/": page("/v1/index.html", "/v2/index.html", site.url("2/index.html"), title="start"),
            "1/v1/index.html": index,
            "1/v2/index.html": index,
            "2/index.html": index,
            "1/v1/chapter.html": page(title="first edition"),
            "1/v2/chapter.html": page(title="second edition"),
            "2/chapter.html": page(title="another manual"),
        }
        result = crawl_web(site, "1/")
        assert sorted(site.places()) == sorted(site.script)
    assert result.stat("duplicates/exact") == 2
    assert result.stat("duplicates/not_followed") == 0


def test_near_copies_are_marked_and_followed() -> None:
    """By default; ``none`` drops their links, too, and ``all`` keeps those of exact copies."""
    fetched = {}
    for follow in ("near", "none", "all"):
        with scripted_site() as site:
            site.script = {
                "1/": page("/a", "/b", "/c"),
                "1/a": article("/x"),
                "1/b": article("/y", changed=(300,)),
                "1/c": article("/x"),
                **{f"1/{name}": page(title=name) for name in "xy"},
            }
            result = crawl_web(site, "1/", DUPLICATES_FOLLOW=follow)
            found = marks(result, site)
            fetched[follow] = "1/y" in site.places()
        assert (found["1/b"], found["1/c"]) == ((None, "1/a"), ("1/a", None))
        assert (result.stat("duplicates/near"), result.stat("duplicates/exact")) == (1, 1)
        assert result.stat("duplicates/not_followed") == {"near": 1, "none": 2, "all": 0}[follow]
    assert fetched == {"near": True, "none": False, "all": True}


def test_other_spiders_links_are_dropped_too() -> None:
    """``Links`` of an exact copy, counted; the spider has its response as ever."""
    copy = page("/x", "/y", title="copied")
    with scripted_site() as site:
        names = {f"1/{name}": page(title=name) for name in "xy"}
        site.script = {"1/": page("/a", "/b"), "1/a": copy, "1/b": copy, **names}
        result = crawl_web(site, "1/", spider=LINKS)
        assert sorted(site.places()) == sorted(site.script)
    assert result.stat("duplicates/links_dropped") == 2
    assert len(result.items) == 5


def test_switched_off_nothing_is_looked_for() -> None:
    """No mark, no stat, no link dropped."""
    copy = page("/target")
    with scripted_site() as site:
        site.script = {"1/": page("/a", "/b"), "1/a": copy, "1/b": copy, "1/target": page()}
        result = crawl_web(site, "1/", DUPLICATES_EXACT=False, DUPLICATES_NEAR=False)
    assert set(marks(result, site).values()) == {(None, None)}
    assert not [name for name in result.stats if name.startswith("duplicates/")]


def test_a_page_fetched_again_is_no_copy_of_itself(tmp_path: Path) -> None:
    """Two runs with one JOBDIR: contents of the first are known in the second, also by the page that had them."""
    copy = page("/target")
    settings = {"JOBDIR": str(tmp_path), "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    with scripted_site() as site:
        site.script = {"1/a": copy, "1/b": copy, "1/target": page(title="end")}
        crawl_web(site, "1/a", **settings)
        again = crawl("tests.crawl.spiders.AgainSpider", settings={**IMPOLITE, **settings}, root=site.url("1"))
        found = {site.short(item["url"]): item["copy_of"] and site.short(item["copy_of"]) for item in again.items}
    assert found == {"1/a": None, "1/b": "1/a"}


def mirror_script(pages: int) -> dict[str, Answer]:
    """The same pages on any server, each with its text and links to all."""
    links = [f"/{number}" for number in range(pages)]
    return {
        f"/{number}": Answer(
            f"<title>{number}</title>{text(100, number)}{''.join(f'<a href={link}></a>' for link in links)}",
            headers={"Content-Type": "text/html"},
        )
        for number in range(pages)
    }


def test_a_mirror_is_reported_once_and_demoted(tmp_path: Path) -> None:
    """The server met later, by name in the log alone; its rank says so in ``scrapy frontier``."""
    with scripted_site(2) as site:
        site.script = mirror_script(40)
        crawl_web(site, "1/0", JOBDIR=str(tmp_path))
        result = crawl_web(site, "2/0", JOBDIR=str(tmp_path))
        assert len(site.places(2)) == 40  # the links of its first page are to all
        log = [line for line in result.log.splitlines() if "is a mirror of" in line]
        assert len(log) == 1
        assert f"{site.origins[1]} is a mirror of {site.origins[0]}" in log[0]
    assert result.stat("duplicates/mirrors") == 1
    assert result.stat("duplicates/exact") == 40
