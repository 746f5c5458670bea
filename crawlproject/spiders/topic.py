"""The focused crawl: pages on a topic, by the links most likely to lead to them (docs/topic.md).

Imports of ``content.relevance`` are local, because Scrapy imports all spiders for every crawl.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy import Request, signals
from scrapy.exceptions import CloseSpider
from scrapy.http import TextResponse

from crawlproject.clock import CLOCK
from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.page_reading import is_html, markup, read_page, saved_text
from crawlproject.download.off_loop import LARGE, off_loop
from crawlproject.engine import stats_of
from crawlproject.items import Page
from crawlproject.links import Links
from crawlproject.options.extras import needs_extra
from crawlproject.options.start_errors import starting
from crawlproject.requests.meta import KEEP
from crawlproject.spiders.web import ARGUMENTS, WebSpider
from crawlproject.storage.replacing import replace_file
from crawlproject.urls.extract import extract

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.content.relevance.focus import Focus, LinkModel
    from crawlproject.content.relevance.topic import Example, Relevance, TopicFile

logger = logging.getLogger(__name__)

#: Steps that links may be followed below the threshold, at most.
MAX_TUNNEL = 9
#: Steps of a seed, so that its links are at step 0 in any case.
SEED = -1
#: Links rated per turn of the event loop: 0.1 s if each brings words never seen.
STEP = 100
#: Seconds between lines in the log, and between writes of what was learned.
INTERVAL = 60.0
#: Characters read of a page without a parsed text.
_MAX_UNPARSED = 200_000

#: Closing reason if no example page could be read.
NO_TOPIC = "no_topic"


@dataclass(slots=True)
class TopicPage(Page):
    """A relevant page."""

    #: Between 0 and 1.
    relevance: float = 0.0


class TopicSpider(WebSpider):
    """Pages on a topic: ``scrapy crawl topic -a topic=FILE -a seeds=...``.

    ``-a tunnel=N``: links of pages below the topic's threshold are followed N steps further (default 1); seeds count as
    above it.  All arguments of ``web`` hold.  Yields a ``TopicPage`` for each page at or above the threshold.
    """

    name = "topic"
    known_arguments = ("topic", "tunnel", *ARGUMENTS)
    failing_reasons = (*WebSpider.failing_reasons, NO_TOPIC)

    def __init__(self, topic: str = "", tunnel: str = "1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not topic:
            raise ValueError("topic='': must be a TOML file (docs/topic.md)")
        if not (str(tunnel).isascii() and str(tunnel).isdigit() and int(tunnel) <= MAX_TUNNEL):
            raise ValueError(f"tunnel={tunnel!r:.100}: must be a whole number from 0 to {MAX_TUNNEL}")
        self.tunnel = int(tunnel)
        with needs_extra(f"topic={topic!r}", "topic"):
            import rjieba  # noqa: F401
            import snowballstemmer  # noqa: F401
        from crawlproject.content.relevance.focus import LinkModel
        from crawlproject.content.relevance.topic import read_topic, warm_up

        self._file: TopicFile = read_topic(Path(topic))
        warm_up()
        self._examples = [_read_example(path) for path in self._file.files()]
        self._learned = Learned(LinkModel())
        self._focus: Focus | None = None  # until the topic is known
        self._state: StateFile | None = None
        self.fetched = self.relevant = 0
        self._logged_at = CLOCK()

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.with_text = True
        crawler.signals.connect(spider._opened, signals.spider_opened)
        crawler.signals.connect(spider._closed, signals.spider_closed)
        return spider

    def _opened(self) -> None:
        """On ``spider_opened``: read what an earlier run has learned."""
        folder, file = self.settings["JOBDIR"], self._file
        if folder:
            sources = [file.terms, file.threshold, file.examples, self._examples]
            self._state = StateFile(Path(folder), sources, stats_of(self.crawler))
            self._learned = self._state.load() or self._learned
        if self._learned.terms is not None or not file.examples:
            self._begin()

    def _begin(self) -> None:
        from crawlproject.content.relevance.focus import Focus

        topic = self._file.topic(self._learned.terms, self._learned.threshold)
        self._focus = Focus(topic, self._learned.model)

    async def start(self) -> AsyncIterator[Any]:
        """Learn the topic from its examples, if it has any; then as ``WebSpider``."""
        if self._focus is None:
            await self._learn_topic()
        if self._focus is not None:
            async for links in super().start():
                yield replace(links, callback=self.parse_seed) if isinstance(links, Links) else links

    async def parse(  # type: ignore[override]  # Scrapy takes both
        self, response: Response, **kwargs: Any
    ) -> AsyncIterator[Page | Links]:
        """A page found by links of relevant pages."""
        async for output in self._parse_at(response, 0):
            yield output

    async def parse_seed(self, response: Response) -> AsyncIterator[Page | Links]:
        """A seed: its links are followed as those of a relevant page, which start pages and lists rarely are."""
        async for output in self._parse_at(response, SEED):
            yield output

    async def _parse_at(self, response: Response, steps: int) -> AsyncIterator[Page | Links]:
        """``steps``: pages below the threshold in a row that led here; ``SEED``."""
        focus = self._focus
        if focus is None:  # the frontier had pages, but the examples are gone
            response.meta[KEEP] = True
            return
        judged: Relevance | None = None
        for output in super().parse(response):
            if isinstance(output, Page):
                judged = self._judge(focus, response, output, *await _text_of(response))
                if focus.is_relevant(judged):
                    values = {one.name: getattr(output, one.name) for one in fields(Page)}
                    yield TopicPage(**values, relevance=round(judged.value, 4))
            elif judged is None or not output.hrefs:
                yield output
            else:
                yield await self._rated(focus, output, judged, steps)

    def _judge(self, focus: Focus, response: Response, page: Page, html: str, text: str) -> Relevance:
        from crawlproject.content.relevance.words import declared_language

        first = response.meta.get("redirect_urls") or [response.request.url if response.request else response.url]
        judged = focus.judge(first[0], page.title or "", text, declared_language(html))
        self._count_harvest(focus.is_relevant(judged))
        return judged

    async def _rated(self, focus: Focus, links: Links, judged: Relevance, steps: int) -> Links:
        """``links`` with a quality for each; without any below the threshold for too long."""
        from crawlproject.content.relevance.focus import MAX_RATED, anchors, discounted

        steps = 0 if focus.is_relevant(judged) else steps + 1
        response, hrefs, crawl = cast("TextResponse", links.response), links.hrefs, frontier_of(self.crawler)
        if steps > self.tunnel:
            return Links(response, ())
        urls: Sequence[str | None] = ()
        if crawl is not None:  # else ``scrapy parse``
            urls = crawl.intake.canonical(Links(response, hrefs[:MAX_RATED], base=links.base))
        html = markup(response)
        around = await off_loop(anchors, html) if len(response.body) >= LARGE else anchors(html)
        wanted = {
            number: (url, around.get(href.partition("#")[0]))
            for number, (href, url) in enumerate(zip(hrefs, urls, strict=False))
            if url is not None
        }
        qualities = [discounted(focus.rate_any(response.url, judged), steps)] * len(hrefs)
        for count, (number, quality) in enumerate(zip(wanted, focus.rate(judged, wanted.values()), strict=True), 1):
            qualities[number] = discounted(quality, steps)
            if count % STEP == 0:
                await asyncio.sleep(0)
        callback = getattr(self, f"parse_below_{steps}") if steps else None
        return Links(response, hrefs, base=links.base, callback=callback, quality=qualities)

    def _count_harvest(self, is_relevant: bool) -> None:
        """Count a page; from time to time, log the harvest rate and keep what was learned."""
        self.fetched += 1
        self.relevant += is_relevant
        self._count("topic/pages")
        if is_relevant:
            self._count("topic/relevant")
        if CLOCK() - self._logged_at >= INTERVAL:
            self._logged_at = CLOCK()
            self._log_harvest()
            self._save()

    def _log_harvest(self) -> None:
        rate = round(self.relevant / max(1, self.fetched), 4)
        stats_of(self.crawler).set_value("topic/harvest_rate", rate)
        self.logger.info("Harvest: %d of %d pages are relevant (%.1f%%)", self.relevant, self.fetched, 100 * rate)

    def _save(self) -> None:
        if self._state is not None and self._focus is not None:
            self._state.save(self._learned)

    def _closed(self) -> None:
        self._log_harvest()
        self._save()
        stats_of(self.crawler).set_value("topic/learned", self._learned.model.learned)

    async def _learn_topic(self) -> None:
        pages = [await self._fetch_example(url) for url in self._file.urls()]
        examples = [example for example in [*self._examples, *pages] if example is not None]
        found = await off_loop(self._file.learned, examples)
        if found is None:
            return
        self._learned.terms, self._learned.threshold = found
        self._begin()
        self._save()  # the examples may be gone when a killed crawl is resumed
        best = ", ".join(list(self._learned.terms)[:10])
        self.logger.info("Topic of %d examples, threshold %.3f: %.300s", len(examples), self._learned.threshold, best)

    async def _fetch_example(self, url: str) -> Example | None:
        """An example page; None, with a warning, if it cannot be fetched."""
        try:
            assert self.crawler.engine is not None
            response = await self.crawler.engine.download_async(Request(url, dont_filter=True))
            if response.status != 200:
                raise ValueError(f"status {response.status}")
            if not isinstance(response, TextResponse):
                raise ValueError("no text")
            return await off_loop(_example, markup(response)[:_MAX_UNPARSED], is_page=is_html(response))
        except Exception as error:  # noqa: BLE001  # a middleware may raise any
            self._count("topic/bad_examples")
            self.logger.warning("Example %.200s skipped: %.200s", url, str(error) or type(error).__name__)
            return None

    def _end_without_pages(self) -> None:
        """See ``WebSpider``; without a topic there is nothing to crawl for. Raises CloseSpider."""
        if self._focus is None:
            self.logger.error("No example of the topic could be read, and it has no terms")
            raise CloseSpider(NO_TOPIC)
        super()._end_without_pages()


def _below(steps: int) -> Any:
    """The callback of pages found below the threshold: its name keeps the steps, also in a stored frontier."""

    async def parse(self: TopicSpider, response: Response) -> AsyncIterator[Page | Links]:
        async for output in self._parse_at(response, steps):
            yield output

    parse.__name__ = f"parse_below_{steps}"
    parse.__qualname__ = f"TopicSpider.{parse.__name__}"
    parse.__doc__ = f"A page found by links of the last of {steps} pages below the threshold."
    return parse


for _steps in range(1, MAX_TUNNEL + 1):
    setattr(TopicSpider, f"parse_below_{_steps}", _below(_steps))


async def _text_of(response: Response) -> tuple[str, str]:
    if not isinstance(response, TextResponse):
        return "", ""
    if not is_html(response):
        return "", response.text[:_MAX_UNPARSED]
    html = markup(response)
    text = read_page(response).text
    if text is None:  # the guard is off, so that nobody else asked for it
        page = await off_loop(extract, html[:_MAX_UNPARSED], response.url, with_text=True)
        text = page.text
    return html, text or ""


def _read_example(path: Path) -> Example:
    """An example in a file, HTML or plain text, in the encoding that it declares. Raises ValueError."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_UNPARSED)
        return _example(saved_text(data), is_page=path.suffix.lower() in (".html", ".htm", ".xhtml"))
    except (OSError, ValueError) as error:
        raise ValueError(f"topic: example {str(path)!r}: {getattr(error, 'strerror', None) or error}") from error


def _example(text: str, *, is_page: bool) -> Example:
    """Raises ValueError without a text."""
    from crawlproject.content.relevance.topic import Example, own_lines
    from crawlproject.content.relevance.words import declared_language

    example = Example("", text, "", text.splitlines())
    if is_page:
        page = extract(text, "http://example.org/", with_text=True)
        example = Example(page.title or "", page.text or "", declared_language(text), own_lines(text))
    if "\0" in text or not (example.title + example.text).strip():
        raise ValueError("no text")
    return example


@dataclass
class Learned:
    """The model, and terms and threshold learned from examples, if there are any."""

    model: LinkModel
    terms: dict[str, float] | None = None
    threshold: float | None = None


class StateFile:
    """What was learned, in ``topic.json`` in ``folder``; not used for another topic, or after other ``sources``."""

    def __init__(self, folder: Path, sources: Any, stats: StatsCollector) -> None:
        self._path = folder / "topic.json"
        self._sources = zlib.crc32(json.dumps(sources, sort_keys=True).encode("utf-8", "surrogatepass"))
        self._stats = stats

    def load(self) -> Learned | None:
        """None if there is no file, or none that can be used, which costs a line in the log."""
        from crawlproject.content.relevance.focus import LinkModel

        try:
            data = json.loads(self._path.read_bytes())
            if data["sources"] != self._sources:
                logger.info("%s: learned for another topic, or from other examples; not used", self._path)
                return None
            return Learned(LinkModel.from_state(data["model"]), data["terms"], data["threshold"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._stats.inc_value("topic/state_damaged")
            logger.warning("%s: damaged, so links are learned from the beginning: %.200s", self._path, error)
            return None

    def save(self, learned: Learned) -> None:
        """Replace the file; a crash or a power cut leaves the old one. 30 ms, and what the disk takes."""
        data = {
            "sources": self._sources,
            "terms": learned.terms,
            "threshold": learned.threshold,
            "model": learned.model.to_state(),
        }
        try:
            replace_file(self._path, json.dumps(data))
        except OSError as error:
            self._stats.inc_value("topic/state_failed")
            logger.warning("%s: not written: %s", self._path, error.strerror)
