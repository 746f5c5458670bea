"""The table of content types: which parser reads an answer, and what that gives. Each page is parsed once, for all.

A type is a row in ``TYPES`` and a class derived from ``Reader``; a project adds one with ``FRONTIER_LINKS_READERS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from scrapy.http import HtmlResponse, TextResponse

from crawlproject.content.page_marks import MAX_TEXT, NO_ADDRESSES, PageAddresses, PageContent, PageText, page_content
from crawlproject.discovery.sitemap_reader import read_sitemap
from crawlproject.download import charsets
from crawlproject.download.content_types import essence_of, root_of
from crawlproject.frontier.guard.judge import Answer
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.urls.extract import SEPARATOR, PageLinks, extract
from crawlproject.urls.xhtml import as_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.urls import Canonicalizer

_read: WeakKeyDictionary[Response, PageLinks] = WeakKeyDictionary()
_markup: WeakKeyDictionary[Response, str] = WeakKeyDictionary()
_links: WeakKeyDictionary[Response, list[str]] = WeakKeyDictionary()

#: Parsers, for rules for records: ``html``: an HTML parser; ``xhtml``: an XML parser, then as ``html``.
Parser: TypeAlias = Literal["html", "xhtml", "xml", "json", "other"]

#: Parsers of pages: of what has links, a title and a text.
OF_PAGES = frozenset(("html", "xhtml"))


class ReadsLinks(Protocol):
    """A class of ``FRONTIER_LINKS_READERS``, without arguments."""

    def links(self, response: Response) -> list[str]:
        """References to follow, as written. O(length); of a large answer called in a thread. May raise ValueError."""


class Reader:
    """Content that is no page: it has no links, and its text is what it is."""

    def links(self, response: Response) -> list[str]:
        return []


class Html(Reader):
    """A page: ``read_page`` finds its links, title and text."""

    def links(self, response: Response) -> list[str]:
        return read_page(response).hrefs if isinstance(response, TextResponse) else []

    def markup(self, response: TextResponse) -> str:
        """Its text for an HTML parser. O(length)."""
        return response.text


class Xhtml(Html):
    """A page that an XML parser reads, if it is well-formed."""

    def markup(self, response: TextResponse) -> str:
        html = _markup.get(response)
        if html is None:
            html = _markup[response] = as_html(response.text) or response.text
        return html


class Feed(Reader):
    """The page of each entry of RSS or Atom."""

    def links(self, response: Response) -> list[str]:
        return read_sitemap(response).urls


class ContentType(NamedTuple):
    """A row of the table."""

    name: str
    parser: Parser
    reader: ReadsLinks
    media: tuple[str, ...] = ()
    #: Root elements (``root_of``) by which plain XML is of this type.
    roots: tuple[str, ...] = ()
    #: What other media types of this kind end in.
    ending: str = ""


TYPES = (
    ContentType("HTML", "html", Html(), ("text/html",)),
    ContentType("XHTML", "xhtml", Xhtml(), ("application/xhtml+xml",), ("xhtml",)),
    ContentType("RSS", "xml", Feed(), ("application/rss+xml", "application/rdf+xml"), ("rss", "RDF")),
    ContentType("Atom", "xml", Feed(), ("application/atom+xml",), ("feed",)),
    # followed only where the server names it as a sitemap: ``sitemaps.sitemap_links``
    ContentType("sitemap", "xml", Reader(), (), ("urlset", "sitemapindex")),
    ContentType("other XML", "xml", Reader(), ending="xml"),
    ContentType("JSON", "json", Reader(), ending="json"),
    ContentType("other", "other", Reader()),
)

#: XML of any kind: its root element tells which.
_XML = frozenset(("application/xml", "text/xml"))
_OTHER = TYPES[-1]
_BY_MEDIA = {media: row for row in TYPES for media in row.media}
_BY_ROOT = {root: row for row in TYPES for root in row.roots}
_BY_ENDING = [row for row in TYPES if row.ending]

#: Media types of pages.
PAGE_MEDIA = frozenset(media for media, row in _BY_MEDIA.items() if isinstance(row.reader, Html))


def content_type(response: Response) -> ContentType:
    """The row of a response, of any class: by its headers, where these say nothing by its first bytes, as browsers.

    O(1): 1 us, 10 us if its first bytes decide.
    """
    essence = essence_of(response)
    row = _BY_MEDIA.get(essence)
    if row is None and essence in _XML:
        row = _BY_ROOT.get(root_of(response.body))
    return row or next((row for row in _BY_ENDING if essence.endswith(row.ending)), _OTHER)


def parser_of(response: Response) -> Parser:
    """The parser of a response, of any class. O(1)."""
    return content_type(response).parser


def is_html(response: Response) -> bool:
    """Whether it is text that browsers read as a page, HTML or XHTML."""
    return isinstance(response, TextResponse) and isinstance(content_type(response).reader, Html)


def link_reader(response: Response, own: Mapping[str, ReadsLinks]) -> ReadsLinks | None:
    """What finds the links of an answer; None: it has none. ``own``: media type -> reader of the project. O(1)."""
    reader = own.get(essence_of(response)) if own else None
    reader = reader or content_type(response).reader
    return None if type(reader) is Reader or "download_stopped" in response.flags else reader


def links_of(response: Response, own: Mapping[str, ReadsLinks]) -> list[str]:
    """What is followed from an answer of any type, cached; none if it cannot be read (``link_reader``). O(length)."""
    found = _links.get(response)
    if found is None:
        reader = link_reader(response, own)
        try:
            found = [] if reader is None else reader.links(response)
        except (ValueError, OSError, EOFError):
            found = []
        _links[response] = found
    return found


def markup(response: TextResponse) -> str:
    """The text of a page for an HTML parser: XHTML is written as HTML, if it is well-formed. O(length), once a page."""
    reader = content_type(response).reader
    return reader.markup(response) if isinstance(reader, Html) else response.text


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
    return PageText(page.title, page.text or "", page.media, markup(response))


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
