"""The records of sites, by rules in TOML files (docs/spiders.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse

from crawlproject.items import Page
from crawlproject.links import Links
from crawlproject.records.intake import intake_of, source_of
from crawlproject.records.rule_file import read_rules
from crawlproject.requests.meta import BY_TYPE, KEEP
from crawlproject.spiders.web import ARGUMENTS, WebSpider
from crawlproject.urls import Canonicalizer, server_key
from crawlproject.urls.known_urls import remembering

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from crawlproject.records.rules import SiteRules


class SiteSpider(WebSpider):
    """``scrapy crawl site -a rules=FILE`` or ``-a rules=FOLDER``: records of one site or of many, by rules.

    Each page is read by the rules of its domain.  ``-a seeds=...`` replaces the seeds of the rules; ``allowed`` and the
    limits are those of ``web``.  Yields a ``Record`` for each record.
    """

    name = "site"
    known_arguments = ("rules", *ARGUMENTS)

    def __init__(self, rules: str = "", seeds: str = "", allowed: str = "", **kwargs: Any) -> None:
        self._check_arguments(kwargs)
        if not rules:
            raise ValueError("rules='': must be a TOML file, or a folder of such files (docs/spiders.md)")
        self.rules = read_rules(rules)
        own = [seed for site in self.rules.sites for seed in site.seeds]
        domains = ",".join(domain for site in self.rules.sites for domain in site.domains)
        super().__init__(seeds=seeds or server_key(own[0]) + "/", allowed=allowed or domains, **kwargs)
        if not seeds:
            self._seed_lines = own
        self._canonicalizer = Canonicalizer(())  # parameters are dropped where all links are made canonical
        self._is_followed = remembering(self.rules.follows)
        self._has_patterns = any(site.allow or site.deny or site.render for site in self.rules.sites)

    async def start(self) -> AsyncIterator[Any]:
        """The seeds; those of sites with a table ``render`` as requests that carry it."""
        async for output in super().start():
            for one in self._rendered(output) if isinstance(output, Links) else (output,):
                yield one

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        """Yields a page's records, and the links that its rules follow."""
        outputs = list(super().parse(response))
        site = self.rules.of(response.url)
        if response.meta.get(KEEP) or site is None:
            return
        source = source_of(response)
        hrefs: list[str] = []
        if source is not None:
            for record in await intake_of(self.crawler).read(source, site):
                record.meta = response.meta
                yield record
            if site.next_pages is not None:
                hrefs = await intake_of(self.crawler).links(source, site.next_pages, site)
        for output in outputs:
            if isinstance(output, Links):
                for one in self._rendered(self._followed(output, hrefs)):
                    yield one
            elif not isinstance(output, Page):
                yield output

    def _followed(self, links: Links, next_pages: list[str]) -> Links:
        """The links that the rules of their domain follow, in canonical form; ``next_pages`` are always followed."""
        if not self._has_patterns and not next_pages:
            return links
        assert links.response is not None
        encoding = links.response.encoding if isinstance(links.response, TextResponse) else "utf-8"
        canonicalizer = self._canonicalizer
        base = links.base or links.response.url
        found = canonicalizer.batch(links.hrefs, base, encoding)
        followed = dict.fromkeys(canonicalizer.batch(next_pages, base, encoding))
        followed.pop(None, None)
        is_followed = self._is_followed
        followed.update((url, None) for url in dict.fromkeys(found) if url is not None and is_followed(url))
        refused = len(links.hrefs) - len(followed)
        if refused > 0:
            self.crawler.stats.inc_value("site/not_followed", refused)
        return Links(links.response, [url for url in followed if url is not None])

    def _rendered(self, links: Links) -> Iterator[Links | Request]:
        """Requests for the pages of sites that are rendered; links for all others."""
        if not any(site.render for site in self.rules.sites):
            yield links
            return
        plain: list[str] = []
        given = None if links.response is not None else links.quality
        qualities: list[float] = []
        for number, url in enumerate(links.hrefs):
            site: SiteRules | None = self.rules.of(url)
            if site is not None and site.render:
                yield Request(url, meta={"render": site.render, BY_TYPE: True})
                continue
            plain.append(url)
            if isinstance(given, tuple):
                qualities.append(given[number])
        yield Links(links.response, plain, quality=qualities if isinstance(given, tuple) else given)
