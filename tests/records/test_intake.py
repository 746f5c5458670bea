"""Links to further pages of a list."""

import asyncio
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.records.intake import RecordIntake
from crawlproject.records.reading import Source
from crawlproject.records.rule_file import read_site

PAGE = (
    "<!DOCTYPE html><html><body><p>1</p>"
    "<a class=next href='?page=2'>next</a><a class=next>later</a><a class=next href>none</a><p>a<p>b"
    "<a class='next last' href='/list?page=9'>last</a></body></html>"
)


def links(selector: str, page: str = PAGE) -> list[str]:
    text = f'seeds = ["http://a.example/"]\n[pagination]\n{selector}\n[records.a.fields]\nb = {{css = "b"}}\n'
    site = read_site(text, Path("a.toml"))
    assert site.next_pages is not None
    source = Source(page, "http://a.example/list")
    return asyncio.run(RecordIntake(get_crawler()).links(source, site.next_pages, site))


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ('css = "a.next"', ["?page=2", "/list?page=9"]),
        ('css = "a.next::attr(href)"', ["?page=2", "/list?page=9"]),
        ('css = "a.last::attr(href)"\nregex = "[0-9]+"', ["9"]),
        ('css = "i"', []),
    ],
)
def test_links_to_further_pages(selector: str, found: list[str]) -> None:
    """The references of elements, or the texts that a selector gives."""
    assert links(selector) == found
