"""What the status and the headers of an answer say."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from crawlproject.frontier.politeness import retry_after_seconds

if TYPE_CHECKING:
    from scrapy.http import Headers

#: Statuses that lead to another URL, where there is a ``Location``.
REDIRECTS = frozenset((301, 302, 303, 307, 308))

#: There is no such page.
GONE = frozenset((404, 410))

#: The answer to a conditional request: the page is as it was.
UNCHANGED = 304

#: Media types that are read as HTML.
HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))


def media_type(headers: Headers) -> str:
    """The type in the ``Content-Type`` header, lower case, without parameters; "" where there is none."""
    return (headers.get(b"Content-Type") or b"").decode("latin-1").partition(";")[0].strip().lower()


def retry_after(headers: Headers) -> float | None:
    """Seconds to wait, by the ``Retry-After`` header; None where there is none that can be read."""
    value = headers.get(b"Retry-After")
    return retry_after_seconds(value.decode("latin-1"), time.time()) if value else None
