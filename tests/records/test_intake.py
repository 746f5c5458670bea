"""Links to further pages of a list."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lxml import etree
from scrapy.utils.test import get_crawler
from selectolax.lexbor import LexborHTMLParser

from crawlproject.records.intake import RecordIntake
from crawlproject.records.reading import Source
from crawlproject.records.rule_file import read_site
from crawlproject.urls.native import NATIVE

PAGE = (
    "<!DOCTYPE html><html><body><p>1</p>"
    "<a class=next href='?page=2'>next</a><a class=next>later</a><a class=next href>none</a><p>a<p>b"
    "<a class='next last' href='/list?page=9'>last</a></body></html>"
)


def links(selector: str, page: str = PAGE) -> tuple[list[str], Source]:
    text = f'seeds = ["http://a.example/"]\n[pagination]\n{selector}\n[records.a.fields]\nb = {{css = "b"}}\n'
    site = read_site(text, Path("a.toml"))
    assert site.next_pages is not None
    source = Source(page, "http://a.example/list", tree=LexborHTMLParser(page))
    return asyncio.run(RecordIntake(get_crawler()).links(source, site.next_pages, site)), source


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ('css = "a.next"', ["?page=2", "/list?page=9"]),
        ('css = "a.next::attr(href)"', ["?page=2", "/list?page=9"]),
        ('css = "a.last::attr(href)"\nregex = "[0-9]+"', ["9"]),
        ('css = "i"', []),
    ],
)
def test_the_tree_of_the_crawl_is_read(selector: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And gives what libxml2's tree does."""
    by_crawl, source = links(selector)
    if NATIVE is not None:
        assert source._root is None
    with monkeypatch.context() as patched:
        patched.setattr(Source, "html5", lambda _: None)
        by_libxml2, source = links(selector)
    assert isinstance(source._root, etree._Element)
    assert by_crawl == by_libxml2 == found


def test_pages_that_the_parsers_read_differently() -> None:
    """A link in a form in a table, which lexbor moves."""
    page = "<table><tr><form><td><a class=next href=/2>next</a></form></table>"
    assert links('css = "form a.next"', page)[0] == links('xpath = "//form//a"', page)[0]
