"""The item yielded for each page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Page:
    """A fetched page; times in seconds, None where a value is not known."""

    #: URL it was fetched from, after redirects.
    url: str
    status: int
    #: Links followed from a seed to here.
    depth: int
    #: Its worth as it was known when its turn came.
    quality: float
    title: str | None
    #: Media type of the ``Content-Type`` header, without parameters.
    content_type: str | None
    #: The ``Last-Modified`` header as sent.
    last_modified: str | None
    #: Bytes of the body, decompressed.
    length: int
    #: scheme://host[:port]
    server: str
    #: When it was fetched: ISO 8601, UTC.
    fetched_at: str
    dns_time: float | None
    connect_time: float | None
    tls_time: float | None
    response_time: float | None
    connection_reused: bool | None
    connection_requests: int | None
    #: Links found on the page, before filtering.
    links: int
    #: URL of the first page with the same bytes.
    duplicate_of: str | None = None
    #: URL of the first page with nearly the same text.
    near_duplicate_of: str | None = None
    #: Whether its links are followed: not those of a page that says nofollow, nor of some copies (docs/duplicates.md).
    followed: bool = True
    #: Text of the page, where asked for.
    body: str | None = None
