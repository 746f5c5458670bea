"""Old pages are fetched again with their validators; judged by the servers' log."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages
from tests.crawl.crawling import IMPOLITE, Crawl, crawl, crawling
from tests.crawl.scripted_site import Answer, Asked, Site, page, redirect, scripted_site

WEB = "crawlproject.spiders.web.WebSpider"
SPIDERS = "tests.crawl.recrawl_spiders"
OLD = "Tue, 03 Jan 2023 10:00:00 GMT"


def settings_for(folder: Path, **more: object) -> dict[str, object]:
    return {"LOG_LEVEL": "INFO", **IMPOLITE, "JOBDIR": str(folder / "job"), "ROBOTSTXT_OBEY": False, **more}


def tagged(version: str, *links: str) -> Callable[[Asked], Answer]:
    """A page that answers 304 to the ETag of its version."""
    return validated("ETag", f'"{version}"', "if-none-match", links)


def dated(date: str, *links: str) -> Callable[[Asked], Answer]:
    return validated("Last-Modified", date, "if-modified-since", links)


def validated(name: str, value: str, condition: str, links: tuple[str, ...]) -> Callable[[Asked], Answer]:
    whole = page(*links)

    def answer(asked: Asked) -> Answer:
        if asked.headers.get(condition) == value:
            return Answer(status=304, headers={name: value})
        return Answer(whole.body, headers={**whole.headers, name: value})

    return answer


def web() -> dict[str, Any]:
    return {
        "1/": tagged("home", "/dated", "/plain", "/gone", "/fails"),
        "1/dated": dated(OLD),
        "1/plain": page(),
        "1/gone": tagged("gone"),
        "1/fails": tagged("fails"),
    }


def run(site: Site, folder: Path, spider: str = WEB, settings: dict[str, Any] | None = None, **arguments: str) -> Crawl:
    """One crawl; the log of earlier requests is cleared first."""
    site.asked.clear()
    seeds = {"seeds": site.url("1/")} if spider == WEB else {"site": site.url("1/")}
    result = crawl(spider, settings=settings_for(folder, **(settings or {})), **seeds, **arguments)
    assert "Traceback" not in result.log, result.log[-4000:]
    return result


def counts(result: Crawl) -> dict[str, int]:
    return {name[8:]: count for name, count in result.stats.items() if name.startswith("recrawl/")}


def test_unchanged_page_costs_a_304(tmp_path: Path) -> None:
    """Each page is requested once, with its validators, and yields no item; without `recrawl` none is requested."""
    with scripted_site() as site:
        site.script = web()
        first = run(site, tmp_path)
        assert sorted(site.places()) == sorted(web())
        assert not any("if-none-match" in asked.headers for asked in site.asked)
        assert run(site, tmp_path).items == []
        assert site.asked == []
        for _ in range(2):
            again = run(site, tmp_path, recrawl="0")
            assert sorted(site.places()) == sorted(web())
            conditions = {
                asked.path: (asked.headers.get("if-none-match"), asked.headers.get("if-modified-since"))
                for asked in site.asked
            }
            assert conditions == {
                "/": ('"home"', None),
                "/dated": (None, OLD),
                "/plain": (None, None),
                "/gone": ('"gone"', None),
                "/fails": ('"fails"', None),
            }
            assert counts(again) == {"queued": 5, "unchanged": 4, "changed": 1}
            assert again.urls() == [site.url("1/plain")]
    assert len(first.items) == 5


def test_changed_page_is_fetched_and_its_new_links_followed(tmp_path: Path) -> None:
    """Records of pages that are gone are deleted, of failed pages kept; the next recrawl sends the new validators."""
    with scripted_site() as site:
        site.script = web()
        run(site, tmp_path)
        site.script = web() | {
            "1/": tagged("home 2", "/dated", "/plain", "/new"),
            "1/new": tagged("new"),
            "1/gone": Answer(status=410),
            "1/fails": Answer(status=500),
        }
        again = run(site, tmp_path, settings={"FRONTIER_MIN_BACKOFF": 0.01, "RETRY_TIMES": 1}, recrawl="0s")
        assert again.urls() == sorted(site.url(place) for place in ("1/", "1/plain", "1/new"))
        assert counts(again) == {"queued": 5, "unchanged": 1, "changed": 2, "gone": 1, "failed": 1}
        tries = [asked.headers.get("if-none-match") for asked in site.asked if asked.path == "/fails"]
        assert tries == ['"fails"', '"fails"']

        site.script |= {"1/fails": tagged("fails")}
        third = run(site, tmp_path, recrawl="0s")
        assert counts(third) == {"queued": 5, "unchanged": 4, "changed": 1}
        assert sorted(site.places()) == ["1/", "1/dated", "1/fails", "1/new", "1/plain"]


def test_only_old_pages_are_fetched_again(tmp_path: Path) -> None:
    """A page fetched a moment ago is not, by argument or by setting."""
    with scripted_site() as site:
        site.script = web()
        run(site, tmp_path)
        assert counts(run(site, tmp_path, recrawl="1h")) == {"queued": 0}
        assert counts(run(site, tmp_path, settings={"FRONTIER_RECRAWL_AGE": "7d"})) == {"queued": 0}
        assert site.asked == []


def test_redirects_are_followed_again(tmp_path: Path) -> None:
    """The current target is fetched; the validators of one page are not sent to another."""
    with scripted_site(servers=2) as site:
        script: dict[str, Any] = {
            "1/": tagged("home", "/moves", "/stays", "/slash"),
            "1/moves": redirect("/one"),
            "1/stays": redirect(site.url("2/there")),
            "1/slash": redirect("/slash?utm_source=x"),
            "1/slash?utm_source=x": tagged("slash"),
            "1/one": tagged("one"),
            "2/there": tagged("there"),
        }
        site.script = script
        run(site, tmp_path)
        assert sorted(site.places()) == sorted(script)
        site.script = script | {"1/moves": redirect("/two"), "1/two": tagged("two"), "1/one": redirect("/two")}
        again = run(site, tmp_path, recrawl="0")
        assert sorted(site.places()) == sorted(site.script)
        assert again.urls() == sorted(site.url(place) for place in ("1/two", "1/slash?utm_source=x"))
        assert counts(again) == {"queued": 6, "unchanged": 2, "redirected": 4}
        sent = {asked.place: asked.headers.get("if-none-match") for asked in site.asked}
        assert {place: tag for place, tag in sent.items() if tag} == {
            "1/": '"home"',
            "1/one": '"one"',
            "2/there": '"there"',
        }


def test_requests_of_ordinary_spiders_are_repeated_unchanged(tmp_path: Path) -> None:
    """With callback, arguments and headers; POST, `dont_filter` and a 304 that it handles are left to the spider."""
    script: dict[str, Any] = {"1/": page("/one", "/two"), "1/one": tagged("one"), "1/two": page(), "1/form": page()}
    with scripted_site() as site:
        site.script = script
        first = run(site, tmp_path, f"{SPIDERS}.OrdinarySpider")
        assert sorted(site.places()) == ["1/", "1/form", "1/one", "1/two"]
        again = run(site, tmp_path, f"{SPIDERS}.OrdinarySpider", recrawl="0", handles="304")
        assert sorted(site.places()) == ["1/", "1/one", "1/two"]  # the start request is sent in each run
        assert {asked.path: asked.headers.get("x-number") for asked in site.asked} == {
            "/": None,
            "/one": "0",
            "/two": "1",
        }
    seen = {(item["url"], item["number"], item["tag"], item["status"]) for item in again.items}
    expected = {(item["url"], item["number"], item["tag"], 200) for item in first.items if item["url"].endswith("two")}
    expected.add((site.url("1/one"), 0, "t", 304))
    assert seen == expected
    assert counts(again) == {"queued": 2, "unchanged": 1, "changed": 1}


def test_page_whose_callback_failed_is_fetched_unconditionally(tmp_path: Path) -> None:
    """Otherwise a 304 would hide it forever."""
    with scripted_site() as site:
        site.script = {"1/": tagged("home")}
        crawl(f"{SPIDERS}.FailingSpider", settings=settings_for(tmp_path), seeds=site.url("1/"), fail="1")
        again = crawl(f"{SPIDERS}.FailingSpider", settings=settings_for(tmp_path), seeds=site.url("1/"), recrawl="0")
        assert [asked.headers.get("if-none-match") for asked in site.asked] == [None, None]
    assert len(again.items) == 1


def make_old(folder: Path, seconds: int) -> None:
    with DiskStore(folder / "job" / "frontier", StoreLabel("web", "quality")) as store:
        pages = DiskFetchedPages(store)
        for server, path, fetched in pages.stored():
            pages.put(server, path, fetched._replace(fetched=fetched.fetched - seconds))
        store.commit()


def test_killed_recrawl_continues(tmp_path: Path) -> None:
    """Unfinished pages are still queued, once; finished ones are not requested again."""
    paths = [f"/{number}" for number in range(60)]
    most = math.inf  # requests, until the crawl is killed

    def slow(answer: Callable[[Asked], Answer]) -> Callable[[Asked], Answer]:
        """An answer that takes 20 ms."""

        def answered(asked: Asked) -> Answer:
            while len(site.asked) > most and not site.stopping.is_set():
                site.came.wait(0.02)
            return replace(answer(asked), delay=0.02)

        return answered

    script: dict[str, Any] = {"1/": tagged("home", *paths), **{f"1{path}": slow(tagged(path)) for path in paths}}
    settings = settings_for(tmp_path, FRONTIER_COMMIT_INTERVAL=0.05)
    runs = []
    with scripted_site() as site:
        site.script = script
        arguments = {"seeds": site.url("1/"), "recrawl": "1d"}
        assert len(run(site, tmp_path).items) == 61
        make_old(tmp_path, 86_400)
        site.asked.clear()
        for asked in (30, 45):
            most = asked + 10
            with crawling(WEB, tmp_path, settings=settings, **arguments) as process:
                site.wait_for(asked)
                process.kill()
                process.wait()
            runs.append(site.places()[sum(map(len, runs)) :])
        most = math.inf
        last = crawl(WEB, settings=settings, **arguments)
        assert set(site.places()) == set(script)
        assert all(one.headers.get("if-none-match") for one in site.asked)
    assert last.stat("frontier/resumed") > 0
    assert last.stat("recrawl/queued") == 0
    runs.append(site.places()[sum(map(len, runs)) :])
    for number, run_before in enumerate(runs[:-1], 1):
        again = [any(place in after for after in runs[number:]) for place in run_before]
        assert again == sorted(again), "only the last ones before a kill, which were not committed, are asked for again"
        assert not all(again)


def test_unchanged_pages_are_not_taken_for_a_trap(tmp_path: Path) -> None:
    """The guard remembers the pages of the first run; in the second, the last of them has a new link."""
    names = [f"word{chr(97 + number)}" for number in range(26)]

    def story(number: int, *links: str) -> Answer:
        anchors = "".join(f'<a href="{link}">next</a>' for link in links)
        text = f"<title>t</title><p>{names[number]} and {names[(number * 7) % 26]}</p>{anchors}"
        return Answer(text, headers={"Content-Type": "text/html"})

    with scripted_site() as site:
        site.script = {"1/": page("/p/1")}
        site.script |= {f"1/p/{number}": story(number, f"/p/{number + 1}") for number in range(1, 15)}
        site.script |= {"1/p/15": story(14), "1/p/16": Answer(status=404)}  # the text of the page before the last
        assert len(run(site, tmp_path).items) == 16
        site.script |= {f"1/p/{number}": story(number, f"/p/{number + 1}") for number in range(16, 22)}
        site.script |= {"1/p/15": story(14, "/p/16"), "1/p/22": story(22)}
        again = run(site, tmp_path, recrawl="0s")
    assert again.stat("guard/patterns") == 0
    assert again.urls() == sorted(site.url(place) for place in ("1/", *(f"1/p/{number}" for number in range(1, 23))))
