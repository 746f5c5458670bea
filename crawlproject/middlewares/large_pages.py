"""Decodes and parses large pages in advance, off the event loop: a hostile one takes seconds."""

from __future__ import annotations

import codecs
import sys
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, TextResponse, XmlResponse
from w3lib.encoding import read_bom, resolve_encoding

from crawlproject.discovery.page_reading import OF_PAGES, is_html, links_of, parser_of, read_page, wants_text
from crawlproject.download import charsets
from crawlproject.download.body_budget import BodyBudget
from crawlproject.download.content_types import declared
from crawlproject.download.cycles import search_cycles_rarely
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import Crawl, keep_encoding, keep_text
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.options.following import LinkOptions
from crawlproject.requests.meta import BY_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.body_budget import Share

#: Bytes decoded per step: 18 ms if none of them is a valid character.
_PIECE = 1 << 16

#: Invalid characters after which a page counts as garbage and the rest is cut. 0.3 s.
MAX_UNDECODED = 1_000_000

#: Characters of a page's text, and its bytes in memory: the longest real one has 8.4 million, of up to 4 bytes each.
MAX_CHARACTERS, MAX_DECODED = 12_000_000, 36_000_000

#: Memory for decoding a large page, in bytes per byte of the body: all pieces and the whole text.
_DECODING = 2

#: Bytes of a large page used to guess an undeclared encoding.
_SAMPLE = 1 << 19


class LargePageMiddleware(CrawlerMiddleware):
    """Decodes and parses large HTML pages off the event loop (downloader, after decompression).

    Answers of any size that browsers read as pages become an ``HtmlResponse``
    (:mod:`~crawlproject.download.content_types`), and all have the encoding that browsers choose
    (:mod:`~crawlproject.download.charsets`): an unknown one is ignored, even if it is a codec of Python.
    The memory used counts in the budget for bodies, so that large ones are decoded one at a time.
    Stats: ``charset/unknown``, ``charset/garbage`` (pages cut after ``MAX_UNDECODED`` invalid characters,
    ``MAX_CHARACTERS``, or ``MAX_DECODED`` bytes of text).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._budget = Crawl.of(crawler).part(BodyBudget)
        search_cycles_rarely()
        self._with_text = wants_text(crawler)
        self._readers = LinkOptions.of(crawler).readers

    def process_response(self, request: Request, response: Response) -> Response | Awaitable[Response]:
        """Choose class and encoding; decode and parse a large page."""
        if isinstance(response, TextResponse):
            self._choose_encoding(response)
        has_class = isinstance(response, HtmlResponse | XmlResponse) or parser_of(response) not in OF_PAGES
        if has_class and len(response.body) <= LARGE:
            return response
        if has_class and not is_html(response):
            return self._read_links(request, response)
        return self._replace(request, response)

    async def _read_links(self, request: Request, response: Response) -> Response:
        if 200 <= response.status < 300 and request.meta.get(BY_TYPE):
            await off_loop(links_of, response, self._readers)
        return response

    async def _replace(self, request: Request, response: Response) -> Response:
        with self._budget.resumed(response) as share:
            if not isinstance(response, HtmlResponse | XmlResponse):
                was_text = isinstance(response, TextResponse)
                page: TextResponse = response.replace(cls=HtmlResponse)
                if not was_text:
                    self._choose_encoding(page)
            else:
                page = response
            if len(page.body) > LARGE:
                await self._budget.wait(share)
                await self._read(request, page, share)
            self._budget.hold(page, share)
        return page

    def _choose_encoding(self, response: TextResponse) -> None:
        """Keep the encoding that ``response`` declares, if browsers know it; a byte order mark takes precedence.

        Scrapy looks for it, and for a mark, again whenever it needs the encoding, in caches of weak references: 10 us a
        page.
        """
        if response._encoding is not None or read_bom(response.body)[0] is not None:
            return
        label = declared(response.headers).charset
        encoding = charsets.of_header(label)
        if encoding is None:
            in_page = response._body_declared_encoding()
            encoding = charsets.of_markup(in_page)
            if label or (in_page is not None and encoding is None):
                self._stats.inc_value("charset/unknown")
            if encoding is None and (in_page is not None or response._headers_encoding() is not None):
                encoding = _guess(response)
        keep_encoding(response, encoding)

    async def _read(self, request: Request, response: TextResponse, share: Share) -> None:
        before = share.size
        share.grow(_DECODING * min(len(response.body), MAX_DECODED))
        is_whole = await off_loop(_decode, response)
        share.grow(before + sys.getsizeof(response.text) - share.size)
        if not is_whole:
            self._stats.inc_value("charset/garbage")
        if 200 <= response.status < 300 and (self._with_text or request.meta.get(BY_TYPE)):
            page = await off_loop(read_page, response, with_text=self._with_text)
            share.grow(sys.getsizeof(page.text))


def _decode(response: TextResponse) -> bool:
    """Fill the cache of ``response.text`` as Scrapy would, except that an undeclared encoding is guessed from the
    first bytes.  False: garbage, and cut.  O(length); holds the interpreter lock for at most 20 ms at a time."""
    body = response.body
    encoding = response._declared_encoding() or _guess(response)
    mark_encoding, mark = read_bom(body)
    start = len(mark) if mark is not None and mark_encoding == encoding else 0
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    pieces: list[str] = []
    undecoded = characters = 0
    width = 1  # bytes of a character
    while start < len(body) and undecoded < MAX_UNDECODED:
        end = start + _PIECE
        piece = decoder.decode(body[start:end], end >= len(body))
        undecoded += piece.count("\ufffd")
        characters += len(piece)
        width = max(width, _width(piece))
        if characters > MAX_CHARACTERS or characters * width > MAX_DECODED:
            break
        pieces.append(piece)
        start = end
    keep_text(response, encoding, "".join(pieces))
    return start >= len(body)


def _width(text: str) -> int:
    """Bytes per character in memory: 1, 2 or 4. O(length)."""
    return (sys.getsizeof(text * 2) - sys.getsizeof(text)) // len(text) if text else 1


def _guess(response: TextResponse) -> str:
    body = response.body
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), _PIECE):
            decoder.decode(body[start : start + _PIECE], start + _PIECE >= len(body))
    except UnicodeError:
        return response._auto_detect_fun(body[:_SAMPLE]) or response._DEFAULT_ENCODING
    return str(resolve_encoding(response._DEFAULT_ENCODING)) if body.isascii() else "utf-8"  # links are encoded in it
