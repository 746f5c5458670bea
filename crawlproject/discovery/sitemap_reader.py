"""What stands in a sitemap: XML, text, gzipped or not; an index of sitemaps as well."""

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

# What the protocol (sitemaps.org) allows of one file; the rest is not read.
MAX_BYTES = 52_428_800
MAX_URLS = 50_000

#: XML's declaration, which names an encoding that holds no longer.
_DECLARATION = re.compile(r"\A<\?xml[^>]{0,200}\?>")

#: Root element -> what a file is; "rss" and "feed", which the protocol allows too, are no lists of all pages.
_KINDS: dict[str, Kind] = {"urlset": "sitemap", "sitemapindex": "sitemap index"}


async def sitemap_links(response: Response, crawler: Crawler, index_callback: Callable[..., Any]) -> Links:
    """The links of a sitemap, none of a malformed one, for a callback to yield. A large one is read off the event loop.

    ``index_callback`` parses the sitemaps of an index: the callback itself.
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
    """Whether it lists pages or sitemaps, and which, the first ``MAX_URLS``. O(length).

    Raises ValueError where it is neither XML of the protocol nor text, OSError and EOFError if it cannot be unpacked.
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
        raise ValueError(f"no XML: {error}") from error
    if sitemap.type not in _KINDS:
        raise ValueError(f"neither urlset nor sitemapindex: {sitemap.type[:50]!r}")
    return _KINDS[sitemap.type], list(islice(_locations(sitemap), MAX_URLS))


def _as_utf_8(body: bytes) -> bytes:
    """``body`` without its byte order mark and the white space before its text; UTF-16 as UTF-8.

    UTF-16 without a mark shows by the NUL beside the first character, which is "<" or that of a URL.
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
    except SyntaxError:  # too broken even for recovery: what came before counts
        return


def _lines(body: bytes) -> list[str]:
    """The URLs of a text file, one a line; ValueError where a line is something else."""
    lines = [line for raw in body.splitlines()[:MAX_URLS] if (line := raw.decode("utf-8", "replace").strip())]
    if not lines or not all(line.lower().startswith(("http://", "https://")) for line in lines):
        raise ValueError("neither XML nor a URL in every line")
    return lines
