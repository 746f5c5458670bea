"""Ordinary spiders run unchanged: the same pages and items as under Scrapy's own scheduler."""

from collections import Counter

import pytest

from tests.crawl.crawling import NO_HEARTBEAT, PROMPT
from tests.crawl.differential import QUICK, Run, both, run
from tests.crawl.scripted_site import Answer, Asked, Script, Site, page, redirect
from tests.waiting import PATIENCE

HTML = {"Content-Type": "text/html"}
FINE = page(title="fine")


def echo(asked: Asked) -> Answer:
    return Answer(f"{asked.body} {asked.headers.get('cookie', '')}", headers={"Content-Type": "text/plain"})


def from_where(asked: Asked) -> Answer:
    return Answer(asked.client, headers={"Content-Type": "text/plain"})


def refresh(place: str) -> Answer:
    return Answer(f'<meta http-equiv="refresh" content="0;url={place}">', headers=HTML)


def everyday(site: Site) -> Script:
    """The servers of ``EverydaySpider``."""
    form = '<form method="post" action="/enter"><input name="user"><input name="token" value="t1"></form>'
    error = Answer(status=500)
    return {
        "1/twice": [error, error, FINE],
        "1/never": error,
        "1/slow": Answer(delay=1.0),
        "2/moved": redirect(site.url("3/target"), 301),
        "2/found": redirect("/here"),
        "2/refresh": refresh(site.url("3/refreshed")),
        "2/wait": [refresh("/wait"), FINE],
        "2/itself": [redirect("/itself"), FINE],
        "2/sent": lambda asked: refresh("/sent") if asked.method == "POST" else FINE,
        "2/posted": lambda asked: redirect("/posted", 303) if asked.method == "POST" else FINE,
        "2/please-wait": [refresh("/please-wait"), FINE],
        "2/cookie-wall": [
            Answer(status=302, headers={"Location": "/cookie-wall", "Set-Cookie": "a=1; Path=/cookie-wall"}),
            FINE,
        ],
        "2/login-wall": [
            Answer(status=302, headers={"Location": "/login-wall", "Set-Cookie": "b=1; Path=/login-wall"}),
            redirect(site.url("3/seen")),
        ],
        **{f"1/always-waits{number}": refresh(f"/always-waits{number}") for number in range(5)},
        "2/moved/part": redirect("/here/part"),
        "2/here/part": FINE,
        "3/part": FINE,
        "2/back": redirect(site.url("3/seen")),
        "2/spelling": redirect("/spelling?utm_source=x"),
        "2/loop": redirect("/loop"),
        "2/kept": redirect("/never-asked-for"),
        "4/login": Answer(form, headers={**HTML, "Set-Cookie": "id=7; Path=/"}),
        **dict.fromkeys(("5/bound", "5/bound/port", "5/unbound"), from_where),
        **dict.fromkeys(("4/enter", "4/private", "9/own", "5/search", "5/empty"), echo),
        **dict.fromkeys(("2/spelling?utm_source=x", "9/wall;jsessionid=1F2E3D", "2/here", "3/target"), FINE),
        **dict.fromkeys(("3/refreshed", "3/seen", "3/copied", "5/head"), FINE),
        **{f"6/{name}": FINE for name in ("again", "silent", "async", "async/list", "async/next", "raises")},
        "7/reset": [Answer(reset=True), FINE],
        "8/dead": Answer(reset=True),
        "9/wall": redirect(site.url("3/login")),
        "3/login": redirect(site.url("9/wall;jsessionid=1F2E3D")),
    }


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    """``EverydaySpider`` with and without the add-on."""
    return both("EverydaySpider", everyday, servers=9, settings={**QUICK, "COOKIES_ENABLED": True})


@pytest.mark.parametrize(
    ("case", "count"),
    [
        ("retry", 4),
        ("slow", 1),
        ("redirect", 5),
        ("wait", 4),
        ("fragment", 2),
        ("bound", 2),
        ("unbound", 1),
        ("wall", 1),
        ("kept", 1),
        ("login", 1),
        ("cookie", 1),
        ("form", 2),
        ("empty post", 1),
        ("head", 1),
        ("again", 2),
        ("missing", 1),
        ("gone", 1),
        ("silent", 0),
        ("async", 3),
        ("raises", 1),
        ("local", 3),
        ("copied meta", 1),
        ("own meta", 1),
        ("refused", 1),
        ("unsupported", 1),
        ("no host", 1),
    ],
)
def test_items_are_the_same(runs: tuple[Run, Run], case: str, count: int) -> None:
    """The items of each case, including those of failures, are those under Scrapy's own scheduler."""
    ours, stock = runs
    assert ours.items(case) == stock.items(case)
    assert len(ours.items(case)) == count


#: Pages that redirect to themselves, which plain Scrapy requests once and loses -> number of requests.
WAITING = {
    "2/please-wait": 2,
    "2/cookie-wall": 2,
    "2/login-wall": 2,
    **{f"1/always-waits{number}": 3 for number in range(5)},
}


def test_pages_that_redirect_to_themselves_are_kept(runs: tuple[Run, Run]) -> None:
    """They are requested once more, and kept if nothing changes; after some failures a server's are kept at once.

    Their final targets are not duplicates.
    """
    ours, stock = runs
    assert {place: ours.asked()[place] for place in WAITING} == WAITING
    fine = {item["url"]: "fine" in item["text"] for item in ours.items("please wait")}
    assert fine.pop("2/please-wait")
    assert fine.pop("2/cookie-wall")
    assert fine == dict.fromkeys((f"1/always-waits{number}" for number in range(5)), False)
    assert stock.items("please wait") == []


@pytest.mark.parametrize("server", range(1, 10))
def test_pages_are_the_same(runs: tuple[Run, Run], server: int) -> None:
    """Every server gets requests for the same pages, equally often."""
    ours, stock = runs
    assert ours.asked(server) == stock.asked(server) + Counter(
        {place: times - 1 for place, times in WAITING.items() if place.startswith(str(server))}
    )


def headers(run: Run) -> dict[tuple[str, str, str], dict[str, str]]:
    """The headers of the request for each page, except those that name the server or the connection."""
    seen = {}
    for one in run.site.asked:
        values = {name: run.site.short(value) for name, value in one.headers.items()}
        kept = {name: value for name, value in values.items() if name not in ("host", "connection")}
        seen[one.place, one.method, one.body] = kept
    return seen


def test_headers_are_the_same(runs: tuple[Run, Run]) -> None:
    """Servers see the same headers for pages, forms and redirects."""
    ours, stock = map(headers, runs)
    common = {key for key in ours.keys() & stock.keys() if key[0] not in WAITING}
    assert len(common) > 30
    assert {key: ours[key] for key in common} == {key: stock[key] for key in common}


def test_failures_are_logged_as_by_scrapy(runs: tuple[Run, Run]) -> None:
    """As many errors, no traceback except the spider's own, and the crawl finishes."""
    ours, stock = runs
    assert ours.reason == stock.reason == "finished"
    assert ours.stat("log_count/ERROR") == stock.stat("log_count/ERROR")
    assert ours.crawl.log.count("Traceback") == stock.crawl.log.count("Traceback") == 1


def shop(site: Site) -> Script:
    """Two servers with lists, items and links that must not be followed."""
    return {
        "1/": page("/list?page=1", "/about", site.url("2/list/new")),
        "1/list?page=1": page("/list?page=2", "/item/1", "/item/2", "/list/secret"),
        "1/list?page=2": page("/list?page=1", "/item/2", "/item/3", site.url("2/item/1"), "/item/broken"),
        "2/": page("/list/new"),
        "2/list/new": page("/item/1", "/item/4"),
        **{f"{place}/item/{number}": page("/", title=f"{number}") for place in (1, 2) for number in range(1, 5)},
        "1/item/broken": Answer(status=410),
    }


def test_crawl_spider_runs_unchanged() -> None:
    """Rules, followed lists, keyword arguments and errbacks of a CrawlSpider."""
    ours, stock = both("RulesSpider", shop, servers=2)
    assert ours.items() == stock.items()
    assert ours.asked() == stock.asked()
    assert len(ours.items("item")) == 5
    assert len(ours.items("failed")) == 1


def three_servers(site: Site) -> Script:
    """30 pages."""
    return {f"{number % 3 + 1}/{number}": page(title=f"{number}") for number in range(30)}


@pytest.mark.parametrize(("spider", "settings"), [("LazySpider", {}), ("PatientSpider", {"CONCURRENT_REQUESTS": 2})])
def test_start_may_yield_requests_one_by_one(spider: str, settings: dict[str, int]) -> None:
    """An asynchronous ``start`` may wait between its 30 requests, or until the queue is short, and may yield items."""
    ours, stock = both(spider, three_servers, servers=3, settings=settings)
    assert ours.items() == stock.items()
    assert len(ours.items()) == 33
    assert ours.asked() == stock.asked()


@pytest.mark.parametrize("settings", [{}, {"CONCURRENT_REQUESTS": 1}])
def test_who_is_told_that_nothing_is_queued_loses_no_page(settings: dict[str, int]) -> None:
    """Each page is the only one in progress, and leads to the next one."""
    script = {"1/": page("/a"), "1/a": page("/b"), "1/b": page("/c"), "1/c": FINE}
    ours, stock = both("ToldSpider", lambda _: script, settings=settings)
    assert ours.items() == stock.items()
    assert len(ours.items()) == 4
    assert ours.asked() == stock.asked()


def fenced(site: Site) -> Script:
    """Pages too deep, elsewhere, or forbidden by robots.txt."""
    return {
        "1/robots.txt": Answer("User-agent: *\nDisallow: /private\nDisallow: /old\n"),
        "1/": page("/a", "/private", site.url("2/elsewhere"), "/moved"),
        "1/a": page("/b", "/private/2"),
        "1/b": page("/too-deep"),
        "1/moved": redirect("/old"),
        "1/private": FINE,
        "1/too-deep": FINE,
    }


def test_depth_offsite_and_robots_limits_hold() -> None:
    """DEPTH_LIMIT, ``allowed_domains`` and robots.txt exclude the same pages, and the crawl finishes."""
    settings = {**NO_HEARTBEAT, "DEPTH_LIMIT": 2, "ROBOTSTXT_OBEY": True}
    ours, stock = both("FencedSpider", fenced, servers=2, settings=settings)
    assert ours.items() == stock.items()
    assert sorted(ours.site.places()) == sorted(stock.site.places()) == ["1/", "1/a", "1/b", "1/moved"]
    for name in ("robotstxt/forbidden", "offsite/filtered", "robotstxt/request_count"):
        assert ours.stat(name) == stock.stat(name) > 0
    assert ours.stat("elapsed_time_seconds") < PROMPT


def spellings(site: Site) -> Script:
    """One page, however spelled, and another."""
    others = ("1/%7Eme?a=1", "1/./~me?a=1&utm_source=x", "1/x/../~me?a=1", "1/other")
    return dict.fromkeys(("1/~me?a=1", *others), FINE)


def test_other_dupefilter_is_used() -> None:
    """With Scrapy's BaseDupeFilter nothing is a duplicate, as in plain Scrapy."""
    settings = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    ours, stock = both("SpellingsSpider", spellings, settings=settings)
    assert ours.asked() == stock.asked()
    assert len(ours.items()) == len(stock.items()) == 6
    assert ours.stat("seen/urls") == 0  # links have their own seen-set, empty here
    assert "seen/store_lookups" in ours.crawl.stats


def test_spellings_of_one_page_are_fetched_once() -> None:
    """Escapes, dots, tracking parameters and fragments do not make another page; the first spelling is requested."""
    ours = run("SpellingsSpider", spellings)
    assert ours.site.places() == ["1/~me?a=1", "1/other"]
    assert ours.stat("dupefilter/filtered") == 4


def test_other_scheduler_works_with_the_rest_of_the_addon() -> None:
    """The project may choose Scrapy's own scheduler."""
    script = {"1/": page("/a"), "1/a": page("/b"), "1/b": FINE}
    ours = run("StartUrlsSpider", script, settings={"SCHEDULER": "scrapy.core.scheduler.Scheduler"})
    assert ours.site.places() == ["1/", "1/a", "1/b"]
    assert not ours.has_errors()


def test_addon_works_with_default_settings() -> None:
    """With default politeness every page is fetched, a server rests between two sessions, the crawl ends promptly."""

    def script(site: Site) -> Script:
        def after_the_session(_: Asked) -> Answer:
            site.came.wait_for(lambda: {"1/b", "1/c"} <= {*site.places()}, PATIENCE)
            return Answer(page(site.url("1/late")).body, headers=HTML, delay=0.4)

        pages = {"1/": page("/a", "/b"), "1/a": page("/c"), "2/": after_the_session}
        return {**pages, **dict.fromkeys(("1/b", "1/c", "1/late"), FINE)}

    ours = run("StartUrlsSpider", script, servers=2, settings=NO_HEARTBEAT, start="1/,2/")
    assert sorted(ours.site.places()) == ["1/", "1/a", "1/b", "1/c", "1/late", "2/"]
    before, late = ours.site.of(1)[-2:]
    # on a very busy machine the first session may still be open
    assert late.connection == before.connection or ours.site.gaps(1)[-1] >= 0.5
    assert ours.reason == "finished"
    assert not ours.has_errors()
    assert ours.stat("elapsed_time_seconds") < PROMPT


def test_a_page_that_more_pages_link_to_comes_first() -> None:
    """Each request of a callback counts as a link, also if its URL is known."""
    script: Script = {
        "1/": page("/a", "/b", "/once", "/twice"),
        "1/a": page("/later", "/twice"),
        **dict.fromkeys(("1/b", "1/once", "1/twice", "1/later"), page()),
    }
    crawled = run("StartUrlsSpider", script, settings=QUICK)
    places = crawled.site.places()
    assert places.index("1/twice") < places.index("1/once")
