"""The broad crawl: every page reachable from the seeds, the best of the best servers first."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy import Spider
from scrapy.http import TextResponse

from crawlproject.items import Page
from crawlproject.links import DUPLICATE_OF, NEAR_DUPLICATE_OF, SKIP_LINKS, Links
from crawlproject.page_reading import is_html, media_type, read_page
from crawlproject.request_entries import KEEP
from crawlproject.sitemap_reader import sitemap_links
from crawlproject.urls import BadSeed, read_seeds, server_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response


class WebSpider(Spider):
    """``scrapy crawl web -a seeds=URL[,URL...]``, ``-a seeds=FILE`` or ``-a seeds=-`` (standard input).

    ``-a allowed=DOMAIN[,DOMAIN...]`` stays within these domains, ``-a max_pages=N`` stops after N pages (and sitemaps),
    ``-a body=1`` puts the text of each page into its item; ``-a recrawl=AGE``, as for any spider, has pages fetched so
    long ago fetched again (``FRONTIER_RECRAWL_AGE``).  Yields a ``Page`` for each page fetched.
    Stats: ``web/pages``, ``web/nofollow_pages``, ``web/truncated_pages`` (with more links than are looked at),
    ``web/skipped/content_type``, ``web/bad_seeds``.
    """

    name = "web"

    def __init__(self, seeds: str = "", allowed: str = "", max_pages: str = "0", body: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not seeds:
            raise ValueError("seeds='': must be URLs with commas between them, a file, or - for standard input")
        if not max_pages.isdigit():
            raise ValueError(f"max_pages={max_pages!r}: must be a whole number >= 0")
        self.seeds = seeds
        self.max_pages = int(max_pages)
        self.with_body = body.lower() not in ("", "0", "false", "no")
        self.pages = 0
        self.allowed = [domain.strip() for domain in allowed.split(",") if domain.strip()]
        if self.allowed:  # Scrapy's offsite middleware, which judges redirects, knows no ports
            self.allowed_domains = [re.sub(r":\d+$", "", domain) for domain in self.allowed]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Have the crawl end after ``max_pages``."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        if spider.max_pages:
            crawler.settings.set("CLOSESPIDER_PAGECOUNT", spider.max_pages, priority="spider")
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Offer all seeds at once, so that the best of them is fetched first."""
        by_quality: dict[float | None, list[str]] = {}
        for url, quality in self._read_seeds():
            by_quality.setdefault(quality, []).append(url)
        for quality, urls in by_quality.items():
            yield Links(None, urls, quality=quality)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Page | Links]:
        """A page's item and its links."""
        self.pages += 1
        if self.max_pages and self.pages > self.max_pages:
            response.meta[KEEP] = True
            return
        self._count("web/pages")
        title, links = None, None
        if not is_html(response):
            self._count("web/skipped/content_type")
            links = Links(response, ())  # the guard of traps counts the page
        elif response.meta.get(SKIP_LINKS):
            links = Links(response, ())  # the guard of traps counts the page
        else:
            found = read_page(cast("TextResponse", response))
            title = found.title
            links = self._links(response, found)
        yield self._page(response, title, len(links.hrefs) if links else 0)
        if links is not None:
            yield links

    def parse_sitemap(self, response: Response, **kwargs: Any) -> Iterator[Links]:
        """A sitemap's pages, or an index's sitemaps (``LINKS_SITEMAPS``)."""
        yield sitemap_links(response, self.crawler, self.parse_sitemap)

    def _links(self, response: Response, found: Any) -> Links | None:
        """The links to follow: none of a page that says nofollow; its canonical address counts as one."""
        if found.nofollow or _says_nofollow(response):
            self._count("web/nofollow_pages")
            return None
        if found.truncated or found.cut:
            self._count("web/truncated_pages")
        hrefs = found.hrefs
        if found.canonical is not None and found.canonical != response.url:
            hrefs = [*hrefs, found.canonical]
        return Links(response, hrefs, base=found.base)

    def _page(self, response: Response, title: str | None, links: int) -> Page:
        meta = response.meta
        last_modified = response.headers.get(b"Last-Modified")
        text = response.text if self.with_body and isinstance(response, TextResponse) else None
        return Page(
            url=response.url,
            status=response.status,
            depth=meta.get("depth", 0),
            quality=meta.get("quality", 1.0),
            title=title,
            content_type=media_type(response) or None,
            last_modified=last_modified.decode("latin-1") if last_modified else None,
            length=_length(response),
            server=server_key(response.url),
            fetched_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            dns_time=meta.get("dns_time"),
            connect_time=meta.get("connect_time"),
            tls_time=meta.get("tls_time"),
            response_time=meta.get("response_time"),
            connection_reused=meta.get("connection_reused"),
            connection_requests=meta.get("connection_requests"),
            links=links,
            duplicate_of=meta.get(DUPLICATE_OF),
            near_duplicate_of=meta.get(NEAR_DUPLICATE_OF),
            body=text,
        )

    def _read_seeds(self) -> Iterator[tuple[str, float | None]]:
        """The seeds and the quality given with them; a bad line costs a warning."""
        for seed in read_seeds(self._seed_lines()):
            if isinstance(seed, BadSeed):
                self._count("web/bad_seeds")
                self.logger.warning("Seed %d skipped: %.100r: %s", seed.line, seed.text, seed.reason)
            else:
                yield seed.url, seed.quality

    def _seed_lines(self) -> Iterable[str]:
        if self.seeds == "-":
            return sys.stdin.read().splitlines()
        path = Path(self.seeds)
        if "://" not in self.seeds and path.is_file():
            return path.read_text(encoding="utf-8", errors="replace").splitlines()
        return self.seeds.split(",")

    def _count(self, stat: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(stat)


def _length(response: Response) -> int:
    """Bytes of the body; where it was not read (``LINKS_TYPES``), what the server says."""
    stated = response.headers.get(b"Content-Length") or b""
    return int(stated) if "download_stopped" in response.flags and stated.isdigit() else len(response.body)


def _says_nofollow(response: Response) -> bool:
    words = b",".join(response.headers.getlist(b"X-Robots-Tag")).lower()
    return b"nofollow" in words or b"none" in words.split(b",")
