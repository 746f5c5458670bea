"""``scrapy crawl keyword``: levels, what is found, what is saved, bad input."""

import csv
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from crawlproject.spiders import keyword as keyword_module
from crawlproject.spiders.keyword import INDEX, KeywordSpider, LevelLinks, file_name
from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.differential import Run, run_on
from tests.crawl.scripted_site import Answer, Script, redirect, scripted_site

SPIDER = "crawlproject.spiders.keyword.KeywordSpider"


def html(text: str, *links: str) -> Answer:
    anchors = "".join(f'<p><a href="{link}">x</a></p>' for link in links)
    return Answer(f"<html><body><p>{text}</p>{anchors}</body></html>", headers={"Content-Type": "text/html"})


def search(script: Script, keyword: str, **arguments: str) -> Run:
    with scripted_site(1) as site:
        site.script = script
        return run_on(site, SPIDER, settings=IMPOLITE, start=site.url("1/"), keyword=keyword, **arguments)


def test_a_level_ends_before_the_next_begins_whatever_the_server() -> None:
    """A slow server's page of level 2 comes before a fast one's of level 3."""
    script = {
        "1/fast": html("fast", "/next"),
        "2/slow": Answer("<p>slow</p>", headers={"Content-Type": "text/html"}, delay=1.0),
        "1/next": html("the needle"),
    }
    with scripted_site(2) as site:
        site.script = {**script, "1/": html("start", "/fast", site.url("2/slow"))}
        done = run_on(site, SPIDER, settings=IMPOLITE, start=site.url("1/"), keyword="needle")
    assert done.site.places()[0] == "1/"
    assert set(done.site.places()[1:3]) == {"1/fast", "2/slow"}
    assert done.site.places()[3:] == ["1/next"]
    asked = {one.place: one for one in done.site.asked}
    assert asked["1/next"].started >= asked["2/slow"].ended
    assert done.items() == [{"url": "1/next", "level": 3, "line": 1, "text": "the **needle**"}]
    assert done.reason == "keyword_found"


def test_five_levels_are_searched() -> None:
    """The start is level 1; links of level 5 are not followed; no page twice."""
    script = {f"1/{number or ''}": html("hay", "/", f"/{number + 1}") for number in range(8)}
    done = search(script, "needle")
    assert done.site.places() == ["1/", "1/1", "1/2", "1/3", "1/4"]
    assert done.reason == "keyword_not_found"
    assert done.stat("keyword/levels") == 5
    assert done.stat("keyword/pages") == 5
    assert done.items() == []
    assert search(script, "needle", levels="2").site.places() == ["1/", "1/1"]


def test_failing_and_redirected_pages_belong_to_their_level() -> None:
    """And cost no other page."""
    script = {
        "1/": html("hay", "/gone", "/moved", "/file"),
        "1/moved": redirect("/target"),
        "1/target": html("hay", "/last"),
        "1/file": Answer(b"\0needle", headers={"Content-Type": "image/png"}),
        "1/last": html("Straße"),
    }
    done = search(script, "STRASSE")
    assert done.site.places()[-1] == "1/last"
    assert done.items() == [{"url": "1/last", "level": 3, "line": 1, "text": "**Straße**"}]
    assert not done.has_errors()


def test_pages_are_saved_with_an_index(tmp_path: Path) -> None:
    """Under names that stay in the folder."""
    script = {
        "1/": html("hay", "/a/..%2f..%2fescape", "/b?c=../../d"),
        "1/a/..%2f..%2fescape": html("hay"),
        "1/b?c=../../d": html("hay"),
    }
    folder = tmp_path / "pages"
    done = search(script, "needle", output=str(folder))
    rows = list(csv.DictReader((folder / "index.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[0]["level"] == "1"
    assert len(rows) == done.stat("keyword/saved") == done.stat("keyword/pages") >= 2
    assert {path.name for path in folder.iterdir()} == {"index.csv", *(row["file"] for row in rows)}
    assert [path.name for path in tmp_path.iterdir()] == ["pages"]
    assert b"hay" in (folder / rows[0]["file"]).read_bytes()


class FullSoon(KeywordSpider):
    """The disk of its folder is full."""

    def _opened(self) -> None:
        super()._opened()
        assert self._output is not None
        (self._output / INDEX).symlink_to("/dev/full")


def test_a_full_disk_costs_one_line_and_the_search_goes_on(tmp_path: Path) -> None:
    """A stat counts the pages that are not saved."""
    script = {"1/": html("hay", "/1"), "1/1": html("hay", "/2"), "1/2": html("needle")}
    with scripted_site(1) as site:
        site.script = script
        arguments = {"start": site.url("1/"), "keyword": "needle", "output": str(tmp_path / "pages")}
        done = crawl(f"{__name__}.FullSoon", settings=IMPOLITE, **arguments)
    assert done.stats["finish_reason"] == "keyword_found"
    assert done.stat("keyword/pages") == done.stat("keyword/not_saved") == 3
    assert done.stat("keyword/saved") == 0
    assert done.log.count("no more pages are saved: No space left on device") == 1
    assert "Traceback" not in done.log


@pytest.fixture
def links() -> Iterator[LevelLinks]:
    made = LevelLinks(MemoryStatsCollector(Crawler(KeywordSpider)))
    yield made
    made.close()


def test_links_come_back_in_order_and_most_of_them_once(links: LevelLinks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword_module, "REMEMBERED", 10)
    urls = [f"http://a/{number}/\udc80" for number in range(100)]
    links.add([*urls[:50], *urls[45:50]])
    links.add(urls[50:])
    assert len(links) == 100
    assert [*links.take(30), *links.take(1_000)] == urls
    assert len(links) == 0
    assert links.take(1) == []


def test_links_beyond_the_limit_or_a_full_disk_are_counted(
    links: LevelLinks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The others can be read."""
    links.add(["http://a/0"])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        links.add(["http://a/1", "http://a/2"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    monkeypatch.setattr(keyword_module, "MAX_BYTES", 30)
    links.add(["http://a/3"])
    links.add(["http://a/4"])
    assert links.take(10) == ["http://a/0", "http://a/3"]
    assert links._stats.get_value("keyword/links_lost") == 3
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "url",
    ["http://a/../../x", "http://a/%00", "http://a/" + "x" * 5_000, "http://a/\n/../é", "http://a/c:\\d", "http://a/."],
)
def test_file_names_cannot_escape(url: str) -> None:
    """Letters, digits and ``._-``, of bounded length, beginning with the number."""
    name = file_name(7, url)
    assert name.startswith("00007-")
    assert len(name) < 100
    assert "/" not in name
    assert "\\" not in name
    assert name.isascii()
    assert name.isprintable()


def test_a_large_page_is_searched_off_the_event_loop() -> None:
    """5 MB of text, with the keyword at its end, over the border of two elements."""
    big = Answer("hay " * 1_200_000 + "<p>nee<i>dle</i></p>", headers={"Content-Type": "text/html"})
    done = search({"1/": html("hay", "/big"), "1/big": big}, "needle")
    assert [(item["url"], item["text"]) for item in done.items()] == [("1/big", "**needle**")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"start": "a b"}, "must be a URL"),
        ({"start": "http://"}, "start='http://'"),
        ({"keyword": ""}, "must not be empty"),
        ({"keyword": " \u200a "}, "must not be empty"),
        ({"keyword": "x" * 101}, "longer than 100 characters"),
        ({"keyword": "\udcff"}, "not valid Unicode"),
        ({"levels": "6"}, "from 1 to 5"),
        ({"output": "/dev/null"}, "output='/dev/null'"),
        ({"output": "."}, "must be a new or an empty folder"),
        ({"seeds": "http://b.example/"}, "unknown argument of the spider keyword; known arguments: start, keyword, "),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, str], reason: str) -> None:
    """With one line."""
    with pytest.raises(ValueError, match=reason):
        KeywordSpider(**{"start": "http://a.example/", "keyword": "x", **arguments})
