"""Links in bulk: what a spider yields to hand over all links of a page in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from scrapy.http import Response

#: What links were found on: a page (or nowhere: seeds), a sitemap, an index of sitemaps.
Kind: TypeAlias = Literal["page", "sitemap", "sitemap index"]


@dataclass(slots=True)
class Links:
    """The links of a page, as many requests would be, without building a ``Request`` for each.

    ``yield Links(response, hrefs)`` from a callback: the URLs are made canonical, filtered, tested against the
    seen-set and queued; a ``Request`` is built only when a URL's turn comes.
    """

    #: The page; its URL (or ``base``) completes relative links, its depth is one less than theirs. None for seeds,
    #: which ``start`` may yield.
    response: Response | None
    #: References as they stand in the page, or absolute URLs.
    hrefs: Sequence[str]
    #: Completes relative links instead of the page's URL (``<base href>``).
    base: str | None = None
    #: Method of the spider that parses these pages; its ``parse`` where there is none.
    callback: Callable[..., Any] | None = None
    #: Worth of all these pages, instead of what ``FRONTIER_QUALITY`` says.
    quality: float | None = None
    #: Of a sitemap only pages of its own server count, of an index only sitemaps of its own.
    kind: Kind = "page"


def sitemap_callback(spider: object) -> Callable[..., Any] | None:
    """The spider's method ``parse_sitemap``, which takes sitemaps; None where it has none."""
    return getattr(spider, "parse_sitemap", None)
