"""URL patterns written by operators, as in robots.txt; matching is linear in the URL for any patterns."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import ada_url
import re2

from crawlproject.urls.canonical import canonical_escapes, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Maximum number of patterns, and maximum length of each: RE2 takes at most 8 MB for them.
MAX_PATTERNS = 1000
MAX_LENGTH = 2083

#: Punctuation that servers take for the same with and without an escape: a pattern matches both spellings.
_EITHER = {char: f"%{ord(char):02X}" for char in "!'()*,:;@$"}
_ESCAPES = {escape: char for char, escape in _EITHER.items()}
_pieces = re.compile(r"%[0-9A-F]{2}|.", re.DOTALL).findall
_escape = re.compile(r"%[0-9A-Fa-f]{2}")
_ascii_labels = re.compile(r"(?<![^/.])xn--[^/.]+").sub
_start = re.compile(r"(https?|\*)://([^/?#]*)", re.IGNORECASE).match
_has_dots = re.compile(r"/(?:\.|%2e){1,2}(?:/|\$?\Z)", re.IGNORECASE).search

#: Signs that stay, or get their escapes by ``canonical_escapes``.
_ASCII_SIGNS = "!#$%&'()*+,/:;=?@[]\\^`{|}~"
_REGEX = "re:"


class UrlPatterns:
    """Matches URLs against ``patterns``; O(length).

    A pattern matches the start of a URL; ``*`` stands for any characters, a final ``$`` for the URL's end.  A pattern
    that begins with ``/`` is matched from the path on, on every server; one that begins with ``http://``, ``https://``
    or ``*``, from the scheme on.  ``re:`` precedes an RE2 regular expression, searched for anywhere in the URL; one
    with characters beyond ASCII also in the URL as people read it, without escapes and ``xn--``.
    The spelling of hosts and escapes does not matter.  Raises ValueError for any other pattern, and for one that no URL
    can match.

    >>> docs = UrlPatterns(["/docs/", "*.pdf$", "re:/[0-9]{4}/"])
    >>> docs.match("https://a.example/docs/1"), docs.match("https://a.example/x.pdf"), docs.match("https://a.example/")
    (True, True, False)
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        written = list(patterns)
        if len(written) > MAX_PATTERNS:
            raise ValueError(f"{len(written)} patterns: at most {MAX_PATTERNS} can be used")
        #: Whether a URL has matched one of them.
        self.has_matched = False
        self._search = _searching(map(_expression, written))
        readable = [one for one in written if one.startswith(_REGEX) and not one.isascii()]
        self._search_readable = _searching(map(_expression, readable))

    def __bool__(self) -> bool:
        return self._search is not None

    def match(self, url: str) -> bool:
        """Whether the canonical ``url`` matches one of the patterns."""
        if self._search is None:
            return False
        matches = self._search(url) is not None or (
            self._search_readable is not None and self._search_readable(_readable(url)) is not None
        )
        self.has_matched = self.has_matched or matches
        return matches


def _searching(expressions: Iterable[str]) -> Callable[[str], object] | None:
    joined = "|".join(expressions)
    return regular_expression(joined).search if joined else None


def _readable(url: str) -> str:
    start = url.find("/", 8)
    return _ascii_labels(lambda label: ada_url.idna_to_unicode(label[0]), url[:start]) + unquote(url[start:])


def _expression(pattern: str) -> str:
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"{pattern[:80]!r}...: a pattern has at most {MAX_LENGTH} characters")
    if pattern.startswith(_REGEX):
        expression = f"(?:{_escape.sub(_in_regex, pattern.removeprefix(_REGEX))})"
        try:
            regular_expression(expression)
        except ValueError as error:
            raise ValueError(f"{pattern[:80]!r}: {error}") from error
        return expression
    if "#" in pattern:
        raise ValueError(f"{pattern[:80]!r}: no URL has a fragment here; a # in a path or query is written %23")
    if _has_dots(pattern.partition("?")[0]):
        raise ValueError(f"{pattern[:80]!r}: no URL has the path segments . and .. here")
    end = "$" if pattern.endswith("$") else ""
    body = pattern.removesuffix("$")
    if (match := _start(body)) is not None:
        rest = body[match.end() :]
        schemes = ("http", "https") if match[1] == "*" else (match[1].lower(),)
        starts = "|".join(f"{scheme}://{_host(match[2], scheme, is_whole=bool(rest))}" for scheme in schemes)
        return f"(?:^(?:{starts}){_wild(rest)}{end})"
    if body.startswith("/") and not body.startswith("//"):
        return f"(?:^[a-z]+://[^/]*{_wild(body)}{end})"
    if not body.startswith("*"):
        raise ValueError(f"{pattern!r}: a pattern begins with /, *, http://, https:// or re:")
    either = f"^{_wild(body)}{end}"
    head, slash, rest = body.partition("/")
    if slash and (head != head.lower() or not head.isascii()):  # "*.H.TEST/": what ends a host, or a part of the path
        with suppress(ValueError):
            either += f"|^[a-z]+://{_host(head, 'http', is_whole=True)}{_wild(slash + rest)}{end}"
    return f"(?:{either})"


def _host(written: str, scheme: str, *, is_whole: bool) -> str:
    """The expression for a host, and a port, which may have ``*``; without ``is_whole`` for the start of one."""
    if "*" not in written and is_whole and (origin := origin_of(f"{scheme}://{written}")) is not None:
        written = origin.partition("://")[2]
    else:
        labels = written.rpartition("@")[2].lower().split(".")
        written = ".".join(label if label.isascii() else _ascii_label(label) for label in labels)
        if is_whole:
            written = written.removesuffix({"http": ":80", "https": ":443"}[scheme]).rstrip(".")
    return "[^/]*".join(map(re2.escape, written.split("*")))


def _ascii_label(label: str) -> str:
    origin = None if "*" in label else origin_of(f"http://{label}")
    if origin is None:
        raise ValueError(f"{label[:80]!r}: is no part of a host name; a * stands beside ASCII characters only")
    return origin.partition("://")[2]


def _wild(written: str) -> str:
    parts = (_pieces(canonical_escapes(quote(part, safe=_ASCII_SIGNS))) for part in written.split("*"))
    return ".*".join("".join(map(_piece, pieces)) for pieces in parts)


def _piece(piece: str) -> str:
    char = _ESCAPES.get(piece, piece)
    return f"(?:{re2.escape(char)}|{_EITHER[char]})" if char in _EITHER else re2.escape(piece)


def _in_regex(match: re.Match[str]) -> str:
    canonical = canonical_escapes(match[0])
    return canonical if canonical.startswith("%") else str(re2.escape(canonical))


def regular_expression(expression: str) -> re2._Regexp:
    """RE2, which logs no errors. Raises ValueError."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not valid"
        raise ValueError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from error
