"""The settings ``LINKS_*`` and ``URL_DROP_PARAMETERS``, and Scrapy's limits on links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from crawlproject.options.values import Options, Reader
from crawlproject.urls import DEFAULT_DROP_PARAMS, NON_TEXT_EXTENSIONS, Canonicalizer, UrlPatterns

if TYPE_CHECKING:
    from pathlib import Path

#: Text, and formats that are text: HTML, XML and its derivatives, JSON.
DEFAULT_TYPES = ("text/*", "application/xhtml+xml", "application/xml", "*/*+xml", "application/json", "*/*+json")

_type = re.compile(r"[a-z0-9!#$&^_.+-]+|\*", re.IGNORECASE).fullmatch


@dataclass(frozen=True)
class LinkOptions(Options):
    """Which links are followed, in which form, and what else is done with them."""

    #: Links must match one of these patterns, if there are any.
    include: UrlPatterns
    #: And none of these.
    exclude: UrlPatterns
    canonicalizer: Canonicalizer
    #: Media types of the answers that are read; None: all.
    types: re.Pattern[str] | None
    #: Links with these extensions are judged by the answers of their server.
    skip_extensions: frozenset[str]
    #: Answers needed until such links are skipped; 0: they always are.
    skip_after: int
    #: Whether the sitemaps that robots.txt names are fetched.
    sitemaps: bool
    #: The file that each page's links are written to.
    record: Path | None
    #: Links further from the seeds are not followed; 0: no limit.
    max_depth: int
    #: Longer URLs are not followed; 0: ``LinkFilter``'s limit.
    max_length: int

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        return cls(
            include=_patterns(reader, "LINKS_INCLUDE"),
            exclude=_patterns(reader, "LINKS_EXCLUDE"),
            canonicalizer=_canonicalizer(reader),
            types=_types(reader.strings("LINKS_TYPES", unset=DEFAULT_TYPES)),
            skip_extensions=frozenset(reader.strings("LINKS_SKIP_EXTENSIONS", unset=NON_TEXT_EXTENSIONS)),
            # One answer may be an error page; three of a kind are no accident.
            skip_after=reader.count("LINKS_SKIP_AFTER", 3),
            # Off: one file may list 50,000 pages of a server of which nothing else is known.
            sitemaps=reader.switch("LINKS_SITEMAPS", False),
            # Off: the record takes as much space as the pages' links.
            record=reader.path_in_job("LINKS_FILE"),
            max_depth=reader.count("DEPTH_LIMIT", 0),
            max_length=reader.count("URLLENGTH_LIMIT", 0),
        )


def _patterns(reader: Reader, name: str) -> UrlPatterns:
    patterns = reader.strings(name, [])
    try:
        return UrlPatterns(patterns)
    except ValueError as error:
        raise ValueError(f"{name}={error}") from error


def _canonicalizer(reader: Reader) -> Canonicalizer:
    parameters = reader.strings("URL_DROP_PARAMETERS", unset=DEFAULT_DROP_PARAMS)
    try:
        return Canonicalizer(parameters)
    except ValueError as error:
        raise ValueError(f"URL_DROP_PARAMETERS={error}") from error


def _types(types: tuple[str, ...]) -> re.Pattern[str] | None:
    pattern = re.compile("|".join(map(_pattern, types)), re.IGNORECASE)
    return None if not types or "*/*" in types else pattern


def _pattern(media_type: str) -> str:
    """``text/*`` or ``*/*+xml`` as a regular expression."""
    parts = media_type.split("/")
    if len(parts) != 2 or not all(_type(part.removeprefix("*")) or part == "*" for part in parts):
        raise ValueError(f"LINKS_TYPES={media_type!r}: must be media types such as text/html, text/* or */*+xml")
    return re.escape(media_type).replace(r"\*", "[^/]*")
