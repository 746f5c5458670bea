"""The spider ``site``, page objects, and records in databases: whole crawls."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from testbed.postgres_server import NO_SERVER, RunningPostgres, find_postgres
from tests.crawl.crawling import crawl
from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Script, Site, page, scripted_site

SITE = "crawlproject.spiders.site.SiteSpider"
WEB = "crawlproject.spiders.web.WebSpider"

RULES = """
seeds = ["{origin}/list"]
[follow]
allow = ["/list", "/only-next"]
deny = ["/book/secret"]
[pagination]
css = "a.next"
[records.book]
pages = ["/book/"]
key = "isbn"
[records.book.fields]
isbn = {{ css = ".isbn" }}
title = {{ css = "h1", required = true }}
price = {{ css = ".price", type = "number", locale = "{locale}" }}
"""


def html(body: str) -> Answer:
    return Answer(f"<html><body>{body}</body></html>", headers={"Content-Type": "text/html"})


def book(isbn: str, price: str, *links: str, title: str = "A book") -> Answer:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return html(f"<h1>{title}</h1><p class=isbn>{isbn}</p><p class=price>{price}</p>{anchors}")


@contextmanager
def shops(tmp_path: Path, script: Script, servers: int = 2) -> Iterator[tuple[Site, str]]:
    """Servers with a rule file each; the folder of the files."""
    with scripted_site(servers) as site:
        site.script = script
        for number, (origin, locale) in enumerate(zip(site.origins, ("en", "de"), strict=False), 1):
            (tmp_path / f"shop{number}.toml").write_text(RULES.format(origin=origin, locale=locale), encoding="utf-8")
        yield site, str(tmp_path)


#: Seconds that the end of a crawl waits for the database.
PATIENCE = "crawlproject.options.records.RecordOptions.patience"


def crawled(site: Site, rules: str, **settings: Any) -> Run:
    return run_on(site, SITE, settings={**QUICK, **settings}, rules=rules)


TWO_SHOPS: Script = {
    "1/list": html('<a href="/book/1">x</a><a href="/about">x</a><a href="/book/secret">x</a><a class=next href=p2>'),
    "1/p2": html('<a href="/book/2">x</a>'),
    "1/book/1": book("11", "1,234.50", "/about", "/book/2"),
    "1/book/2": book("12", "2"),
    "2/list": page("/book/1", "/book/2"),
    "2/book/1": book("11", "1.234,50"),
    "2/book/2": book("", "3", title=""),
}  # fmt: skip


def test_many_sites_are_one_crawl(tmp_path: Path) -> None:
    """Each page by the rules of its domain: links, pagination, records; incomplete ones are counted."""
    with shops(tmp_path, TWO_SHOPS) as (site, rules):
        ours = crawled(site, rules)
    assert sorted(ours.site.places()) == sorted(
        ["1/list", "1/p2", "1/book/1", "1/book/2", "2/list", "2/book/1", "2/book/2"]
    )
    assert ours.items() == [
        {"record": "book", "url": "1/book/1", "isbn": "11", "title": "A book", "price": 1234.5},
        {"record": "book", "url": "1/book/2", "isbn": "12", "title": "A book", "price": 2},
        {"record": "book", "url": "2/book/1", "isbn": "11", "title": "A book", "price": 1234.5},
    ]
    assert ours.stat("records/found") == 3
    assert ours.stat("records/incomplete") == 1
    assert ours.crawl.log.count("book.title: missing") == 1
    assert not ours.has_errors()


def test_records_without_key_and_selectors_that_raise(tmp_path: Path) -> None:
    """One stat and one line each, however many pages; the records are kept."""
    script = {"1/list": page(*(f"/book/{number}" for number in range(9)))}
    script |= {f"1/book/{number}": book("", "1") for number in range(9)}
    with shops(tmp_path, script, 1) as (site, rules):
        file = tmp_path / "shop1.toml"
        file.write_text(f"{file.read_text()}bad = {{ xpath = '//h1[nope()]' }}\n")
        ours = crawled(site, rules, FRONTIER_RECORDS_DB=f"sqlite:///{tmp_path}/r.db")
    assert ours.stat("records/selector_errors") == 9
    assert ours.stat("records/without_key") == 9
    assert ours.crawl.log.count("nope()") == 1
    assert ours.crawl.log.count("a record has no key") == 1
    assert "Traceback" not in ours.crawl.log
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
        assert connection.execute("SELECT count(*), count(DISTINCT record_key) FROM book").fetchall() == [(9, 9)]


def test_spidermon_names_fields_that_are_no_longer_found(tmp_path: Path) -> None:
    """By the settings that docs/spiders.md shows: of each site and kind of record."""
    pytest.importorskip("spidermon")
    chosen: dict[str, Any] = {}
    exec(documented("SPIDERMON_ENABLED"), chosen)
    settings = {name: value for name, value in chosen.items() if name.isupper()}
    assert settings["SPIDERMON_FIELD_COVERAGE_RULES"] == {"shop_book/price": 0.9, "shop_book/title": 1.0}
    settings["SPIDERMON_SPIDER_CLOSE_MONITORS"] = [f"{__name__}.RecordMonitors"]
    settings["SPIDERMON_FIELD_COVERAGE_RULES"] = {"shop1_book/price": 0.9, "shop2_book/price": 0.9}
    script: Script = {f"{shop}/list": page("/book/1", "/book/2") for shop in (1, 2)}
    script |= {f"{shop}/book/{number}": book(str(number), "1") for shop in (1, 2) for number in (1, 2)}
    script["2/book/2"] = html("<h1>B</h1><p class=isbn>2</p>")
    with shops(tmp_path, script) as (site, rules):
        ours = crawled(site, rules, **settings)
    assert ours.stat("spidermon_field_coverage/shop1_book/price") == 1
    assert "shop2_book/price (expected 0.9, got 0.5" in ours.crawl.log
    assert "shop1_book/price (expected" not in ours.crawl.log


def documented(name: str) -> str:
    """The Python in docs/spiders.md that has ``name``."""
    text = (Path(__file__).parents[2] / "docs" / "spiders.md").read_text(encoding="utf-8")
    return next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if name in block)


def __getattr__(name: str) -> Any:
    if name != "RecordMonitors":
        raise AttributeError(name)
    module: dict[str, Any] = {}
    exec(documented("MonitorSuite"), module)
    return module[name]


def test_wrong_rules_end_the_start(tmp_path: Path) -> None:
    """In one line with the file and the key; without rules, too."""
    (tmp_path / "x.toml").write_text('seeds = ["http://127.4.0.1/"]\n[records.a.fields]\nb = { cs = "h1" }\n')
    for rules, told in ((f"{tmp_path}/x.toml", "x.toml: records.a.fields.b.cs: unknown key"), ("", "rules=''")):
        ended = crawl(SITE, settings=QUICK, rules=rules)
        assert ended.exit_code == 1
        assert f"Cannot start: {tmp_path}/{told}" in ended.log if rules else f"Cannot start: {told}" in ended.log


@pytest.mark.parametrize("spider", [WEB, SITE])
def test_page_objects_of_two_domains(spider: str, tmp_path: Path) -> None:
    """In one crawl, beside what the spider yields, but for records; one that raises costs one stat and one line."""
    script: Script = {
        "1/list": html('<h1>no</h1><a href="/book/1">x</a><a href="/book/shelf">x</a>'),
        "1/book/1": html("<h1>First</h1>"),
        "1/book/shelf": html("<h1>x</h1>"),
        "2/list": html(
            '<h2>Second</h2><a href="/book/broken">x</a><a href="/book/broken2">x</a><a href="/book/cancelled">x</a>'
        ),
        "2/book/cancelled": html("<h1>x</h1>"),
        "2/book/broken": html("<h1>x</h1>"),
        "2/book/broken2": html("<h1>x</h1>"),
    }
    settings = {**QUICK, "FRONTIER_RECORDS_PAGES": "tests.crawl.page_objects"}
    with shops(tmp_path, script) as (site, rules):
        seeds = ",".join(f"{origin}/list" for origin in site.origins)
        arguments = {"rules": rules} if spider == SITE else {"seeds": seeds}
        ours = run_on(site, spider, settings=settings, **arguments)
    books = sorted((item["url"], item["title"]) for item in ours.items() if set(item) == {"url", "title"})
    assert books == [("1/book/1", "First"), ("2/list", "Second")]
    assert ours.stat("records/page_objects") == 2
    assert ours.stat("records/page_objects/errors") == 4
    assert ours.crawl.log.count("SecondShop raised LookupError: no book here") == 1
    assert ours.crawl.log.count("Shelf raised TypeError: to_item() returned a list, not an item") == 1
    assert "Traceback" not in ours.crawl.log
    assert len(ours.items()) == 2 + (7 if spider == WEB else 4)


def test_records_in_sqlite_across_crawls(tmp_path: Path) -> None:
    """Updated by site and key."""
    script = {"1/list": page(*(f"/book/{number}" for number in range(20)))}
    new = {f"1/book/{number}": book(str(number), str(number)) for number in range(20)}
    changed = new | {f"1/book/{number}": html(f"<h1>B</h1><p class=isbn>{number}</p>") for number in range(20)}
    database = f"sqlite:///{tmp_path}/r.db"
    with shops(tmp_path, script | new, 1) as (site, rules):
        first = crawled(site, rules, FRONTIER_RECORDS_DB=database)
        again = crawled(site, rules, FRONTIER_RECORDS_DB=database)
        site.script = script | changed
        last = crawled(site, rules, FRONTIER_RECORDS_DB=database)
    for ours in (first, again, last):
        assert ours.stat("records/db/written") == 20
    assert "shop1: book: found on none of 20 pages: price\n" in last.crawl.log
    with closing(sqlite3.connect(tmp_path / "r.db")) as connection, connection:
        ask = connection.execute
        assert ask("SELECT count(*), count(price) FROM book").fetchall() == [(20, 0)]
        assert ask("SELECT count(*) FROM book WHERE first_seen < changed AND changed = last_seen").fetchall() == [(20,)]
    assert [path.name for path in tmp_path.glob("*.pending*")] == []


def test_postgresql_that_is_away_loses_nothing(tmp_path: Path) -> None:
    """The crawl ends with its records in a file; the next one writes them."""
    if find_postgres() is None:
        pytest.skip(NO_SERVER)
    script = {"1/list": page(*(f"/book/{number}" for number in range(9)))}
    script |= {f"1/book/{number}": book(str(number), "1") for number in range(9)}
    settings = {"TEST_CONSTANTS": {PATIENCE: 0.0}, "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/pending"}
    with RunningPostgres() as server, shops(tmp_path, script, 1) as (site, rules):
        server.stop()
        away = crawled(site, rules, FRONTIER_RECORDS_DB=server.url, **settings)
        assert away.stat("records/db/away") == 1
        assert "9 records are not in the database: the next crawl writes them" in away.crawl.log
        assert len((tmp_path / "pending").read_text().splitlines()) == 9
        server.start()
        site.script = {"1/list": page()}
        back = crawled(site, rules, FRONTIER_RECORDS_DB=server.url, **{**settings, "TEST_CONSTANTS": {PATIENCE: 60.0}})
        assert back.stat("records/db/written") == 9
        assert server.query("SELECT count(*), count(DISTINCT record_key) FROM book") == [(9, 9)]
    assert not (tmp_path / "pending").exists()
    assert "Traceback" not in away.crawl.log + back.crawl.log


def test_disk_that_is_full_ends_the_crawl_and_keeps_the_pages(tmp_path: Path) -> None:
    """The next run with the same JOBDIR fetches the pages again whose records were not kept."""
    script = {"1/list": page("/book/1"), "1/book/1": book("1", "1")}
    full = {
        "FRONTIER_RECORDS_DB": f"sqlite:///{tmp_path}/r.db",
        "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/full",
        "JOBDIR": f"{tmp_path}/job",
        "TEST_CONSTANTS": {PATIENCE: 0.0},
    }
    with shops(tmp_path, script, 1) as (site, rules):
        (tmp_path / "full").symlink_to("/dev/full")
        ended = crawled(site, rules, **full)
        assert ended.reason == "records_failed"
        assert ended.stat("records/lost") == 1
        assert "Traceback" not in ended.crawl.log
        resumed = crawled(site, rules, **{**full, "FRONTIER_RECORDS_JOURNAL": f"{tmp_path}/pending"})
        assert resumed.stat("records/db/written") == 1
    assert site.places().count("1/book/1") == 2


def test_csv_feeds(tmp_path: Path) -> None:
    """A column for each field; one kind of record by its filter."""
    feeds = {
        str(tmp_path / "books.csv"): {"format": "csv"},
        str(tmp_path / "none.jsonl"): {
            "format": "jsonlines",
            "item_filter": "crawlproject.records.feeds.OfKind",
            "records": ["film"],
        },
    }
    with shops(tmp_path, TWO_SHOPS) as (site, rules):
        crawled(site, rules, FEEDS=feeds)
    assert (tmp_path / "books.csv").read_text().splitlines()[0] == "record,url,isbn,title,price"
    assert not (tmp_path / "none.jsonl").exists() or (tmp_path / "none.jsonl").read_text() == ""
