"""The record by which URLs enter and leave the frontier."""

from __future__ import annotations

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A discovered URL that enters or leaves the frontier."""

    url: str
    quality: float = 1.0  # worth of the page; any finite float >= 0, higher is better
    priority: int = 0  # orders URLs of equal quality within a server, higher first (Scrapy's ``Request.priority``)
    depth: int = 0  # number of links from a seed
    payload: Any = None  # the caller's data, returned with the URL; the frontier never reads it
    #: Its key in the store, for ``acknowledge``; set by ``next_url``, None if it is not stored.
    place: bytes | None = None


def path_of(url: str, prefix: str) -> str:
    """``url`` without the server key ``prefix`` if a path follows it; else ``url`` unchanged."""
    path = url.removeprefix(prefix)
    return path if path.startswith("/") else url


def url_of(path: str, prefix: str) -> str:
    """Inverse of ``path_of``."""
    return prefix + path if path.startswith("/") else path
