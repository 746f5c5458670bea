"""What a search of URLs asks for, by the parameters of an address or of a command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlproject.frontier.live_limits import as_pattern
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import covers, server_name
from crawlproject.urls.url_rows import STATES, UrlQuery
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

#: Characters of a pattern.
MAX_PATTERN = 500

REASONS = {str(reason): reason for reason in Reason}
_PARAMETERS = frozenset(("search", "host", "spider", "state", "reason", "status", "depth", "next", "limit", "count"))


def parse(given: Mapping[str, str], servers: frozenset[str] | None = None) -> UrlQuery:
    """From the parameters of a URL, with the keys of the servers that ``host`` and ``spider`` mean; None: all.

    Raises ValueError for a wrong one.
    """
    if unknown := given.keys() - _PARAMETERS:
        raise ValueError(f"unknown parameter: {min(unknown):.50}")
    text, state, reason = (given.get(name, "").strip() for name in ("search", "state", "reason"))
    if len(text) > MAX_PATTERN:
        raise ValueError(f"search: at most {MAX_PATTERN} characters")
    if state and state not in STATES:
        raise ValueError(f"state: one of {', '.join(STATES)}")
    if reason and reason not in REASONS:
        raise ValueError(f"reason: one of {', '.join(REASONS)}")
    pattern = as_pattern(text) if text else ""
    return UrlQuery(
        UrlPatterns([pattern]) if text else None,
        servers,
        state,
        reason,
        number_in(given, "status", 999),
        number_in(given, "depth", 0xFFFF),
        literal_of(pattern),
    )


#: Characters that are the same in a pattern and in a canonical URL, host or path.
_LITERAL = re.compile(r"[a-z0-9_~-]+")

#: What is written in another way in the canonical form: escapes, ports.
_VARIES = re.compile(r"%[0-9A-Fa-f]{2}|:[0-9]+")


def literal_of(pattern: str) -> str:
    """The longest text without a slash that is in each URL that matches ``pattern``; empty if there is none.

    >>> literal_of("/blog/*.html"), literal_of("*Archive*"), literal_of("re:x+")
    ('blog', 'rchive', '')
    """
    runs = [] if pattern.startswith("re:") else _LITERAL.findall(_VARIES.sub("*", pattern))
    return max(runs, key=len, default="")


def chosen_by(
    host: str, spider: str, spiders: Collection[str], spider_of: Callable[[str], str]
) -> Callable[[str], bool] | None:
    """Whether a server, by its key, is of this host or domain, and of this spider; None: all are.

    ``spiders``: all names; ``spider_of``: the name of a server's.  Raises ValueError for a wrong name.
    """
    name = server_name(host) if host else ""
    if spider and spider not in spiders:
        raise ValueError(f"spider: one of {', '.join(spiders)}")
    if not (name or spider):
        return None
    return lambda key: (not name or covers(name, key)) and (not spider or spider_of(key) == spider)


def number_in(given: Mapping[str, str], name: str, most: int) -> int | None:
    """A parameter of a URL; None: it is absent. Raises ValueError for what is no number up to ``most``."""
    text = given.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= most):
        raise ValueError(f"{name}: a whole number from 0 to {most}")
    return int(text)
