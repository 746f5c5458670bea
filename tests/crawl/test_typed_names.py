"""Hosts and patterns that people type match in every spelling: in arguments, settings, files and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.crawl.crawling import Crawl, crawl
from tests.crawl.recording_proxy import answer, recording_proxy
from tests.crawl.test_addresses import through

WEB = "crawlproject.spiders.web.WebSpider"

#: Spellings of hosts, and the spelling in URLs.
SPELLINGS = {
    "A.TEST": "a.test",
    ".b.test": "b.test",
    "*.c.test": "c.test",
    "d.test.": "d.test",
    " e.test": "e.test",
    "f.test:80": "f.test",
    "münchen.test": "xn--mnchen-3ya.test",
    "ZÜRICH.test": "xn--zrich-kva.test",
    "2130706433": "127.0.0.1",
}
ROOTS = [f"http://{host}/" for host in SPELLINGS.values()]

#: A page of every server: links to a page of its own, to one below each server, and a redirect to another server.
LINKS = b"<a href=/own></a><a href=/away></a><a href=http://other.test/linked></a>"


def web(url: str) -> bytes | None:
    """Every server has the same pages."""
    if url.endswith("/away"):
        return answer(b"Location: http://other.test/redirected", status=b"302 Found")
    return answer(b"Content-Type: text/html", body=LINKS) if url.count("/") == 3 and url.endswith("/") else None


def crawled(spider: str = WEB, settings: dict[str, Any] | None = None, **arguments: str) -> tuple[Crawl, set[str]]:
    """A crawl of this web, and the URLs that it asked for."""
    with recording_proxy(web) as proxy:
        done = crawl(spider, settings={**through(proxy), **(settings or {})}, **arguments)
    return done, set(proxy.urls)


def test_allowed_domains() -> None:
    """Links and redirects stay within them; the crawl fetches the pages of the hosts."""
    done, urls = crawled(seeds=",".join(ROOTS), allowed=",".join(SPELLINGS))
    assert urls == {f"{root}{path}" for root in ROOTS for path in ("", "own", "away")}, done.log


def test_a_port_of_allowed_domains_counts_for_redirects() -> None:
    """As for links."""
    done, urls = crawled(seeds="http://other.test:81/", allowed="OTHER.test:81")
    assert urls == {f"http://other.test:81/{path}" for path in ("", "own", "away")}, done.log


def test_allowed_domains_of_a_projects_own_spider() -> None:
    """Its requests and its redirects, too."""
    done, urls = crawled("tests.crawl.spiders.TypedSpider", domains="*.A.test.:80", url="http://a.test/")
    assert urls == {f"http://a.test/{path}" for path in ("", "own", "away")}, done.log


def test_denied_hosts(tmp_path: Path) -> None:
    """In a file: nothing is asked of them."""
    denied = tmp_path / "denied.txt"
    denied.write_text("".join(f"{typed}\n" for typed in SPELLINGS), encoding="utf-8")
    _, urls = crawled(seeds=",".join([*ROOTS, "http://kept.test/"]), deny=str(denied))
    assert {url.split("/")[2] for url in urls} == {"kept.test", "other.test"}
    assert "http://kept.test/own" in urls


def test_domains_of_rule_files(tmp_path: Path) -> None:
    """With patterns in another spelling than the URLs."""
    rules = tmp_path / "rules.toml"
    denied = [f"*://{typed.strip(' .*')}/%61way" for typed in SPELLINGS]
    rules.write_text(
        f"seeds = {ROOTS}\ndomains = {[*SPELLINGS]}\n[follow]\ndeny = {denied}\n"
        "[records.page.fields]\ntitle = 'title'\n",
        encoding="utf-8",
    )
    done, urls = crawled("crawlproject.spiders.site.SiteSpider", rules=str(rules))
    assert urls == {f"{root}{path}" for root in ROOTS for path in ("", "own")}, done.log
