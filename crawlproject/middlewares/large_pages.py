"""Decodes and parses large pages in advance, off the event loop: a hostile one takes seconds."""

from __future__ import annotations

import codecs
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.http import TextResponse
from w3lib.encoding import http_content_type_encoding, read_bom, resolve_encoding

from crawlproject.discovery.page_reading import is_html, read_page, wants_text, wants_tree
from crawlproject.download import charsets
from crawlproject.download.body_budget import crawl_budget
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.download.process_memory import return_freed_memory, search_cycles_rarely
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.requests.answers import content_type
from crawlproject.requests.meta import BY_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.download.body_budget import Share

#: Python's codecs that ``charset=`` can name but that are no charsets; punycode also takes quadratic time.
_NO_CHARSETS = frozenset(("base64", "bz2", "hex", "idna", "punycode", "quopri", "rot-13", "undefined", "uu", "zlib"))

#: Encodings whose byte order mark gives the byte order; without it they are big-endian.
_WITH_MARK = ("utf-16", "utf-32")

#: Bytes decoded per step: 18 ms if none of them is a valid character.
_PIECE = 1 << 16

#: Invalid characters after which a page counts as garbage and the rest is cut. 0.3 s.
MAX_UNDECODED = 1_000_000

#: Characters of a page's text, and its bytes in memory: the longest real one has 8.4 million, of up to 4 bytes each.
MAX_CHARACTERS, MAX_DECODED = 12_000_000, 36_000_000

#: Memory for decoding a large page, in bytes per byte of the body: all pieces and the whole text.
_DECODING = 2

#: Characters of a page whose tree is kept for the spider, and the tree's bytes for each on real pages (hostile: 40). Of
#: a longer page the spider makes its own tree, which takes no memory while the page waits.
MAX_WITH_TREE, _TREE = 1_000_000, 5

#: Bytes of a large page used to guess an undeclared encoding.
_SAMPLE = 1 << 19


class LargePageMiddleware(CrawlerMiddleware):
    """Decodes and parses large HTML pages off the event loop (downloader, after decompression).

    A page of any size that declares a codec which is no charset is read as UTF-8; charsets that Python reads otherwise
    than browsers, or not at all, as browsers do (:mod:`crawlproject.download.charsets`).
    The first parse keeps the tree if the spider reads it, or the page would be parsed twice.
    The memory used counts in the budget for bodies, so that large ones are decoded one at a time.
    Stats: ``charset/not_text``, ``charset/garbage`` (pages cut after ``MAX_UNDECODED`` invalid characters,
    ``MAX_CHARACTERS``, or ``MAX_DECODED`` bytes of text).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._budget = crawl_budget(crawler)
        return_freed_memory()
        search_cycles_rarely()
        self._with_text = wants_text(crawler)

    def process_response(self, request: Request, response: Response) -> Response | Awaitable[Response]:
        """Replace an invalid encoding; decode and parse a large page."""
        if not isinstance(response, TextResponse):
            return response
        is_text = _declared(response) not in _NO_CHARSETS
        is_large = len(response.body) > LARGE and is_html(response)
        return response if is_text and not is_large else self._replace(request, response, is_text, is_large)

    async def _replace(self, request: Request, response: TextResponse, is_text: bool, is_large: bool) -> Response:
        with self._budget.resumed(response) as share:
            if not is_text:
                self._stats.inc_value("charset/not_text")
                response = response.replace(encoding="utf-8")
            if is_large:
                await self._budget.wait(share)
                await self._read(request, response, share)
            self._budget.hold(response, share)
        return response

    async def _read(self, request: Request, response: TextResponse, share: Share) -> None:
        before = share.size
        share.grow(_DECODING * min(len(response.body), MAX_DECODED))
        is_whole = await off_loop(_decode, response)
        share.grow(before + sys.getsizeof(response.text) - share.size)
        if not is_whole:
            self._stats.inc_value("charset/garbage")
        if 200 <= response.status < 300 and (self._with_text or request.meta.get(BY_TYPE)):
            with_tree = wants_tree(self._crawler) and len(response.text) <= MAX_WITH_TREE
            page = await off_loop(read_page, response, with_text=self._with_text, with_tree=with_tree)
            share.grow(sys.getsizeof(page.text) + (_TREE * len(response.text) if page.tree is not None else 0))


def _declared(response: TextResponse) -> str | None:
    """The encoding that ``response`` declares, as Scrapy finds it; one from a header, or put right, is kept.

    Scrapy looks for it, and for a byte order mark, again whenever it needs the encoding, in caches of weak references:
    10 us a page.
    """
    if response._encoding is None and read_bom(response.body)[0] is None:
        response._encoding = _charset_of(content_type(response.headers)) or charsets.of_markup(
            response._body_declared_encoding()
        )
    return response._declared_encoding()


@lru_cache(maxsize=256)
def _charset_of(value: bytes) -> str | None:
    return charsets.of_header(http_content_type_encoding(value.decode("latin-1")))


def _decode(response: TextResponse) -> bool:
    """Fill the cache of ``response.text`` as Scrapy would, except that an undeclared encoding is guessed from the
    first bytes.  False: garbage, and cut.  O(length); holds the interpreter lock for at most 20 ms at a time."""
    body = response.body
    encoding = response._declared_encoding() or _guess(response)
    mark_encoding, mark = read_bom(body)
    start = len(mark) if mark is not None and mark_encoding == encoding else 0
    codec = f"{encoding}-be" if encoding in _WITH_MARK and not start else encoding  # as in Scrapy
    decoder = codecs.getincrementaldecoder(codec)("replace")
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
    response._cached_benc = encoding
    response._cached_ubody = "".join(pieces)
    return start >= len(body)


def _width(text: str) -> int:
    """Bytes per character in memory: 1, 2 or 4. O(length)."""
    return (sys.getsizeof(text * 2) - sys.getsizeof(text)) // len(text) if text else 1


def _guess(response: TextResponse) -> str:
    """The encoding of a page that declares none."""
    body = response.body
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(body), _PIECE):
            decoder.decode(body[start : start + _PIECE], start + _PIECE >= len(body))
    except UnicodeError:
        return response._auto_detect_fun(body[:_SAMPLE]) or response._DEFAULT_ENCODING
    return str(resolve_encoding(response._DEFAULT_ENCODING)) if body.isascii() else "utf-8"  # links are encoded in it
