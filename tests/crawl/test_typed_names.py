"""Hosts and patterns that people type match in every spelling: in arguments, settings, files and commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import Crawl, crawl
from tests.crawl.recording_proxy import answer, recording_proxy
from tests.crawl.test_addresses import through

WEB = "crawlproject.spiders.web.WebSpider"

#: Spellings of a host, and the spelling in URLs.
SPELLINGS = {
    "H.TEST": "h.test",
    ".h.test": "h.test",
    "*.h.test": "h.test",
    "h.test.": "h.test",
    " h.test": "h.test",
    "h.test:80": "h.test",
    "münchen.test": "xn--mnchen-3ya.test",
    "MÜNCHEN.test": "xn--mnchen-3ya.test",
    "2130706433": "127.0.0.1",
}

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


@pytest.mark.parametrize("typed", SPELLINGS)
def test_allowed_domains(typed: str) -> None:
    """Links and redirects stay within them; the crawl fetches the pages of the host."""
    root = f"http://{SPELLINGS[typed]}/"
    done, urls = crawled(seeds=root, allowed=typed)
    assert urls == {root, f"{root}own", f"{root}away"}, done.log


def test_a_port_of_allowed_domains_counts_for_redirects() -> None:
    """As for links."""
    done, urls = crawled(seeds="http://other.test:81/", allowed="OTHER.test:81")
    assert urls == {f"http://other.test:81/{path}" for path in ("", "own", "away")}, done.log


@pytest.mark.parametrize("typed", ["H.TEST", "*.h.test", "h.test.:80"])
def test_allowed_domains_of_a_projects_own_spider(typed: str) -> None:
    """Its requests and its redirects, too."""
    done, urls = crawled("tests.crawl.typed_spiders.OrdinarySpider", domains=typed, url="http://h.test/")
    assert urls == {f"http://h.test/{path}" for path in ("", "own", "away")}, done.log


@pytest.mark.parametrize("typed", SPELLINGS)
def test_denied_hosts(typed: str, tmp_path: Path) -> None:
    """In a file: nothing is asked of them."""
    denied = tmp_path / "denied.txt"
    denied.write_text(f"{typed}\n", encoding="utf-8")
    _, urls = crawled(seeds=f"http://{SPELLINGS[typed]}/,http://kept.test/", deny=str(denied))
    assert not any(SPELLINGS[typed] in url for url in urls)
    assert "http://kept.test/own" in urls


@pytest.mark.parametrize("typed", SPELLINGS)
def test_domains_of_rule_files(typed: str, tmp_path: Path) -> None:
    """With patterns in another spelling than the URLs."""
    root = f"http://{SPELLINGS[typed]}/"
    rules = tmp_path / "rules.toml"
    rules.write_text(
        f"seeds = ['{root}']\ndomains = ['{typed}']\n[follow]\ndeny = ['*://{typed.strip(' .*')}/%61way']\n"
        "[records.page.fields]\ntitle = 'title'\n",
        encoding="utf-8",
    )
    done, urls = crawled("crawlproject.spiders.site.SiteSpider", rules=str(rules))
    assert urls == {root, f"{root}own"}, done.log
