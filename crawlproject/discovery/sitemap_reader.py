"""Reads sitemaps and sitemap indexes: XML or text, gzipped or not."""

from __future__ import annotations

import codecs
import logging
import re
from itertools import islice
from typing import TYPE_CHECKING

from scrapy.utils.gz import gunzip, gzip_magic_number
from scrapy.utils.sitemap import Sitemap

from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import stats_of
from crawlproject.links import Links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Response

from crawlproject.links import Kind

logger = logging.getLogger(__name__)

# Limits of the protocol (sitemaps.org) for one file: a larger file is rejected, further URLs are not read.
MAX_BYTES = 52_428_800
MAX_URLS = 50_000

#: The XML declaration: after recoding to UTF-8 its encoding is wrong.
_DECLARATION = re.compile(r"\A<\?xml[^>]{0,200}\?>")

#: Root element -> kind of file. The protocol also allows "rss" and "feed", but these do not list all pages.
_KINDS: dict[str, Kind] = {"urlset": "sitemap", "sitemapindex": "sitemap index"}


async def sitemap_links(response: Response, crawler: Crawler, index_callback: Callable[..., Any]) -> Links:
    """The links of a sitemap, for a callback to yield; none if malformed. A large one is parsed off the event loop.

    ``index_callback`` parses the sitemaps that an index lists; usually the calling callback itself.
    Stats: ``frontier/sitemaps/fetched``, ``frontier/sitemaps/malformed``.
    """
    stats = stats_of(crawler)
    limit = min(MAX_BYTES, crawler.settings.getint("DOWNLOAD_MAXSIZE") or MAX_BYTES)
    stats.inc_value("frontier/sitemaps/fetched")
    try:
        if len(response.body) > LARGE or gzip_magic_number(response):
            kind, urls = await off_loop(read_sitemap, response, limit)
        else:
            kind, urls = read_sitemap(response, limit)
    except (ValueError, OSError, EOFError) as error:
        stats.inc_value("frontier/sitemaps/malformed")
        logger.warning("Sitemap ignored: %s: %s", response, error)
        kind, urls = "sitemap", []
    return Links(response, urls, kind=kind, callback=index_callback if kind == "sitemap index" else None)


def read_sitemap(response: Response, max_bytes: int = MAX_BYTES) -> tuple[Kind, list[str]]:
    """The kind of a sitemap and its first ``MAX_URLS`` URLs. O(length).

    Raises ValueError if it is too large or neither sitemap XML nor text, OSError and EOFError if decompression fails.
    """
    body = response.body
    if gzip_magic_number(response):
        body = gunzip(body, max_size=max_bytes)
    if len(body) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes")
    body = _as_utf_8(body)
    if not body.startswith(b"<"):
        return "sitemap", _lines(body)
    try:
        sitemap = Sitemap(body)
    except (SyntaxError, StopIteration) as error:  # lxml's XMLSyntaxError is a SyntaxError
        raise ValueError(f"invalid XML: {error}") from error
    if sitemap.type not in _KINDS:
        raise ValueError(f"neither urlset nor sitemapindex: {sitemap.type[:50]!r}")
    return _KINDS[sitemap.type], list(islice(_locations(sitemap), MAX_URLS))


def _as_utf_8(body: bytes) -> bytes:
    """``body`` without byte order mark and leading white space; UTF-16 recoded as UTF-8.

    UTF-16 without a mark is detected by the NUL next to the first character, which is ASCII ("<" or "h").
    """
    if body.startswith(codecs.BOM_UTF16_LE) or (body[1:2] == b"\0" and body[:1] != b"\0"):
        encoding = "utf-16-le"
    elif body.startswith(codecs.BOM_UTF16_BE) or (body[:1] == b"\0" and body[1:2] not in (b"", b"\0")):
        encoding = "utf-16-be"
    else:
        return body.removeprefix(codecs.BOM_UTF8).lstrip()
    text = body.decode(encoding, "replace").lstrip("\ufeff \t\r\n")
    return _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")


def _locations(sitemap: Sitemap) -> Iterator[str]:
    try:
        for entry in sitemap:
            if location := entry["loc"]:
                yield location
    except SyntaxError:  # too broken for the parser's recovery: keep the URLs before the error
        return


def _lines(body: bytes) -> list[str]:
    """The URLs of a text file, one per line. Raises ValueError if a line is no URL."""
    lines = [line for raw in body.splitlines()[:MAX_URLS] if (line := raw.decode("utf-8", "replace").strip())]
    if not lines or not all(line.lower().startswith(("http://", "https://")) for line in lines):
        raise ValueError("neither XML nor a URL in every line")
    return lines
