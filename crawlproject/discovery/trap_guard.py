"""The guard at work: what it judges of a page's links, and what follows for the frontier."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from scrapy.http import TextResponse

from crawlproject.content.page_marks import MAX_TEXT, page_marks
from crawlproject.discovery.page_reading import is_html, read_page
from crawlproject.engine import stats_of
from crawlproject.frontier.frontier import REWRITE_STEP
from crawlproject.frontier.guard.judge import REASONS, Guard, GuardedPage, demoted, is_dropped
from crawlproject.frontier.guard.watched_patterns import is_doubted
from crawlproject.options.traps import TrapOptions, warn_of_removed
from crawlproject.requests.meta import DUPLICATE_OF, FETCHED_BEFORE, NEAR_DUPLICATE_OF
from crawlproject.urls import server_key
from crawlproject.urls.drop_params import DropRules
from crawlproject.urls.extract import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.protocol import Backend
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.guard.watched_patterns import Marks
    from crawlproject.frontier.server import Server

logger = logging.getLogger(__name__)


def _marks_of(response: Response) -> Marks:
    """What a page shows: of plain text its lines; nothing where it is no text."""
    if not isinstance(response, TextResponse):
        return frozenset()
    if not is_html(response):
        return page_marks(response.url, None, response.text[:MAX_TEXT].replace("\n", SEPARATOR))
    page = read_page(response, with_text=True)
    return page_marks(response.url, page.title, page.text or "", page.media)


def _nothing() -> Marks:
    return frozenset()


class TrapGuard:
    """Judges links for the intake and pages for the scheduler (docs/traps.md).

    Stats: ``guard/demoted`` (URLs), ``guard/servers`` (servers put after all others), ``guard/patterns`` (patterns
    dropped), ``guard/dropped`` (URLs of these that waited), ``guard/visit_ids``
    (parameters found to be ids of visits), ``guard/merged`` (URLs that waited and were another one but for them).
    """

    def __init__(
        self, frontier: Frontier, seen: SeenDupeFilter, backend: Backend, stats: StatsCollector, options: TrapOptions
    ) -> None:
        self._frontier = frontier
        self._seen = seen
        self._backend = backend
        self._stats = stats
        self._guard = Guard(options.limits, frontier.server, options.is_released, options.rules)
        self._work: deque[tuple[Iterator[int], str]] = deque()
        self._rules: dict[str, DropRules] = {}  # by server, where ids of visits are known
        for server in frontier.servers:
            if server.guard is not None:
                self._guard.restored(server.guard)
            if server.demoted_because and (options.is_released(server.key) or server.demoted_because not in REASONS):
                frontier.servers.rank_last(server, "")
            elif server.guard is not None and server.guard.visit_ids.learned:
                self._rules[server.key] = DropRules.of_names(server.guard.visit_ids.learned)

    @classmethod
    def from_crawler(cls, crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter, backend: Backend) -> Self | None:
        """None without ``GUARD_ENABLED``. Raises ValueError for a wrong setting."""
        warn_of_removed(crawler.settings)
        options = TrapOptions.of(crawler)
        return cls(frontier, seen, backend, stats_of(crawler), options) if options.is_guarded else None

    def page(
        self, url: str, response: Response, links: list[str | None]
    ) -> tuple[GuardedPage | None, list[str | None]]:
        """The page at the canonical ``url``, to be asked about its links (None: all are followed), and these, the
        canonical ``links``, without ids of visits."""
        meta = response.meta
        is_copy = DUPLICATE_OF in meta or NEAR_DUPLICATE_OF in meta
        self._learn_redirect(meta, lambda: _marks_of(response))
        page = self._guard.page(url, lambda: _marks_of(response), is_copy=is_copy, is_known=FETCHED_BEFORE in meta)
        if page is not None:
            self._observe(page, url, links)
        if not self._rules:
            return page, links
        return page, [None if link is None else self._without_visit_id(link) for link in links]

    def judge(self, page: GuardedPage, entries: list[Entry]) -> list[Entry]:
        """Take in the page's links met for the first time; what is to be queued of them. O(length) each."""
        last = page.learn([entry.url for entry in entries])
        if last:
            self._stats.inc_value("guard/demoted", len(last))
            entries = [demoted(entry) if entry.url in last else entry for entry in entries]
        dropped, page.spent = page.spent, []  # a page of many links is judged in steps
        for spent in dropped:
            self._drop(page.server, spent)
            entries = [entry for entry in entries if not (page.is_own(entry.url) and self._is_dropped(entry, spent))]
        self._frontier.servers.changed(page.server)
        self._judge(page.server)
        return entries

    def work(self) -> Iterator[None]:
        """Do what is left to do, in steps of 0.1 s.

        It is for who processes a page: while one is under way, the crawl does not end.
        """
        while self._work:
            steps, stat = self._work.popleft()
            for dropped in steps:
                self._stats.inc_value(stat, dropped)
                yield

    def led_back(self, request: Request) -> None:
        """A redirect, ``request``, leads to a page met before: what was asked for shows nothing new."""
        self._learn_redirect(request.meta, _nothing)

    def learn_content(self, key: str, url: str | None, *, copy: bool) -> None:
        """A page of the server ``key`` was read, and the frontier told. O(length)."""
        server = self._frontier.server(key)
        if server is None:
            return
        if url is not None:
            self._guard.learn_content(server, url, copy=copy)
        self._judge(server)

    def _drop(self, server: Server, spent: str) -> None:
        """Have the URLs of a pattern no longer wait."""
        logger.info("%s%s shows nothing new: no longer followed", server.key, spent)
        self._stats.inc_value("guard/patterns")
        self._rewrite(server, lambda entry: self._without(spent, entry), "guard/dropped")

    def _rewrite(self, server: Server, judge: Callable[[Entry], Entry | None], stat: str) -> None:
        """Have the URLs that wait judged: at once where they are few, else by ``work``."""
        if len(server.urls) <= REWRITE_STEP:
            self._stats.inc_value(stat, self._frontier.rewrite_queue(server, judge))
        else:
            self._work.append((self._frontier.rewrite_queue_in_steps(server, judge), stat))

    def _judge(self, server: Server) -> None:
        reason = self._guard.standing_out(server)
        if reason and not server.demoted_because:
            logger.info("%s comes after all other servers: %s (GUARD_RELEASED)", server.key, reason)
            self._stats.inc_value("guard/servers")
            self._frontier.servers.rank_last(server, reason)

    def _observe(self, page: GuardedPage, url: str, links: list[str | None]) -> None:
        server = page.server
        pages = page.observe(url, links)
        if not pages or server.guard is None:
            return
        rules = self._rules[server.key] = DropRules.of_names(server.guard.visit_ids.learned)
        logger.info(
            "%s: %s is new on each visit, dropped from its URLs", server.key, server.guard.visit_ids.learned[-1]
        )
        self._stats.inc_value("guard/visit_ids")
        self._seen.urls_are_new([rules.strip_url(fetched) for fetched in pages])
        self._rewrite(server, self._merge, "guard/merged")

    def _learn_redirect(self, meta: dict[str, Any], marks: Callable[[], Marks]) -> None:
        """Where doubted URLs lead counts for them, though it has another URL."""
        requested = meta.get("redirect_urls")
        url = self._seen.canonicalizer.canonical(requested[0]) if requested else None
        if url is not None and is_doubted(self._guard.name_of(url)):
            page = self._guard.page(url, marks, is_copy=marks is _nothing)
            if page is not None:
                self.judge(page, [])

    def _without(self, spent: str, entry: Entry) -> Entry | None:
        """A waiting ``entry``, None where it goes with the pattern ``spent``; pages of earlier runs stay."""
        if self._backend.is_refetched(entry) or not self._is_dropped(entry, spent):
            return entry
        self._backend.dropped(entry)
        return None

    def _is_dropped(self, entry: Entry, spent: str) -> bool:
        return self._backend.is_link(entry) and is_dropped(entry, self._guard.name_of(entry.url), spent)

    def _merge(self, entry: Entry) -> Entry | None:
        url = self._without_visit_id(entry.url)
        if url == entry.url or not self._backend.is_link(entry):
            return entry
        if self._seen.url_is_new(url):
            return entry._replace(url=url)
        self._backend.dropped(entry)
        return None

    def _without_visit_id(self, url: str) -> str:
        rules = self._rules.get(server_key(url)) if "=" in url else None
        return url if rules is None else rules.strip_url(url)
