"""A URL on its way into or out of the frontier."""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A discovered URL on its way into or out of the frontier."""

    url: str
    #: Worth of the page; any finite float >= 0, higher is better.
    quality: float = 1.0
    #: Orders URLs of equal quality within a server, higher first (Scrapy's ``Request.priority``).
    priority: int = 0
    #: Links followed from a seed to here.
    depth: int = 0
    #: Whatever the caller wants back with the URL; the frontier never looks at it.
    payload: Any = None
    #: Where it is stored, for ``acknowledge``; given by ``next_url``, None where it is not stored.
    place: bytes | None = None


def path_of(url: str, prefix: str) -> str:
    """``url`` without the server key ``prefix`` where a path follows that; else as it is."""
    path = url.removeprefix(prefix)
    return path if path.startswith("/") else url


def url_of(path: str, prefix: str) -> str:
    """The URL of which ``path_of`` made ``path``."""
    return prefix + path if path.startswith("/") else path
