"""Links in bulk: a spider yields all links of a page as one object."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from scrapy.http import Response

#: Where links were found: on a page, in a sitemap, or in a sitemap index. Seeds count as links of a page.
Kind: TypeAlias = Literal["page", "sitemap", "sitemap index"]


@dataclass(slots=True)
class Links:
    """The links of a page. Replaces a ``Request`` for each link.

    ``yield Links(response, hrefs)`` from a callback: the URLs are made canonical, filtered, checked against the
    seen-set and queued; a ``Request`` is built only when a URL is scheduled.
    """

    #: The page. Relative links are resolved against its URL (or ``base``); their depth is its depth plus one.
    #: None for seeds, which ``start`` may yield.
    response: Response | None
    #: References as written in the page, or absolute URLs.
    hrefs: Sequence[str]
    #: Base of relative links (``<base href>``) instead of the page's URL.
    base: str | None = None
    #: Method of the spider that parses these pages; None: its ``parse``.
    callback: Callable[..., Any] | None = None
    #: Quality of all these pages, or of each of them in the order of ``hrefs``, instead of the result of
    #: ``FRONTIER_QUALITY``; finite and >= 0.
    quality: float | Sequence[float] | None = None
    #: Only URLs of its own server are taken from a sitemap or a sitemap index.
    kind: Kind = "page"

    def __post_init__(self) -> None:
        """Raises ValueError for a wrong ``quality``. O(1), or O(links) if each has its own."""
        given = self.quality
        if given is None:
            return
        several = hasattr(given, "__len__")
        values = tuple(map(float, given)) if several else (float(given),)  # type: ignore[arg-type]
        if not all(0.0 <= value < inf for value in values):
            raise ValueError(f"quality={given!r:.100}: must be finite and >= 0")
        if several and (len(values) != len(self.hrefs) or self.kind != "page"):
            raise ValueError(f"quality of {len(values)} links for {len(self.hrefs)} of a {self.kind}")
        self.quality = values if several else values[0]


class TakesLinks(ABC):
    """A spider middleware that takes the ``Links`` of callbacks."""

    @abstractmethod
    async def push(self, links: Links) -> None:
        """Queue ``links``."""


def sitemap_callback(spider: object) -> Callable[..., Any] | None:
    """The spider's method ``parse_sitemap``; None if it has none."""
    return getattr(spider, "parse_sitemap", None)
