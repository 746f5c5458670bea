"""Requests from stored entries."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request

from crawlproject.download.few_lines import MAX_LINES
from crawlproject.frontier import Entry
from crawlproject.frontier.quality import MAX_QUALITY, QUALITIES
from crawlproject.requests.entries import RequestEntries


class ChangedCode:
    """A backend whose spider no longer has the callback of what is stored."""

    def pack(self, request: Request) -> Any:
        return b""

    def unpack(self, entry: Entry) -> Request:
        raise ValueError("the spider has no method 'parse_page'")


def test_requests_of_changed_code_cost_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    """There may be millions of them."""
    entries = RequestEntries(ChangedCode(), QUALITIES["in-links"]())
    for number in range(1000):
        assert entries.read(Entry(f"http://a.example/{number}")) is None
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == MAX_LINES
    assert errors[0].endswith("stays in the store: http://a.example/0: the spider has no method 'parse_page'")


@pytest.mark.parametrize(
    ("meta", "quality", "depth"),
    [
        ({"quality": 10**400, "depth": 1}, MAX_QUALITY, 1),
        ({"quality": 1e300}, MAX_QUALITY, 0),
        ({"quality": float("nan"), "depth": None}, 1.0, 0),
        ({"quality": float("inf"), "depth": "3"}, 1.0, 0),
        ({"quality": "3", "depth": -1}, 1.0, 0),
        ({"quality": None, "depth": 10**30}, 1.0, 0),
    ],
)
def test_no_value_in_meta_raises(meta: dict[str, Any], quality: float, depth: int) -> None:
    """An exception while a start request is queued would end the crawl."""
    entries = RequestEntries(ChangedCode(), QUALITIES["constant"]())
    entry = entries.entry(Request("http://a.example/", meta=meta))
    assert (entry.quality, entry.depth) == (quality, depth)


def request_of(entries: RequestEntries, url: str, page: Request | None, **meta: Any) -> tuple[float, float]:
    """The quality of a request as new, and what it adds if the URL is known."""
    request = Request(url, meta=meta)
    gain = entries.gain(request, page, is_known=False)
    return entries.entry(request, gain=gain).quality, gain


@pytest.mark.parametrize(
    ("kind", "internal", "external"),
    [("in-links", (2.0, 1.0), (3.0, 2.0)), ("constant", (1.0, 0.0), (1.0, 0.0)), ("opic", (1.0, 0.0), (1.0, 0.0))],
)
def test_a_request_counts_as_a_link_of_its_page(
    kind: str, internal: tuple[float, float], external: tuple[float, float]
) -> None:
    """Once for each URL; not if the quality is shared out over all links of the page, whose number is unknown."""
    entries = RequestEntries(ChangedCode(), QUALITIES[kind]())
    page, other = Request("http://a.example/"), Request("http://a.example/other")
    for each in (page, other):
        assert request_of(entries, "http://a.example/x", each) == internal
        assert request_of(entries, "http://b.example/x", each) == external
        assert entries.gain(Request("http://b.example/x"), each, is_known=True) == 0.0


def test_requests_that_are_no_links() -> None:
    """Of no page, of a copy, to the page itself, or with a quality of their own."""
    entries = RequestEntries(ChangedCode(), QUALITIES["in-links"]())
    page, copy = Request("http://a.example/"), Request("http://a.example/copy", meta={"duplicate_of": "x"})
    url = "http://a.example/x"
    assert request_of(entries, url, None) == request_of(entries, url, copy) == (1.0, 0.0)
    assert entries.gain(page.copy(), page, is_known=True) == 0.0
    assert request_of(entries, url, page, quality=7) == (7.0, 0.0)
    assert request_of(entries, url, Request("http://")) == (1.0, 0.0)
