"""URL patterns written by operators, as in robots.txt; matching is linear in the URL for any patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import re2

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Maximum number of patterns, and maximum length of each: RE2 takes at most 8 MB for them.
MAX_PATTERNS = 1000
MAX_LENGTH = 2083

#: Characters that need no escape in a canonical URL.
_AS_IT_IS = "%/:?#[]@!$&'()+,;=~"

_REGEX = "re:"


class UrlPatterns:
    """Matches URLs against ``patterns``; O(length).

    A pattern matches the start of a URL; ``*`` stands for any characters, a final ``$`` for the URL's end.  A pattern
    that begins with ``/`` is matched from the path on, on every server; one that begins with ``http://``, ``https://``
    or ``*``, from the scheme on.  ``re:`` precedes an RE2 regular expression, searched for anywhere in the URL.
    Raises ValueError for any other pattern.

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
