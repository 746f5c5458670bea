"""Interprets status and headers of responses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawlproject.frontier.politeness import http_time, retry_after_seconds

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

#: Statuses of a redirect, if there is a ``Location``.
REDIRECTS = frozenset((301, 302, 303, 307, 308))

#: Statuses of a missing page.
GONE = frozenset((404, 410))

#: Response to a conditional request: the page is unchanged.
UNCHANGED = 304


def is_unread(response: Response) -> bool:
    """Whether its download was stopped after the headers, as by ``FRONTIER_LINKS_TYPES``; not one cut off at some
    size.
    """
    return "download_stopped" in response.flags and not response.body


def has_header(headers: Headers, name: bytes) -> bool:
    """``name in headers`` in a fifth of its time; ``name`` as for ``header``."""
    return dict.__contains__(headers, name)


def header(headers: Headers, name: bytes) -> bytes | None:
    """``headers.get(name)`` in a tenth of its time; ``name`` in the spelling of ``Headers``: ``b"Content-Type"``."""
    values: list[bytes] | None = dict.get(headers, name)
    return values[-1] if values else None


def retry_after(headers: Headers) -> float | None:
    """Seconds to wait by the ``Retry-After`` header; None if it is missing or invalid.

    A date counts from the ``Date`` of the same answer, if there is a valid one: clocks may differ.
    """
    value = header(headers, b"Retry-After")
    if not value:
        return None
    sent = http_time((header(headers, b"Date") or b"").decode("latin-1"))
    return retry_after_seconds(value.decode("latin-1"), time.time() if sent is None else sent)
