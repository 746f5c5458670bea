"""Patterns of URLs that operators write, as in robots.txt; matched in time linear in the URL, whatever the patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import re2

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Most patterns, and the length of each: RE2 takes 8 MB for them at most.
MAX_PATTERNS = 1000
MAX_LENGTH = 2083

#: What may stand in a canonical URL as it is.
_AS_IT_IS = "%/:?#[]@!$&'()+,;=~"

_REGEX = "re:"


class UrlPatterns:
    """A URL matches one of ``patterns`` or none; O(length).

    A pattern is what a URL begins with; ``*`` stands for any characters, a ``$`` at the end for the URL's end.  One
    that begins with ``/`` is compared from the path on, on every server, one with ``http://``, ``https://`` or ``*``
    from the scheme on.  ``re:`` stands before an RE2 regular expression, searched for anywhere in the URL.
    Raises ValueError for a pattern that is none of these.

    >>> docs = UrlPatterns(["/docs/", "*.pdf$", "re:/[0-9]{4}/"])
    >>> docs.match("https://a.example/docs/1"), docs.match("https://a.example/x.pdf"), docs.match("https://a.example/")
    (True, True, False)
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        expressions = [_expression(pattern) for pattern in patterns]
        if len(expressions) > MAX_PATTERNS:
            raise ValueError(f"{len(expressions)} patterns: at most {MAX_PATTERNS} can be used")
        self._search = _compiled("|".join(expressions), "patterns").search if expressions else None

    def __bool__(self) -> bool:
        return self._search is not None

    def match(self, url: str) -> bool:
        """Whether the canonical ``url`` matches one of the patterns."""
        return self._search is not None and self._search(url) is not None


def _expression(pattern: str) -> str:
    if len(pattern) > MAX_LENGTH:
        raise ValueError(f"{pattern[:80]!r}...: a pattern has at most {MAX_LENGTH} characters")
    if pattern.startswith(_REGEX):
        expression = f"(?:{pattern.removeprefix(_REGEX)})"
        _compiled(expression, pattern)
        return expression
    if pattern.startswith("/") and not pattern.startswith("//"):
        start = "^[a-z]+://[^/]*"
    elif pattern.startswith(("http://", "https://", "*")):
        start = "^"
    else:
        raise ValueError(f"{pattern!r}: a pattern begins with /, *, http://, https:// or re:")
    body = pattern.removesuffix("$")
    wild = ".*".join(re2.escape(quote(part, safe=_AS_IT_IS)) for part in body.split("*"))
    return f"(?:{start}{wild}{'$' if body != pattern else ''})"


def _compiled(expression: str, written: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{written[:80]!r}: {reason}") from error
