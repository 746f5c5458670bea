"""Parses each HTML page once and caches the result for all readers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.http import HtmlResponse, TextResponse

from crawlproject.content.page_marks import (
    MAX_TEXT,
    NO_ADDRESSES,
    PageAddresses,
    PageContent,
    PageText,
    hidden_parts,
    page_content,
)
from crawlproject.download import charsets
from crawlproject.download.content_types import OF_PAGES, parser_of
from crawlproject.frontier.guard.judge import Answer
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.urls.extract import SEPARATOR, PageLinks, extract
from crawlproject.urls.xhtml import as_html

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.urls import Canonicalizer

_read: WeakKeyDictionary[Response, PageLinks] = WeakKeyDictionary()
_markup: WeakKeyDictionary[Response, str] = WeakKeyDictionary()


def is_html(response: Response) -> bool:
    """Whether it is text that browsers read as a page, HTML or XHTML."""
    return isinstance(response, TextResponse) and parser_of(response) in OF_PAGES


def markup(response: TextResponse) -> str:
    """The text of a page for an HTML parser: XHTML is written as HTML, if it is well-formed. O(length), once a page."""
    if parser_of(response) != "xhtml":
        return response.text
    html = _markup.get(response)
    if html is None:
        html = _markup[response] = as_html(response.text) or response.text
    return html


def read_page(response: TextResponse, *, with_text: bool = False) -> PageLinks:
    """The result of ``extract`` for a page, cached; parsed again only if its text was not extracted yet. O(length)."""
    page = _read.get(response)
    if page is None or (with_text and page.text is None):
        page = extract(markup(response), response.url, with_text=with_text, encoding=response.encoding)
        _read[response] = page
    return page


def content_of(response: Response, links: PageAddresses = NO_ADDRESSES) -> PageContent:
    """The content of a page. O(length)."""
    return page_content(response.url, text_of(response), links)


def text_of(response: Response) -> PageText:
    """What a page shows; of plain text its lines; nothing if it is not text. O(length)."""
    if not isinstance(response, TextResponse):
        return PageText()
    if not is_html(response):
        return PageText(None, response.text[:MAX_TEXT].replace("\n", SEPARATOR))
    page = read_page(response, with_text=True)
    return PageText(page.title, page.text or "", page.media, hidden_parts(markup(response)))


def answer_of(canonicalizer: Canonicalizer, response: Response) -> Answer:
    """The answer to a question of the trap guard. O(length)."""
    url = canonicalizer.canonical(response.url) or response.url
    if not isinstance(response, TextResponse) or not is_html(response):
        return Answer(response.status, url)
    page = read_page(response, with_text=True)
    links = canonicalizer.batch(page.hrefs, page.base, response.encoding)
    return Answer(response.status, url, links, content_of(response))


def saved_text(body: bytes) -> str:
    """The text of a page in a file: in the encoding that it declares, else in one that is guessed. O(length)."""
    page = HtmlResponse("http://example.org/", body=body)
    encoding = charsets.of_markup(page._body_declared_encoding())
    return (page if encoding is None else page.replace(encoding=encoding)).text


def wants_text(crawler: Crawler) -> bool:
    """Whether the near-duplicate search or the trap guard needs the text of pages.

    Then the first parse must extract the text, or the page would be parsed twice.
    """
    return DuplicateOptions.of(crawler).near or TrapOptions.of(crawler).is_guarded
