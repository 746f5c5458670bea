"""The keyword search: level by level from a page until a keyword is found (docs/topic.md).

Imports of ``content.relevance`` are local, because Scrapy imports all spiders for every crawl.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import quote

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.http import TextResponse

from crawlproject.compat import job_dir
from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.links import STEP
from crawlproject.discovery.page_reading import is_html, markup
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import stats_of
from crawlproject.links import Links
from crawlproject.options.project_rules import ENABLED
from crawlproject.options.start_errors import starting
from crawlproject.requests.meta import SKIP_LINKS
from crawlproject.spiders.keyword_pages import LevelLinks, SavedPages, output_folder
from crawlproject.spiders.seed_list import is_host
from crawlproject.spiders.web import ARGUMENTS, WebSpider
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from crawlproject.content.relevance.visible import Found
    from crawlproject.items import Page

#: Levels that are searched; the start is level 1.
MAX_LEVELS = 5

#: Settings of a search.
SETTINGS = {
    "FRONTIER_MIN_BACKOFF": 1.0,
    "FRONTIER_MAX_BACKOFF": 30.0,
    "FRONTIER_MAX_FAILURES": 3,
    "FRONTIER_ROBOTS_MAX_FAILURES": 2,
    "RETRY_TIMES": 1,
}

#: In a URL: they separate seeds, and a seed from its quality.
_separators = re.compile(r"[\s,]").sub

#: Closing reasons.
FOUND = "keyword_found"
NOT_FOUND = "keyword_not_found"


class KeywordSpider(WebSpider):
    """The first page with a keyword: ``scrapy crawl keyword -a start=URL -a keyword=TEXT [-a output=DIR]``.

    Pages that are linked from the start are level 2, and so on; all pages of a level are read before the first of the
    next one, up to ``-a levels=5``.  The arguments of ``web`` that set limits hold.  Yields an item for each line with
    the keyword: ``url``, ``level``, ``line``, ``text``.  Closing reasons: ``keyword_found``, ``keyword_not_found``.
    """

    name = "keyword"
    known_arguments = ("start", "keyword", "output", "levels", *(name for name in ARGUMENTS if name != "seeds"))

    def __init__(
        self, start: str = "", keyword: str = "", output: str = "", levels: str = str(MAX_LEVELS), **kwargs: Any
    ) -> None:
        self._check_arguments(kwargs)
        start = start.strip()
        if "://" not in start and is_host(start):
            start = f"http://{start}"  # which servers answer at least with a redirect to https
        if not start.startswith(("http://", "https://")):
            raise ValueError(f"start={start!r:.200}: must be a URL, or a host with or without a path")
        try:
            server_key(start)
        except ValueError as error:
            raise ValueError(f"start={start!r:.200}: {error}") from error
        super().__init__(seeds=_separators(lambda found: quote(found[0]), start), **kwargs)
        self.keyword = checked_keyword(keyword)
        if levels not in map(str, range(1, MAX_LEVELS + 1)):
            raise ValueError(f"levels={levels!r:.100}: must be a whole number from 1 to {MAX_LEVELS}")
        self.levels = int(levels)
        self._output = output_folder(Path(output)) if output else None
        self._saved: SavedPages | None = None
        self.level = 1
        self.lines: list[tuple[str, Found]] = []
        #: Canonical URLs of the next level, and those of this one that are not yet queued.
        self._next: LevelLinks | None = None
        self._waiting: LevelLinks | None = None

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        if job_dir(crawler.settings):
            raise ValueError("JOBDIR: a keyword search cannot be resumed, it starts at level 1")
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._opened, signals.spider_opened)
        crawler.signals.connect(spider._level_ended, signals.spider_idle)
        crawler.signals.connect(spider._closed, signals.spider_closed)
        return spider

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Give dead servers up soon, unless the project sets something else: each level waits for them."""
        super().update_settings(settings)
        for name, value in SETTINGS.items():
            settings.set(name, value, priority="addon")

    def _opened(self) -> None:
        if self._output is not None:
            self._saved = SavedPages(self._output, stats_of(self.crawler))
        stats_of(self.crawler).set_value("keyword/levels", 1)

    def _closed(self) -> None:
        for links in (self._waiting, self._next):
            if links is not None:
                links.close()

    async def parse(  # type: ignore[override]  # Scrapy takes both
        self, response: Response, **kwargs: Any
    ) -> AsyncIterator[Page | Links | dict[str, Any]]:
        """Search a page; its links belong to the next level."""
        if self.lines:  # found meanwhile
            return
        found: list[Found] = []
        for output in super().parse(response):
            if not isinstance(output, Links):
                found = await self._search(response)
            elif self.level < self.levels and not response.meta.get(SKIP_LINKS):
                self._keep(output)
        self._count("keyword/pages")
        if self._saved is not None:
            self._saved.save(response, self.level, len(found))
        if not found or self.lines:
            return
        self.lines = [(response.url, one) for one in found]
        stats_of(self.crawler).set_value("keyword/lines_found", len(found))
        for one in found:
            self.logger.info("Found on level %d: %s, line %d: %s", self.level, response.url, one.line, one.text)
            yield {"url": response.url, "level": self.level, "line": one.line, "text": one.text}
        raise CloseSpider(FOUND)

    async def _search(self, response: Response) -> list[Found]:
        if not isinstance(response, TextResponse):
            return []
        is_markup = is_html(response)
        text = markup(response)
        if len(response.body) >= LARGE:
            return await off_loop(_lines_with, text, self.keyword, is_markup=is_markup)
        return _lines_with(text, self.keyword, is_markup=is_markup)

    def _keep(self, links: Links) -> None:
        crawl = frontier_of(self.crawler)
        if crawl is None:  # ``scrapy parse``
            return
        if self._next is None:
            self._next = LevelLinks(stats_of(self.crawler))
        self._next.add(url for url in crawl.intake.canonical(links) if url is not None)

    def _level_ended(self) -> None:
        """On ``spider_idle``: queue pages of this level, or of the next one. Raises DontCloseSpider or CloseSpider."""
        if self.lines:
            raise CloseSpider(FOUND)
        crawl = frontier_of(self.crawler)
        if crawl is None:
            raise TypeError(f"the spider keyword needs the frontier: {ENABLED}")
        while self._waiting or (self._next and self.level < self.levels):
            if not self._waiting:
                self._begin_level()
            assert self._waiting is not None
            for _ in crawl.intake.push_links(Links(None, self._waiting.take(STEP))):
                pass
            if len(crawl):
                raise DontCloseSpider
        if self.pages:
            raise CloseSpider(NOT_FOUND)

    def _begin_level(self) -> None:
        self.level += 1
        if self._waiting is not None:
            self._waiting.close()
        self._waiting, self._next = self._next, None
        stats_of(self.crawler).set_value("keyword/levels", self.level)
        self.logger.info("Level %d, links to fetch: %d", self.level, len(self._waiting or ()))


def checked_keyword(keyword: str) -> str:
    """``keyword`` as it is looked for. Raises ValueError if it is empty, too long or no text."""
    from crawlproject.content.relevance.visible import MAX_KEYWORD, folded_keyword

    if len(normalize("NFC", keyword)) > MAX_KEYWORD:  # an accent is no character of its own
        raise ValueError(f"keyword={keyword[:20]!r}...: longer than {MAX_KEYWORD} characters")
    try:
        keyword.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"keyword={keyword!r}: not valid Unicode") from error
    folded = folded_keyword(keyword)
    if not folded:
        raise ValueError(f"keyword={keyword!r}: must not be empty")
    return folded


def _lines_with(text: str, keyword: str, *, is_markup: bool) -> list[Found]:
    from crawlproject.content.relevance.visible import find_keyword, text_lines, visible_lines

    return find_keyword(visible_lines(text) if is_markup else text_lines(text), keyword)
