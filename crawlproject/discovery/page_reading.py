"""Parses each HTML page once and caches the result for all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.http import HtmlResponse, TextResponse

from crawlproject.download import charsets
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.requests.answers import HTML_TYPES, media_type
from crawlproject.urls.extract import PageLinks, extract

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

#: Media types of HTML, and "" for none declared, which may be HTML.
_HTML_OR_NONE = HTML_TYPES | {""}

_read: WeakKeyDictionary[Response, PageLinks] = WeakKeyDictionary()


def is_html(response: Response) -> bool:
    """Whether it is text, and declared as HTML or not declared at all."""
    return isinstance(response, TextResponse) and media_type(response.headers) in _HTML_OR_NONE


def read_page(response: TextResponse, *, with_text: bool = False, with_tree: bool = False) -> PageLinks:
    """The result of ``extract`` for a page, cached; parsed again only if its text was not extracted yet. O(length)."""
    page = _read.get(response)
    if page is None or (with_text and page.text is None):
        page = extract(
            response.text, response.url, with_text=with_text, with_tree=with_tree, encoding=response.encoding
        )
        _read[response] = page
    return page


def saved_text(body: bytes) -> str:
    """The text of a page in a file: in the encoding that it declares, else in one that is guessed. O(length)."""
    page = HtmlResponse("http://example.org/", body=body)
    encoding = charsets.of_markup(page._body_declared_encoding())
    return (page if encoding is None else page.replace(encoding=encoding)).text


def wants_tree(crawler: Crawler) -> bool:
    """Whether the spider reads the tree of pages; then the first parse must keep it."""
    return bool(getattr(crawler.spider, "with_tree", False))


def wants_text(crawler: Crawler) -> bool:
    """Whether the near-duplicate search or the trap guard needs the text of pages.

    Then the first parse must extract the text, or the page would be parsed twice.
    """
    return DuplicateOptions.of(crawler).near or TrapOptions.of(crawler).is_guarded
