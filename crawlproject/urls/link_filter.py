"""Filters links that need no request: a frozen set of rules, with the reason of each refusal."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import names_of, server_name
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MAX_URL_LENGTH = 2083  # Internet Explorer's limit, which sites respect; also Scrapy's URLLENGTH_LIMIT

NO_PATTERNS = UrlPatterns(())

#: Extensions of files that are not text.
# Images, sound, video, archives, office documents, parts of pages, programs.  Omitted: extensions that are also
# top-level domains (".ai", ".au", ".pub"), because pages about domains exist; and text (".py", ".rss"), which is read.
_NON_TEXT = """
avif bmp cdr cur drw dwg dxf eps gif heic heif ico jp2 jpe jpeg jpg jxl mng pct pcx png psd psp svg svgz tga tif
tiff webp
aac aif aiff amr flac kar m3u m4a mid midi mka mp3 oga ogg opus ra ram wav weba wma
3gp 3gpp asf asx avi divx f4v flv m2ts m4v mkv mov mp4 mpe mpeg mpg ogv qt rm rmvb swf vob webm wmv
7z 7zip ace arj bz2 cab cpio deb dmg gz img iso jar lz lzma lzo pst rar rpm sit tar tbz tbz2 tgz txz war whl xpi xz zip
zst
doc docb docm docx dot dotm dotx epub mobi odf odg odp ods odt ott pdf pot potm potx pps ppsx ppt pptm pptx ps rtf
vsd vsdx xls xlsb xlsm xlsx xlt xltm xltx
css eot js mjs otf ttf wasm woff woff2
apk appx bat bin cpl dll exe hta ipa msi msp pyc scr
"""
NON_TEXT_EXTENSIONS = frozenset(_NON_TEXT.split())


#: Maximum cached results; with ``MAX_LENGTH`` at most some 6 MB.
KNOWN_URLS = 16_384

#: Maximum length of a cached URL (characters): 16,384 URLs of 16 kB each would take 270 MB.
MAX_LENGTH = 256


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Rules for canonical URLs.

    A domain, in any spelling of ``server_name``, covers itself and its subdomains, ``domain:port`` only that port;
    a server (``https://host:port``) may be denied, too.  Raises ValueError naming an invalid domain.
    """

    allowed: frozenset[str] = frozenset()  # empty: every domain
    denied: frozenset[str] = frozenset()
    extensions: frozenset[str] = NON_TEXT_EXTENSIONS
    max_length: int = MAX_URL_LENGTH
    schemes: frozenset[str] = frozenset({"http", "https"})
    include: UrlPatterns = NO_PATTERNS  # empty: every URL
    exclude: UrlPatterns = NO_PATTERNS
    _server_reason: Callable[[str], Reason | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        allowed = frozenset(map(_domain, self.allowed))
        denied = frozenset(map(server_name, self.denied))

        @lru_cache(maxsize=16_384)  # some 3 MB
        def server_reason(server: str) -> Reason | None:
            scheme, _, netloc = server.partition("://")
            if scheme not in self.schemes or not netloc:
                return Reason.SCHEME
            if not denied.isdisjoint(names_of(server)):
                return Reason.DENIED
            return Reason.OFFSITE if allowed and allowed.isdisjoint(names_of(server)) else None

        object.__setattr__(self, "_server_reason", server_reason)

    def reason(self, url: str) -> Reason | None:
        """Reason why the canonical *url* is not followed; None if it is followed. O(length); 1 us.

        One of length, scheme, denied, offsite, extension, excluded (by patterns).
        """
        if len(url) > self.max_length:
            return Reason.LENGTH
        slash = url.find("/", 8)
        reason = self._server_reason(url[:slash])
        if reason is not None:
            return reason
        end = url.find("?", slash)
        if end < 0:
            end = len(url)
        dot = url.rfind(".", slash, end)
        if dot >= 0 and url[dot + 1 : end].lower() in self.extensions:
            return Reason.EXTENSION
        if self.exclude.match(url) or (self.include and not self.include.match(url)):
            return Reason.EXCLUDED
        return None

    def without_patterns(self) -> LinkFilter:
        """The same rules without ``include`` and ``exclude``: for seeds and sitemaps, which only lead to pages."""
        return replace(self, include=NO_PATTERNS, exclude=NO_PATTERNS)

    def denies(self, server: str) -> bool:
        """Whether the server key *server* belongs to a denied domain."""
        return self._server_reason(server) is Reason.DENIED


def is_domain(entry: object) -> bool:
    """Whether a ``LinkFilter`` accepts *entry* as a domain."""
    try:
        return isinstance(entry, str) and bool(_domain(entry))
    except ValueError:
        return False


def _domain(entry: str) -> str:
    with suppress(ValueError):
        name = server_name(entry)
        if "://" not in name:
            return name
    raise ValueError(f"not a domain, domain:port or IP address: {entry!r}")


def remembering(function: Callable[[str], T]) -> Callable[[str], T]:
    """``function`` with an LRU cache for short URLs: a site's pages share most of their links. O(1)."""
    known = lru_cache(KNOWN_URLS)(function)

    def ask(url: str) -> T:
        return known(url) if len(url) <= MAX_LENGTH else function(url)

    return ask
