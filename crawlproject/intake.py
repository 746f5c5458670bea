"""Links of a page on their way into the frontier: canonical, filtered, new, with their quality."""

from __future__ import annotations

import re
from collections import Counter
from itertools import compress
from typing import TYPE_CHECKING

from crawlproject.frontier import Entry
from crawlproject.urls import LinkFilter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.quality import Quality
    from crawlproject.links import Links

#: Whether a reference that has no canonical form is one of another scheme (mailto:, javascript:), not a broken one.
_OTHER_SCHEME = re.compile(r"\s*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE).match


class LinkIntake:
    """Turns ``Links`` into frontier entries; does the work of Scrapy's offsite, depth and URL-length middlewares.

    O(length) per link; stats are written once per page.
    """

    def __init__(
        self,
        seen: SeenDupeFilter,
        link_filter: LinkFilter,
        quality: Quality,
        stats: StatsCollector,
        depth_limit: int = 0,
    ) -> None:
        self._seen = seen
        self._filter = link_filter
        self._quality = quality
        self._stats = stats
        self._depth_limit = depth_limit

    def entries(self, links: Links) -> list[Entry]:
        """The new ones among ``links``. Counts each link in one of the stats ``frontier/links/*``."""
        depth = 0 if links.response is None else links.response.meta.get("depth", 0) + 1
        counts: Counter[str] = Counter()
        entries: list[Entry] = []
        if self._depth_limit and depth > self._depth_limit:
            counts["skipped/depth"] = len(links.hrefs)
        else:
            self._sift(links, depth, entries, counts)
        counts["new"] = len(entries)
        counts["found"] = len(links.hrefs)
        for name, count in counts.items():
            if count:
                self._stats.inc_value(f"frontier/links/{name}", count)
        return entries

    def _sift(self, links: Links, depth: int, entries: list[Entry], counts: Counter[str]) -> None:
        reason_to_skip, worth = self._filter.reason, self._quality.quality
        canonicalizer = self._seen.canonicalizer
        if links.response is None:
            urls: Iterable[str | None] = map(canonicalizer.canonical, links.hrefs)
        else:
            encoding = getattr(links.response, "encoding", "utf-8")
            urls = canonicalizer.batch(links.hrefs, links.base or links.response.url, encoding)
        wanted: list[str] = []
        for href, url in zip(links.hrefs, urls, strict=True):
            if url is None:
                counts["skipped/scheme" if _OTHER_SCHEME(href) else "skipped/malformed"] += 1
                continue
            reason = reason_to_skip(url)
            if reason is not None:
                counts[f"skipped/{reason}"] += 1
            else:
                wanted.append(url)
        new = list(compress(wanted, self._seen.urls_are_new(wanted)))
        counts["seen"] = len(wanted) - len(new)
        for url in new:
            quality = worth(url, depth) if links.quality is None else links.quality
            entries.append(Entry(url, quality, 0, depth, links.callback))


def link_filter_from_settings(settings: BaseSettings, spider: object) -> LinkFilter:
    """The rules of following: ``LINKS_SKIP_EXTENSIONS``, ``URLLENGTH_LIMIT`` and the spider's ``allowed``
    (domains, ports as well) or ``allowed_domains``."""
    options: dict[str, object] = {}
    if settings.get("LINKS_SKIP_EXTENSIONS") is not None:
        options["extensions"] = frozenset(settings.getlist("LINKS_SKIP_EXTENSIONS"))
    if settings.getint("URLLENGTH_LIMIT") > 0:
        options["max_length"] = settings.getint("URLLENGTH_LIMIT")
    allowed = getattr(spider, "allowed", None) or getattr(spider, "allowed_domains", None)
    if allowed:
        options["allowed"] = frozenset(allowed)
    return LinkFilter(**options)  # type: ignore[arg-type]
