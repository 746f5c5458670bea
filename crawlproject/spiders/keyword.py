"""The keyword search: level by level from a page until a keyword is found (docs/topic.md).

Imports of ``content.relevance`` are local, because Scrapy imports all spiders for every crawl.
"""

from __future__ import annotations

import csv
import logging
import os
import re
from contextlib import suppress
from errno import ENOSPC
from io import BufferedReader
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from unicodedata import normalize
from urllib.parse import quote

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.http import TextResponse

from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.link_intake import STEP
from crawlproject.discovery.page_reading import is_html, markup
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import stats_of
from crawlproject.links import Links
from crawlproject.options.project_rules import ENABLED
from crawlproject.options.start_errors import starting
from crawlproject.requests.meta import SKIP_LINKS
from crawlproject.spiders.seed_list import is_host
from crawlproject.spiders.web import ARGUMENTS, WebSpider
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from crawlproject.content.relevance.visible import Found
    from crawlproject.items import Page

logger = logging.getLogger(__name__)

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
        self.keyword = _checked_keyword(keyword)
        if levels not in map(str, range(1, MAX_LEVELS + 1)):
            raise ValueError(f"levels={levels!r:.100}: must be a whole number from 1 to {MAX_LEVELS}")
        self.levels = int(levels)
        self._output = _empty_folder(output) if output else None
        self._saved: SavedPages | None = None
        self.level = 1
        self.lines: list[tuple[str, Found]] = []
        #: Canonical URLs of the next level, and those of this one that are not yet queued.
        self._next: LevelLinks | None = None
        self._waiting: LevelLinks | None = None

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        if crawler.settings["JOBDIR"]:
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


def _checked_keyword(keyword: str) -> str:
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


INDEX = "index.csv"
COLUMNS = ("file", "level", "url", "status", "lines_found")

_unsafe = re.compile(r"[^A-Za-z0-9._-]+").sub
_suffix = re.compile(r"\.[a-z0-9]{1,5}\Z").search


def _empty_folder(name: str) -> Path:
    """A folder that is new or empty. Raises ValueError."""
    path = Path(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = not any(path.iterdir())
    except (OSError, ValueError) as error:  # ValueError: NUL
        raise ValueError(f"output={name!r:.200}: {getattr(error, 'strerror', None) or error}") from error
    if not is_empty:
        raise ValueError(f"output={name!r:.200}: must be a new or an empty folder")
    return path


def file_name(number: int, url: str) -> str:
    """A name from a number and the URL: letters, digits, ``._-``; it begins with the number, so it never escapes."""
    readable = _unsafe("_", url.partition("://")[2])[:80].strip("._")
    return f"{number:05d}-{readable}" + ("" if _suffix(readable) else ".html")


class SavedPages:
    """Writes pages, and a line for each in ``index.csv``; after a failure, which is logged, no more are saved."""

    def __init__(self, folder: Path, stats: StatsCollector) -> None:
        self._folder, self._stats = folder, stats
        self._saved = 0
        self._has_failed = False

    def save(self, response: Response, level: int, found: int) -> None:
        if not self._has_failed:
            path = self._folder / file_name(self._saved + 1, response.url)
            try:
                with path.open("xb") as file:
                    file.write(response.body)
                with (self._folder / INDEX).open("a", newline="", encoding="utf-8") as index:
                    row = (path.name, level, response.url, response.status, found)
                    csv.writer(index).writerows([row] if self._saved else [COLUMNS, row])
            except OSError as error:
                self._has_failed = True
                logger.error("%s: no more pages are saved: %s", self._folder, error.strerror)
        self._saved += not self._has_failed
        self._stats.inc_value("keyword/not_saved" if self._has_failed else "keyword/saved")


#: Maximum bytes of a level's links: 50 million links of 80 characters.
MAX_BYTES = 4_000_000_000

#: Links that are recognised when they come again; others are recognised when they are queued.
REMEMBERED = 50_000


class LevelLinks:
    """Canonical URLs in a file: first all are added, then they are taken.

    Stat: ``keyword/links_lost``, beyond ``MAX_BYTES`` or on a full disk.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - unbuffered: what a full disk refuses is not kept
        self._size = self._count = 0
        self._has_lost = False
        self._recent: set[int] = set()
        self._lines: Iterator[bytes] | None = None

    def __len__(self) -> int:
        return self._count

    def add(self, urls: Iterable[str]) -> None:
        """Append URLs that were not added recently."""
        lines = []
        for url in urls:
            if (key := hash(url)) not in self._recent:
                if len(self._recent) >= REMEMBERED:
                    self._recent.clear()
                self._recent.add(key)
                lines.append(url.encode("utf-8", "surrogatepass") + b"\n")
        data = b"".join(lines)
        try:
            if self._size + len(data) > MAX_BYTES or self._file.write(data) < len(data):
                raise OSError(ENOSPC, os.strerror(ENOSPC))
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            if not self._has_lost:
                logger.error("Links of the next level are lost: %s", error.strerror)
            self._has_lost = True
            self._stats.inc_value("keyword/links_lost", len(lines))
        else:
            self._size += len(data)
            self._count += len(lines)

    def take(self, most: int) -> list[str]:
        """Remove the first URLs, at most ``most``."""
        if self._lines is None:
            self._file.seek(0)
            self._lines = iter(BufferedReader(self._file))
        taken = [line[:-1].decode("utf-8", "surrogatepass") for line in islice(self._lines, most)]
        self._count -= len(taken)
        return taken

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
