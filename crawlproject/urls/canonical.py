"""Converts URLs to their canonical form, by which the crawl identifies them.

Links are resolved by the WHATWG URL standard, as in browsers.  Then the normalisations of RFC 3986 section 6.2.2-6.2.3
that do not change the resource are applied, and the parameters of :mod:`.drop_params` are removed.  The order of
parameters, empty parameters and empty path segments are kept: servers do distinguish them.

The parser is ada-url (4.0: all 978 web-platform-tests vectors right, 2.4-3 us per URL), not can_ada (3.0: 0.5-1 us,
but 29 vectors wrong, including existing hosts): 99 in 100 links are plain, and need no parser.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import ada_url

from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS, DropRules
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986 section 2.3
_NOT_IN_RFC_3986 = "[]\\^`{|}"  # raw in some paths and queries of the URL standard, never in RFC 3986


def _escape_table() -> dict[str, str]:
    table = {char: f"%{ord(char):02X}" for char in _NOT_IN_RFC_3986} | {"%": "%25"}
    digits = "0123456789abcdefABCDEF"
    for escape in (f"%{high}{low}" for high in digits for low in digits):
        char = chr(int(escape[1:], 16))
        table[escape] = char if char in _UNRESERVED else escape.upper()
    return table


_ESCAPES = _escape_table()
# Escapes that are already canonical.
_CANONICAL_HEX = r"(?:[01][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF]|[89A-F][0-9A-F])"
_to_escape = re.compile(rf"%(?!{_CANONICAL_HEX})(?:[0-9A-Fa-f]{{2}})?|[\[\]\\^`{{|}}]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]+")
_CHARACTER_REFERENCE = re.compile(rb"&#([0-9]+);")
_ASCII = bytes(range(128))
_AS_UTF_8 = ("utf-8", "utf8", "utf-16", "utf-32")  # encodings whose queries the URL standard escapes as UTF-8
#: Matches a reference with a scheme other than http(s), such as ``mailto:``.
has_other_scheme = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII).match

#: Maximum length of a reference (characters, without its fragment); longer ones are malformed.  Servers accept some
#: 8,000 bytes (RFC 9110 section 4.1), and escapes or "../" may double that.
MAX_REFERENCE = 16_384
#: Maximum length of user, host and port: a host name has at most 253 characters.  IDNA takes quadratic time.
MAX_AUTHORITY = 512
_has_long_authority = re.compile(
    rf"[\x00-\x20]*(?:https?:[/\\]*+|[/\\]{{2,}}+)[^/\\?#]{{{MAX_AUTHORITY + 1}}}", re.IGNORECASE | re.ASCII
).match
_ignored = str.maketrans("", "", "\t\n\r")  # by the URL standard, at any position

_leading_dots = re.compile(r"(?:\./)?((?:\.\./|(?!))*+)(?!\.)").match

# A link is plain if it only has to be joined to the directory of its base: characters that need no escape, escapes that
# are already canonical, no ":" that could end a scheme, nothing that ends the host early.
_ESCAPE = f"%{_CANONICAL_HEX}"
_IN_NAME = r"[/A-Za-z0-9_.~!$&'()*+,;=@-]"
_IN_PATH = r"[/A-Za-z0-9_.~!$&'()*+,;=@:-]"
_IN_QUERY = r"[/A-Za-z0-9_.~!$&()*+,;=@:?-]"
_plain_link = re.compile(
    r"(?:(https?://[A-Za-z0-9.-]{1,255}+(?::[0-9]{1,5}+|(?!))?+)|(?!))?+"
    rf"(/{_IN_PATH}*+(?:{_ESCAPE}{_IN_PATH}*+|(?!))*+|{_IN_NAME}*+(?:{_ESCAPE}{_IN_NAME}*+|(?!))*+)"
    rf"(\?{_IN_QUERY}*+(?:{_ESCAPE}{_IN_QUERY}*+|(?!))*+)?"
).fullmatch


class _Base(NamedTuple):
    """The prefixes for a page's plain links, in canonical form; None if only the parser can resolve a link."""

    url: str
    encoding: str
    origin: str | None = None
    directory: str | None = None
    page: str | None = None  # without query
    itself: str | None = None


def resolve(url: str, base: str | None = None, encoding: str = "utf-8") -> str | None:
    """The absolute http(s) URL of the reference *url* on a page at *base*, without fragment.

    None if it is malformed, has another scheme or exceeds MAX_REFERENCE.  *encoding* is the page's: it determines the
    bytes of a query's non-ASCII characters (the URL standard's "percent-encode after encoding").  O(length); 3 us.
    """
    url = _without_fragment(url)
    if is_too_long(url):
        return None
    if "?" in url and not url.isascii() and not encoding.lower().startswith(_AS_UTF_8):
        url = _encode_query(url, encoding)
    base = None if base is None else _without_fragment(base)
    href = None if base is None or is_too_long(base) else _parse(url, base)
    if href is None:  # no base, or a malformed base
        href = _parse(url, None)
    if href is None or not href.startswith(("http://", "https://")):
        return None
    return href.removesuffix("#")


def resolve_redirect(url: str, base: str, encoding: str = "utf-8") -> str | None:
    """``resolve(url, base, encoding)``; None, too, if no server can have its host, as of ``http://./``. O(length)."""
    href = resolve(url, base, encoding)
    return None if href is None or origin_of(href[: href.index("/", 8)]) is None else href


def canonical_escapes(part: str) -> str:
    """The ASCII text *part* of a path or query, with each character and escape in its canonical spelling. O(length).

    >>> canonical_escapes("/%7euser/%c3%bc?a[]=%zz")
    '/~user/%C3%BC?a%5B%5D=%25zz'
    """
    return _to_escape.sub(lambda escape: _ESCAPES[escape[0]], part)


def reference_of(raw: bytes) -> str:
    """The reference that a header or a file has as *raw* bytes: those beyond ASCII as escapes, as in browsers.

    O(length).

    >>> reference_of("/ü".encode("latin-1")), reference_of("http://ü.example/".encode())
    ('/%FC', 'http://%C3%BC.example/')
    """
    return raw.decode("latin-1") if raw.isascii() else quote(raw, safe=_ASCII)


def why_none(url: str) -> Reason:
    """Reason why *url* has no canonical form: length, scheme (not http(s)) or malformed. O(1)."""
    if is_too_long(_without_fragment(url)):
        return Reason.LENGTH
    return Reason.SCHEME if has_other_scheme(url.lstrip()) else Reason.MALFORMED


def is_too_long(url: str) -> bool:
    """Whether *url*, a reference without its fragment, or its authority exceeds the maximum length. O(length)."""
    if len(url) <= MAX_AUTHORITY:
        return False
    return len(url) > MAX_REFERENCE or _has_long_authority(url.translate(_ignored)) is not None


def origin_of(prefix: str) -> str | None:
    """The canonical scheme://host[:port] of *prefix*, the part of an http(s) URL before its path; None if malformed.

    3-6 us, 0.15 us if the prefix is cached (the last 65,536, at most some 15 MB).
    """
    if len(prefix) > 300:  # longer than any DNS name: not worth a cache entry
        return None if is_too_long(prefix) else _origin(prefix)
    return _cached_origin(prefix)


class Canonicalizer:
    """Converts URLs to canonical form, without *drop_params* (syntax: :mod:`.drop_params`)."""

    def __init__(self, drop_params: Iterable[str] = DEFAULT_DROP_PARAMS) -> None:
        self._rules = DropRules.compile(drop_params)

    def canonical(self, url: str, base: str | None = None, encoding: str = "utf-8") -> str | None:
        """The canonical form of *url* on a page at *base* in *encoding*; None if it is malformed or not http(s).

        Idempotent; never raises.  O(length); about 5 us, half of it if *url* is absolute and plain.
        """
        plain = self._absolute(url) if base is None else None
        if plain is not None:
            return plain
        href = resolve(url, base, encoding)
        return None if href is None else self._tidy(href)

    def batch(self, hrefs: Iterable[str], base: str, encoding: str = "utf-8") -> list[str | None]:
        """``[canonical(href, base, encoding) for href in hrefs]``, in 1-2 us per link if most are plain."""
        prepared = self._prepare(base, encoding)
        return [self._link(href, prepared) for href in hrefs]

    def _prepare(self, base: str, encoding: str) -> _Base:
        itself = self._absolute(base)
        if itself is not None and "/." not in itself:
            page = itself.partition("?")[0]
            origin, directory = page[: page.index("/", 8)], page[: page.rindex("/") + 1]
            return _Base(base, encoding, origin, directory, page, itself)
        href = resolve(base)
        if href is None:
            return _Base(base, encoding)
        page = href.partition("?")[0]
        return _Base(
            base,
            encoding,
            origin=origin_of(page[: page.index("/", 8)]),
            directory=None if "/." in page else self._tidy(page[: page.rindex("/") + 1]),
            page=self._tidy(page),
            itself=self._tidy(href),
        )

    def _absolute(self, url: str) -> str | None:
        """The canonical form of *url* if it is absolute and plain; None if it is not."""
        link = url[: url.index("#")] if "#" in url else url
        match = _plain_link(link) if len(link) <= MAX_REFERENCE else None
        prefix, path, query = match.groups() if match is not None else (None, "", None)
        if prefix is None or path[:1] not in ("", "/"):
            return None
        return self._joined(origin_of(prefix), path or "/", query)

    def _joined(self, start: str | None, path: str, query: str | None) -> str | None:
        """The canonical URL of a plain link's parts; None if only the parser can find it."""
        rest = path if query is None or query == "?" else path + query
        if start is None or "/." in path or ((rest != path or ";" in path) and self._rules.may_strip(rest)):
            return None
        return start + rest

    def _link(self, href: str, base: _Base) -> str | None:
        """The canonical form of one link, by joining strings if it is plain, else by :meth:`canonical`."""
        link = href[: href.index("#")] if "#" in href else href
        if not link and base.itself is not None:
            return base.itself
        if len(link) > MAX_REFERENCE:
            return None
        match = _plain_link(link)
        if match is None:
            return None if has_other_scheme(link) else self.canonical(href, base.url, base.encoding)
        prefix, path, query = match.groups()
        if path[:2] == "//" and prefix is None and base.origin is not None:
            return self._link(f"{base.origin.partition(':')[0]}:{link}", base)
        if path[:1] == "." and prefix is None:
            start, path = _climb(path, base)
        else:
            start = _start(prefix, path, base)
            path = path or ("" if prefix is None else "/")
        return self._joined(start, path, query) or self.canonical(href, base.url, base.encoding)

    def _tidy(self, href: str) -> str | None:
        slash = href.index("/", 8)
        origin = origin_of(href[:slash])
        if origin is None:
            return None
        rest = self._rules.strip(canonical_escapes(href[slash:]))
        if rest.endswith("?") and rest.count("?") == 1:
            rest = rest[:-1]
        if "/." in rest:  # "/a/..;jsessionid=1" has become "/a/.."
            return _parse(origin + rest, None)
        return origin + rest


def _start(prefix: str | None, path: str, base: _Base) -> str | None:
    if prefix is not None:
        return origin_of(prefix) if path[:1] in ("", "/") else None
    if path:
        return base.origin if path[0] == "/" else base.directory
    return base.page


def _climb(path: str, base: _Base) -> tuple[str | None, str]:
    """Resolve the leading "./" and "../" of *path*; returns the part before the rest, and the rest."""
    match = _leading_dots(path)
    if match is None or base.directory is None or base.origin is None:
        return None, path
    start = base.directory
    if climb := len(match[1]) // len("../"):
        start = start.rsplit("/", climb + 1)[0] + "/"
    return max(start, base.origin + "/", key=len), path[match.end() :]


def _without_fragment(url: str) -> str:
    """*url* without the fragment's text; keeps its "#", else white space before it would be trailing and stripped."""
    return url[: url.index("#") + 1] if "#" in url else url


def _parse(url: str, base: str | None) -> str | None:
    try:
        return ada_url.normalize_url(url) if base is None else ada_url.join_url(base, url)
    except ValueError:
        return None


def _origin(prefix: str) -> str | None:
    href = _parse(f"{prefix}/", None)
    if href is None:
        return None
    scheme, _, authority = href[: href.index("/", 8)].partition("://")
    host = authority.rpartition("@")[2]
    whole = _without_trailing_dots(host)
    if whole == host:
        return f"{scheme}://{host}"
    href = _parse(f"{scheme}://{whole}/", None)  # "0x7f.1.." becomes an IP address, ".." empty
    return None if href is None else href[:-1]


def _without_trailing_dots(host: str) -> str:
    """*host*, which may have a port, without the dots at the end of its name. O(length)."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdecimal():
        return f"{name.rstrip('.')}:{port}"
    return host.rstrip(".")


_cached_origin = lru_cache(maxsize=65_536)(_origin)


def _encode_query(url: str, encoding: str) -> str:
    """*url* with its query's non-ASCII characters as escaped bytes of *encoding*; unchanged if that is unknown."""

    def escape(match: re.Match[str]) -> str:
        raw = match[0].encode(encoding, "xmlcharrefreplace")  # as forms do with characters missing in the encoding
        return quote(_CHARACTER_REFERENCE.sub(rb"%26%23\1%3B", raw), safe="%!$()*+,/:;=?@")

    head, mark, query = url.partition("?")
    try:
        return head + mark + _NON_ASCII.sub(escape, query)
    except (LookupError, ValueError):
        return url
