"""Reads and follows a crawl's pages by rules, counts what was not found, and names rules that find nothing."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import TextResponse
from scrapy.utils.asyncgen import as_async_generator

from crawlproject.discovery.page_reading import is_html, markup, parser_of
from crawlproject.discovery.page_reading import read_page as read_links
from crawlproject.download.off_loop import off_loop
from crawlproject.engine import stats_of
from crawlproject.items import Page
from crawlproject.links import Links
from crawlproject.records.reading import OFF_LOOP, ON_LOOP, OutOfTimeError, Source, read_page
from crawlproject.records.record import record_class
from crawlproject.requests.meta import BY_TYPE, KEEP
from crawlproject.urls import Canonicalizer
from crawlproject.urls.link_filter import remembering

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlproject.records.record import Record
    from crawlproject.records.rules import Reading, RuleSet, SiteRules
    from crawlproject.records.selectors import Selector

logger = logging.getLogger(__name__)

#: Problem -> its stat.
STATS = {"selector": "records/selector_errors", "value": "records/bad_values", "required": "records/missing_required"}


def source_of(response: Response) -> Source | None:
    """The page as rules read it; None if it is neither HTML nor XML nor JSON."""
    if not isinstance(response, TextResponse):
        return None
    kind = parser_of(response)
    if is_html(response):
        return Source(markup(response), response.url, base=read_links(response).base)
    return Source(response.text, response.url, kind="html" if kind == "other" else kind)


class RecordIntake:
    """A part of the crawl (``engine.Crawl``)."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = stats_of(crawler)
        #: Problems of fields of the rules, each logged once.
        self._logged: set[tuple[str, str, str]] = set()
        self._sites: dict[str, SiteRules] = {}
        #: Site and kind of record -> pages read for it, and the fields that were on one of them.
        self._pages: Counter[tuple[str, str]] = Counter()
        self._found: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        crawler.signals.connect(self._close, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def read(self, source: Source, site: SiteRules) -> list[Record]:
        """The records of a page. One that is large or slow to read is read off the event loop."""
        self._sites[site.name] = site
        rules = site.records_on(source.url)
        if not rules:
            return []
        readings = None
        if source.is_small:
            with suppress(OutOfTimeError):
                readings = read_page(source, rules, ON_LOOP)
        if readings is None:
            readings = await off_loop(read_page, source, rules)
        self._stats.inc_value("records/pages")
        records = [record for reading in readings for record in self._records(site, source.url, reading)]
        if records:
            self._stats.inc_value("records/found", len(records))
        return records

    async def links(self, source: Source, selector: Selector, site: SiteRules) -> list[str]:
        """The references that a selector finds: texts, or the ``href`` of elements."""
        try:
            is_fast = source.is_small and source.cost(selector.cost) <= ON_LOOP
            found = _select(source, selector) if is_fast else await off_loop(_select, source, selector)
        except Exception as error:  # noqa: BLE001 - lxml, jmespath and re2 raise of their own
            self._note(site.name, "pagination", "selector", f"{selector.text}: {error}")
            return []
        hrefs = (one.get("href") if hasattr(one, "get") else one for one in found)
        return [href for href in hrefs if isinstance(href, str) and href]

    def _records(self, site: SiteRules, url: str, reading: Reading) -> list[Record]:
        rule = reading.rule
        for problem in reading.problems:
            self._stats.inc_value(STATS[problem.kind])
            self._note(site.name, problem.name, problem.kind, problem.reason)
        if reading.incomplete:
            self._stats.inc_value("records/incomplete", reading.incomplete)
        if reading.is_cut:
            self._stats.inc_value("records/pages_cut")
            self._note(site.name, rule.name, "cut", f"reading {url:.200} took too long; the rest of it is not read")
        self._pages[site.name, rule.name] += 1
        self._found[site.name, rule.name] |= reading.found
        make = record_class(site.name, rule.name)
        return [
            make({"record": rule.name, "url": url, **row}, site=site.name, keys_of=rule.key, place=place)
            for place, row in enumerate(reading.rows)
        ]

    def _close(self) -> None:
        """Name the rules that found nothing on any page of this crawl."""
        for site in self._sites.values():
            for rule in site.records:
                pages, found = self._pages[site.name, rule.name], self._found[site.name, rule.name]
                missing = ", ".join(field.name for field in rule.fields if field.name not in found)
                if not pages:
                    logger.warning("%s: %s: no page has a URL that its patterns in pages match", site.name, rule.name)
                elif missing:
                    logger.warning("%s: %s: found on none of %d pages: %.500s", site.name, rule.name, pages, missing)

    def _note(self, site: str, name: str, kind: str, reason: str) -> None:
        key = (site, name, kind)
        if key not in self._logged:
            self._logged.add(key)
            logger.warning("%s: %s: %s (logged once; see the stats records/*)", site, name, reason)


class SiteReader:
    """Reads and follows the pages of domains with rules."""

    def __init__(self, rules: RuleSet) -> None:
        self._canonicalizer = Canonicalizer(())  # parameters are dropped where all links are made canonical
        self.use(rules)

    def use(self, rules: RuleSet) -> None:
        """Go by these rules from now on."""
        self.set = rules
        #: Of all sites.
        self.seeds = [seed for site in rules.sites for seed in site.seeds]
        self.domains = [domain for site in rules.sites for domain in site.domains]
        self._is_followed = remembering(rules.follows)
        self._has_patterns = any(site.allow or site.deny for site in rules.sites)
        self._are_rendered = any(site.render for site in rules.sites)

    async def parse(
        self, response: Response, result: Any, intake: RecordIntake, count: Callable[[str, int], object]
    ) -> AsyncIterator[Any]:
        """The outputs ``result`` of a callback, of links those that are followed; records instead of its ``Page``."""
        outputs = [output async for output in as_async_generator(result)]
        site = self.set.of(response.url)
        if response.meta.get(KEEP):
            site, outputs = None, []
        hrefs: list[str] = []
        source = None if site is None else source_of(response)
        if site is not None and source is not None:
            for record in await intake.read(source, site):
                record.meta = response.meta
                yield record
            if site.next_pages is not None:
                hrefs = await intake.links(source, site.next_pages, site)
        for output in outputs:
            if isinstance(output, Links):
                for one in self.links(self._followed(output, hrefs, count)):
                    yield one
            elif site is None or not isinstance(output, Page):
                yield output

    def _followed(self, links: Links, next_pages: list[str], count: Callable[[str, int], object]) -> Links:
        """The links that the rules of their domain follow, in canonical form; ``next_pages`` are always followed."""
        if not self._has_patterns and not next_pages:
            return links
        assert links.response is not None
        encoding = links.response.encoding if isinstance(links.response, TextResponse) else "utf-8"
        base = links.base or links.response.url
        found = self._canonicalizer.batch(links.hrefs, base, encoding)
        followed = [
            *self._canonicalizer.batch(next_pages, base, encoding),
            *filter(self._is_followed, filter(None, found)),
        ]
        hrefs = [*dict.fromkeys(filter(None, followed))]
        if (refused := len(links.hrefs) - len(hrefs)) > 0:
            count("site/not_followed", refused)
        return Links(links.response, hrefs)

    def links(self, links: Links) -> Iterator[Links | Request]:
        """Requests for the pages of sites that are rendered; links for all others."""
        if not self._are_rendered:
            yield links
            return
        given = None if links.response is not None else links.quality
        qualities = given if isinstance(given, tuple) else (None,) * len(links.hrefs)
        plain = []
        for url, quality in zip(links.hrefs, qualities, strict=True):
            site = self.set.of(url)
            if site is not None and site.render:
                yield Request(url, meta={"render": site.render, BY_TYPE: True})
            else:
                plain.append((url, quality))
        hrefs = [url for url, _ in plain]
        yield Links(links.response, hrefs, quality=[each for _, each in plain] if isinstance(given, tuple) else given)


def _select(source: Source, selector: Selector) -> list[Any]:
    if source.cost(selector.cost) > OFF_LOOP:
        raise ValueError("too slow for a page of this shape, not used")
    return selector.select(source.root())
