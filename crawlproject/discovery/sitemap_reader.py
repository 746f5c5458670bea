"""Reads sitemaps and sitemap indexes, XML or text, gzipped or not."""

from __future__ import annotations

import codecs
import logging
import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap

from crawlproject.download.compressed_parts import check_parts
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import stats_of
from crawlproject.links import Kind, Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# Limits of the protocol (sitemaps.org) for one file: a larger file is rejected, further URLs are not read.
MAX_BYTES = 52_428_800
MAX_URLS = 50_000

# Limits on what is parsed; the rest is cut. 50,000 entries of twenty tags each are within them. Without them 32 kB of
# gzip, eight million empty elements, took 18 s and 1 GB, and one tag of 2.5 million attributes 2 s and 700 MB.
MAX_TAGS, MAX_TAG = 1_000_000, 65_536

#: A comment, a CDATA section, or a tag with its attributes. Linear: no part can match what another one gave up.
_markup = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|"
    rb"<[^<>\"']*+(?:\"[^\"]*+\"[^<>\"']*+|'[^']*+'[^<>\"']*+|(?!))*+",
    re.DOTALL,
).finditer

#: Bytes of UTF-16 decoded at a time: a call holds the interpreter lock, for 10 ms if no character is valid.
_PIECE = 1 << 16

#: The XML declaration: after recoding to UTF-8 its encoding is wrong.
_DECLARATION = re.compile(r"\A<\?xml[^>]{0,200}\?>")
#: The same in a file that can be read byte by byte, so that UTF-16 or UTF-32 is wrong; .NET writes it.
_WIDE_DECLARATION = re.compile(
    rb"\A<\?xml[^>]{0,200}encoding=[\"'](?:utf-?(?:16|32)|ucs-?[24])[^>]{0,200}\?>", re.IGNORECASE
)

#: Root element -> kind of file; of RSS 0.9 to 2.0 and of Atom, which the protocol allows, too.
_KINDS: dict[str, Kind] = {
    "urlset": "sitemap",
    "sitemapindex": "sitemap index",
    **dict.fromkeys(("rss", "RDF", "feed"), "sitemap"),
}
#: Elements of a feed that have a link to a page; relations of links that are to the page itself.
_ENTRIES, _RELATIONS = frozenset(("item", "entry")), frozenset((None, "alternate"))

#: Where XML begins, after warnings of a script. Within the first bytes.
_begin = re.compile(rb"<\?xml[ \t\r\n]|<(?:[\w.-]{1,20}:)?(?:urlset|sitemapindex|rss|RDF|feed)[ \t\r\n>]").search
_NOISE = 16_384


async def sitemap_links(response: Response, crawler: Crawler, index_callback: Callable[..., Any]) -> Links:
    """The links of a sitemap, for a callback to yield; none if malformed. A large one is parsed off the event loop.

    ``index_callback`` parses the sitemaps that an index lists; usually the calling callback itself.
    Stats: ``frontier/sitemaps/fetched``, ``frontier/sitemaps/malformed``, ``frontier/sitemaps/truncated``.
    """
    stats = stats_of(crawler)
    limit = min(MAX_BYTES, crawler.settings.getint("DOWNLOAD_MAXSIZE") or MAX_BYTES)
    stats.inc_value("frontier/sitemaps/fetched")
    is_large = len(response.body) > LARGE or gzip_magic_number(response)
    try:
        found = await off_loop(read_sitemap, response, limit) if is_large else read_sitemap(response, limit)
    except (ValueError, OSError, EOFError) as error:
        stats.inc_value("frontier/sitemaps/malformed")
        logger.warning("Sitemap ignored: %s: %s", response, error)
        found = Listing("sitemap", [])
    if found.is_cut:
        stats.inc_value("frontier/sitemaps/truncated")
        logger.warning("Sitemap cut after %d tags, or before a tag of %d bytes: %s", MAX_TAGS, MAX_TAG, response)
    callback = index_callback if found.kind == "sitemap index" else None
    return Links(response, found.urls, kind=found.kind, callback=callback)


class Listing(NamedTuple):
    """What a sitemap lists; ``is_cut``: its markup exceeds ``MAX_TAGS`` or ``MAX_TAG``, and the rest was not read."""

    kind: Kind
    urls: list[str]
    is_cut: bool = False


def read_sitemap(response: Response, max_bytes: int = MAX_BYTES) -> Listing:
    """The kind of a sitemap and its first ``MAX_URLS`` URLs. O(length).

    Raises ValueError if it is too large or neither sitemap XML nor text, OSError and EOFError if decompression fails.
    """
    body = response.body
    if gzip_magic_number(response):
        check_parts(body, "gzip")
        body = gunzip(body, max_size=max_bytes)
    if len(body) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes")
    body = _as_utf_8(body)
    begin = _begin(body[:_NOISE])
    if begin is not None:
        body = body[begin.start() :]
    if not body.startswith(b"<"):
        return Listing("sitemap", _lines(body))
    length = _affordable(body)
    try:
        sitemap = Sitemap(body[:length])
    except (SyntaxError, StopIteration) as error:  # lxml's XMLSyntaxError is a SyntaxError
        raise ValueError(f"invalid XML: {error}") from error
    if sitemap.type not in _KINDS:
        raise ValueError(f"neither a sitemap nor a feed: {sitemap.type[:50]!r}")
    return Listing(_KINDS[sitemap.type], list(islice(_locations(sitemap), MAX_URLS)), length < len(body))


def _affordable(body: bytes) -> int:
    """The number of bytes of ``body`` to parse: up to ``MAX_TAGS`` tags, and no tag of more than ``MAX_TAG`` bytes."""
    if len(body) <= MAX_TAG:
        return len(body)
    for number, tag in enumerate(_markup(body)):
        if number >= MAX_TAGS or (tag.end() - tag.start() > MAX_TAG and not tag[0].startswith(b"<!")):
            return tag.start()
    return len(body)


def _as_utf_8(body: bytes) -> bytes:
    """``body`` without byte order mark and leading white space; UTF-16 recoded as UTF-8, or not declared if it is none.

    UTF-16 without a mark is detected by the NUL next to the first character, which is ASCII ("<" or "h").
    """
    if body.startswith(codecs.BOM_UTF16_LE) or (body[1:2] == b"\0" and body[:1] != b"\0"):
        encoding = "utf-16-le"
    elif body.startswith(codecs.BOM_UTF16_BE) or (body[:1] == b"\0" and body[1:2] not in (b"", b"\0")):
        encoding = "utf-16-be"
    else:
        # Any number of marks; no document begins with one of their bytes.
        return _WIDE_DECLARATION.sub(b"", body.lstrip(codecs.BOM_UTF8).lstrip(), count=1).lstrip()
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    pieces = [decoder.decode(body[start : start + _PIECE]) for start in range(0, len(body), _PIECE)]
    text = "".join((*pieces, decoder.decode(b"", True))).lstrip("\ufeff \t\r\n")
    return _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")


def _locations(sitemap: Sitemap) -> Iterator[str]:
    try:
        if sitemap.type not in ("urlset", "sitemapindex"):
            yield from _links(sitemap)
        for entry in sitemap:
            if location := entry["loc"]:
                yield location
    except SyntaxError:  # too broken for the parser's recovery: keep the URLs before the error
        return


def _links(feed: Sitemap) -> Iterator[str]:
    """The page of each entry: a feed lists new ones. Raises SyntaxError as the parser does."""
    for event, element in feed.xmliter:
        if event == "end" and _name(element) in _ENTRIES:
            for child in element:
                if _name(child) == "link" and child.get("rel") in _RELATIONS:
                    link = (child.get("href") or child.text or "").strip()
                    if link:
                        yield link
            element.clear()


def _name(element: Any) -> str:
    """Its name without its namespace; "" of anything but an element."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _lines(body: bytes) -> list[str]:
    """The URLs of a text file, one per line. Raises ValueError if a line is no URL."""
    lines = [line for raw in body.splitlines()[:MAX_URLS] if (line := raw.decode("utf-8", "replace").strip())]
    if not lines or not all(line.lower().startswith(("http://", "https://")) for line in lines):
        raise ValueError("neither XML nor a URL in every line")
    return lines
