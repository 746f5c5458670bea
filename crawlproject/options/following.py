"""The settings ``FRONTIER_LINKS_*`` and ``FRONTIER_DROP_PARAMETERS``, and Scrapy's limits on links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.misc import load_object

from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls.canonical import Canonicalizer
from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS
from crawlproject.urls.link_filter import NON_TEXT_EXTENSIONS
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")

#: Text, and formats that are text: HTML, XML and its derivatives, JSON.
DEFAULT_TYPES = ("text/*", "application/xhtml+xml", "application/xml", "*/*+xml", "application/json", "*/*+json")

_type = re.compile(r"[a-z0-9!#$&^_.+-]+|\*", re.IGNORECASE).fullmatch


def _made(name: str, make: Callable[[tuple[str, ...]], T], values: tuple[str, ...]) -> T:
    try:
        return make(values)
    except ValueError as error:  # begins with the wrong one
        raise ValueError(f"{name}={error}") from error


def _patterns(reader: Reader, name: str) -> UrlPatterns:
    return _made(name, UrlPatterns, reader.strings(name, []))


def _canonicalizer(reader: Reader) -> Canonicalizer:
    name = "FRONTIER_DROP_PARAMETERS"
    return _made(name, Canonicalizer, reader.strings(name, unset=DEFAULT_DROP_PARAMS))


def _readers(reader: Reader) -> dict[str, Any]:
    found = {}
    for media, path in reader.dictionary("FRONTIER_LINKS_READERS").items():
        _pattern(media)
        try:
            made = load_object(path)()
        except (ImportError, NameError, AttributeError, ValueError, TypeError) as error:
            raise ValueError(f"FRONTIER_LINKS_READERS: {media}: {path!r:.200}: {error}") from error
        if not callable(getattr(made, "links", None)):
            raise ValueError(f"FRONTIER_LINKS_READERS: {media}: {path!r:.200}: the class must have links(response)")
        found[media.lower()] = made
    return found


def _types(reader: Reader) -> re.Pattern[str] | None:
    types = reader.strings("FRONTIER_LINKS_TYPES", unset=DEFAULT_TYPES)
    types += tuple(reader.dictionary("FRONTIER_LINKS_READERS")) if types else ()
    pattern = re.compile("|".join(map(_pattern, types)), re.IGNORECASE)
    return None if not types or "*/*" in types else pattern


def _pattern(media_type: str) -> str:
    parts = media_type.split("/")
    if len(parts) != 2 or not all(_type(part.removeprefix("*")) or part == "*" for part in parts):
        raise ValueError(
            f"FRONTIER_LINKS_TYPES={media_type!r}: must be media types such as text/html, text/* or */*+xml"
        )
    return re.escape(media_type).replace(r"\*", "[^/]*")


@dataclass(frozen=True)
class LinkOptions(Options):
    """Which links are followed, in which form, and what else is done with them.

    FRONTIER_LINKS_INCLUDE: [patterns](limits.md#patterns) of URLs; only matching links are followed
    FRONTIER_LINKS_EXCLUDE: patterns of URLs; matching links are not followed
    FRONTIER_DROP_PARAMETERS: parameters removed from URLs: `name`, `prefix*`,
        `;name` (in the path); default: a built-in list
    FRONTIER_LINKS_FILE: file of each page's links, for `scrapy pagerank` and `scrapy simulate`; `.gz` compresses
    FRONTIER_LINKS_SITEMAPS: fetch the sitemaps that robots.txt names; the spider needs `parse_sitemap`, as `web` has
    FRONTIER_LINKS_SKIP_EXTENSIONS: extensions not followed on servers that answer them with files; default: a built-in
        list
    FRONTIER_LINKS_SKIP_AFTER: answers after which links with such an extension are skipped; 0: always
    FRONTIER_LINKS_TYPES: media types read, such as `text/html`, `text/*`, `*/*`; default: `text/*`, HTML, XML, JSON
    FRONTIER_LINKS_READERS: media type: path of a class that finds the links of such content
        ([how](architecture.md#add-a-content-type))
    URLLENGTH_LIMIT: Scrapy's: longer URLs are not followed; 0: no limit
    DEPTH_LIMIT: Scrapy's: links farther from the seeds are not followed; 0: no limit
    """

    include: UrlPatterns = setting(_patterns, "FRONTIER_LINKS_INCLUDE")
    exclude: UrlPatterns = setting(_patterns, "FRONTIER_LINKS_EXCLUDE")
    canonicalizer: Canonicalizer = setting(_canonicalizer)
    #: Media types of the answers that are read; None: all.
    types: re.Pattern[str] | None = setting(_types)
    #: Media type -> what finds the links of such content, besides ``discovery.page_reading.TYPES``.
    readers: dict[str, Any] = setting(_readers)
    skip_extensions: frozenset[str] = setting(
        lambda reader: frozenset(reader.strings("FRONTIER_LINKS_SKIP_EXTENSIONS", unset=NON_TEXT_EXTENSIONS))
    )
    # One answer may be an error page; three of a kind are no accident.
    skip_after: int = setting(Reader.count, "FRONTIER_LINKS_SKIP_AFTER", 3)
    # Off: one file may list 50,000 pages of a server of which nothing else is known.
    sitemaps: bool = setting(Reader.switch, "FRONTIER_LINKS_SITEMAPS", False)
    # Off: the record takes as much space as the pages' links.
    record: Path | None = setting(Reader.path_in_job, "FRONTIER_LINKS_FILE")
    max_depth: int = setting(Reader.count, "DEPTH_LIMIT", 0)
    #: Longer URLs are not followed; 0: ``LinkFilter``'s limit.
    max_length: int = setting(Reader.count, "URLLENGTH_LIMIT", 0)
