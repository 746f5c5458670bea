"""Links of a page on their way into the frontier: canonical, filtered, new, with their quality."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.frontier import Entry
from crawlproject.frontier.quality import link_gains
from crawlproject.limit_options import LimitOptions
from crawlproject.link_record import LinkRecord
from crawlproject.links import DUPLICATE_OF, SKIP_LINKS
from crawlproject.page_limits import PAGE_LIMIT
from crawlproject.page_reading import is_html
from crawlproject.urls import LinkFilter, server_key

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.quality import Quality
    from crawlproject.links import Links
    from crawlproject.page_limits import PageLimits
    from crawlproject.trap_guard import TrapGuard

#: Whether a reference that has no canonical form is one of another scheme (mailto:, javascript:), not a broken one.
_OTHER_SCHEME = re.compile(r"\s*(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE).match

#: Links whose refusal or not is remembered, since a site's pages share most of theirs: some 4 MB.
KNOWN_LINKS = 16_384


class Found(NamedTuple):
    """What a page's links mean to the frontier."""

    #: Those met for the first time.
    entries: list[Entry]
    #: URLs met before, with what this page adds to their quality.
    raised: list[tuple[str, float]]
    #: Key of the page's server, None for seeds.
    found_on: str | None


class _Source(NamedTuple):
    """The page that links were found on, and what it adds to the quality of the pages they lead to."""

    server_key: str | None
    internal: float
    external: float

    def gains(self, urls: list[str]) -> list[float]:
        """What it adds to each of the canonical ``urls``."""
        internal, external = self.internal, self.external
        if internal == external or self.server_key is None:
            return [external] * len(urls)
        start = self.server_key + "/"
        return [internal if url.startswith(start) else external for url in urls]


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
        settings: BaseSettings,
    ) -> None:
        self.guard: TrapGuard | None = None  # who judges links by the pages they stand on
        self.limits: PageLimits | None = None
        self._seen = seen
        self._filter = lru_cache(KNOWN_LINKS)(link_filter.reason)
        self._seed_filter = link_filter.without_patterns().reason
        self._quality = quality
        self._stats = stats
        self._depth_limit = settings.getint("DEPTH_LIMIT")
        self._record = LinkRecord.from_settings(settings, stats)

    def find(self, links: Links, payload: Any = None) -> Found:
        """The new ones among ``links``, with ``payload``, and what they add to others.

        Counts each in a stat ``frontier/links/*``.
        """
        depth = 0 if links.response is None else links.response.meta.get("depth", 0) + (links.kind == "page")
        counts: Counter[str] = Counter()
        if self._depth_limit and depth > self._depth_limit:
            counts["skipped/depth"] = len(links.hrefs)
            found = Found([], [], None)
        else:
            found = self._sift(links, depth, payload, counts)
        counts["new"] = len(found.entries)
        counts["found"] = len(links.hrefs)
        for name, count in counts.items():
            if count:
                self._stats.inc_value(f"frontier/links/{name}", count)
        return found

    def close(self) -> None:
        """Finish the record of links."""
        if self._record is not None:
            self._record.close()

    def _sift(self, links: Links, depth: int, payload: Any, counts: Counter[str]) -> Found:
        reason_to_skip = self._filter if links.response is not None else self._seed_filter
        worth, quality = self._quality.quality, links.quality
        urls = self._canonical(links)
        page = self._page(links)
        guarded = None
        if self.guard is not None and page is not None and links.kind == "page":
            assert links.response is not None
            guarded, urls = self.guard.page(page, links.response, urls)
        is_full = self.limits.refuses if self.limits else None
        refuses = guarded.refuses if guarded is not None and guarded.refuses_some else None
        source = self._source(links, page, urls)
        wanted: list[str] = []
        for href, url in zip(links.hrefs, urls, strict=True):
            if url is None:
                counts["skipped/scheme" if _OTHER_SCHEME(href) else "skipped/malformed"] += 1
                continue
            reason = reason_to_skip(url)
            if reason is None and refuses is not None and refuses(url):
                reason = "guard"
            if reason is None and is_full is not None and is_full(url):
                reason = PAGE_LIMIT
            if reason is not None:
                counts[f"skipped/{reason}"] += 1
            else:
                wanted.append(url)
        new = list(compress(wanted, self._seen.urls_are_new(wanted)))
        counts["seen"] = len(wanted) - len(new)
        raised = dict(zip(wanted, source.gains(wanted), strict=True))
        gains = [raised.pop(url) for url in new]
        entries = [
            Entry(url, worth(url, depth) + gain if quality is None else quality, 0, depth, payload)
            for url, gain in zip(new, gains, strict=True)
        ]
        if self.guard is not None and guarded is not None:
            entries = self.guard.judge(guarded, entries)
            counts["skipped/guard"] += len(new) - len(entries)
        return Found(entries, [item for item in raised.items() if item[1]], source.server_key)

    def _canonical(self, links: Links) -> list[str | None]:
        """The canonical URL of each link; None where there is none."""
        canonicalizer = self._seen.canonicalizer
        if links.response is None:
            return list(map(canonicalizer.canonical, links.hrefs))
        encoding = getattr(links.response, "encoding", "utf-8")
        return canonicalizer.batch(links.hrefs, links.base or links.response.url, encoding)

    def _page(self, links: Links) -> str | None:
        """The canonical URL of what the links stand on."""
        return None if links.response is None else self._seen.canonicalizer.canonical(links.response.url)

    def _source(self, links: Links, page: str | None, urls: list[str | None]) -> _Source:
        """The ``page`` of ``links``, whose canonical URLs are ``urls``; it is recorded."""
        if links.response is None or page is None:
            return _Source(None, 0.0, 0.0)
        if links.kind != "page":  # being listed is no merit
            return _Source(server_key(page), 0.0, 0.0)
        distinct = dict.fromkeys(url for url in urls if url is not None and url != page)
        if self._record is not None and (links.hrefs or is_read(links.response)):
            self._record.add(page, distinct)
        if links.quality is not None or DUPLICATE_OF in links.response.meta:  # a copy adds nothing to its first
            return _Source(server_key(page), 0.0, 0.0)
        return _Source(
            server_key(page), *link_gains(self._quality, links.response.meta.get("quality", 1.0), len(distinct))
        )


def is_read(response: Response) -> bool:
    """Whether the links of a page were looked for: not those of copies, nor of what is no HTML."""
    return SKIP_LINKS not in response.meta and is_html(response)


def link_filter_from_settings(settings: BaseSettings, spider: object) -> LinkFilter:
    """The rules of following: ``LINKS_SKIP_EXTENSIONS``, ``LINKS_INCLUDE``, ``LINKS_EXCLUDE``, ``FRONTIER_DENY_FILE``,
    ``URLLENGTH_LIMIT`` and the spider's ``allowed`` (domains, ports as well) or ``allowed_domains``."""
    limits = LimitOptions.from_settings(settings)
    options: dict[str, object] = {"denied": limits.denied, "include": limits.include, "exclude": limits.exclude}
    if settings.get("LINKS_SKIP_EXTENSIONS") is not None:
        options["extensions"] = frozenset(settings.getlist("LINKS_SKIP_EXTENSIONS"))
    if settings.getint("URLLENGTH_LIMIT") > 0:
        options["max_length"] = settings.getint("URLLENGTH_LIMIT")
    name = next((name for name in ("allowed", "allowed_domains") if getattr(spider, name, None)), None)
    try:
        if name is not None:
            options["allowed"] = frozenset(getattr(spider, name))
        return LinkFilter(**options)  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
