"""The item yielded for each page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Page:
    """A fetched page; times in seconds, None if a value is unknown."""

    #: Final URL, after redirects.
    url: str
    status: int
    #: Number of links followed from a seed.
    depth: int
    #: Quality known when the page was scheduled.
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
    #: Time of the fetch: ISO 8601, UTC.
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
    #: Whether its links are followed; False for nofollow pages and some copies (docs/duplicates.md).
    followed: bool = True
    #: Text of the page, if the spider asks for it.
    body: str | None = None
