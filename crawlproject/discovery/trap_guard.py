"""Connects the trap guard to the crawl: passes pages and links to it and applies its verdicts to the frontier."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache
from scrapy.http import TextResponse

from crawlproject.content.page_marks import MAX_TEXT, page_marks
from crawlproject.discovery.page_reading import is_html, read_page
from crawlproject.download.few_lines import FewLines
from crawlproject.engine import stats_of
from crawlproject.frontier.frontier import REWRITE_STEP
from crawlproject.frontier.guard.judge import REASONS, Guard, GuardedPage, Visit, demoted, is_dropped
from crawlproject.frontier.guard.watched_patterns import is_doubted
from crawlproject.frontier.orders import ServerNames
from crawlproject.frontier.queues.sort_key import DEMOTED, OTHER_NAME
from crawlproject.options.traps import TrapOptions
from crawlproject.requests.answers import is_unread
from crawlproject.requests.meta import (
    CANONICAL,
    CLOSED_TO_ROBOTS,
    DUPLICATE_OF,
    FETCHED_BEFORE,
    NEAR_DUPLICATE_OF,
    WAS_LAST,
)
from crawlproject.urls import server_key
from crawlproject.urls.drop_params import DropRules
from crawlproject.urls.extract import SEPARATOR
from crawlproject.urls.traps import leads_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
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

#: Dropped patterns remembered, so that each is logged once.
PATTERNS_REMEMBERED = 10_000


def _marks_of(response: Response) -> Marks:
    """Marks of a page's content; of plain text its lines; none if it is not text."""
    if not isinstance(response, TextResponse):
        return frozenset()
    if not is_html(response):
        return page_marks(response.url, None, response.text[:MAX_TEXT].replace("\n", SEPARATOR))
    page = read_page(response, with_text=True)
    return page_marks(response.url, page.title, page.text or "", page.media)


def _nothing() -> Marks:
    return frozenset()


def _demoted_once(entry: Entry) -> Entry:
    return entry if entry.priority == DEMOTED else demoted(entry)


def _as_other_name(entry: Entry) -> Entry:
    """``entry``, ranked last, but not dropped with its pattern unless it is demoted for what its pattern showed."""
    return entry if entry.priority in (DEMOTED, OTHER_NAME) else demoted(entry, OTHER_NAME)


class TrapGuard:
    """Judges links for the intake and pages for the scheduler (docs/traps.md).

    Stats: ``guard/demoted`` (URLs), ``guard/servers`` (servers ranked last), ``guard/patterns`` (dropped patterns),
    ``guard/dropped`` (queued URLs of these), ``guard/closed_patterns`` (patterns closed to robots, or not read),
    ``guard/other_names`` (families of URLs that are other names of known pages), ``guard/additions`` (found to be
    idle), ``guard/visit_ids`` (parameters found to be visit ids), ``guard/merged`` (queued URLs equal to another one
    without its visit id).
    """

    def __init__(
        self, frontier: Frontier, seen: SeenDupeFilter, backend: Backend, stats: StatsCollector, options: TrapOptions
    ) -> None:
        self._frontier = frontier
        self._seen = seen
        self._backend = backend
        self._stats = stats
        self._options = options
        self._released: ServerNames[bool] = ServerNames()  # by the operator
        self._guard = Guard(options.limits, frontier.server, self._is_released, options.rules)
        self._work: deque[tuple[Iterator[int], str]] = deque()
        self._told: LRUCache[str, bool] = LRUCache(PATTERNS_REMEMBERED)
        self._lines, self._last_lines, self._id_lines = FewLines(logger), FewLines(logger), FewLines(logger)
        self._rules: dict[str, DropRules] = {}  # by server, if visit ids are known
        self.load([server.key for server in frontier.servers])

    def load(self, keys: Sequence[str]) -> None:
        """Continue with what was learned of the stored servers ``keys``. O(servers)."""
        for server in map(self._frontier.servers.__getitem__, keys):
            if server.guard is not None:
                self._guard.restored(server.guard)
            if server.demoted_because and (self._is_released(server.key) or server.demoted_because not in REASONS):
                self._frontier.servers.rank_last(server, "")
            elif server.guard is not None and server.guard.visit_ids.learned:
                self._rules[server.key] = DropRules.of_names(server.guard.visit_ids.learned)

    @classmethod
    def from_crawler(cls, crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter, backend: Backend) -> Self | None:
        """None without ``GUARD_ENABLED``. Raises ValueError for an invalid setting."""
        options = TrapOptions.of(crawler)
        return cls(frontier, seen, backend, stats_of(crawler), options) if options.is_guarded else None

    def page(
        self, url: str, response: Response, links: list[str | None]
    ) -> tuple[GuardedPage | None, list[str | None]]:
        """An object to judge the links of the page at the canonical ``url`` (None: follow all), and its canonical
        ``links`` without visit ids."""
        meta = response.meta
        self._learn_addition(url, response)
        if CLOSED_TO_ROBOTS in meta or is_unread(response):
            self._learn_closed(url)
            return None, links
        is_copy = DUPLICATE_OF in meta or NEAR_DUPLICATE_OF in meta
        self._learn_redirect(meta, lambda: _marks_of(response))
        self._learn_login(meta, url)
        canonical, first = (
            self._seen.canonicalizer.canonical(name) if name else None
            for name in (meta.get(CANONICAL), meta.get(DUPLICATE_OF) or meta.get(NEAR_DUPLICATE_OF))
        )
        visit = Visit(is_copy, FETCHED_BEFORE in meta, WAS_LAST in meta, meta.get("depth", 0), canonical, first, links)
        self._learn_name(url, visit)
        page = self._guard.page(url, lambda: _marks_of(response), visit)
        if page is not None:
            self._observe(page, url, links)
        if not self._rules:
            return page, links
        return page, [None if link is None else self.without_visit_id(link) for link in links]

    def judge(self, page: GuardedPage, entries: list[Entry]) -> list[Entry]:
        """Learn from the page's new links and return those to queue. O(length) each."""
        urls = [entry.url for entry in entries]
        last = page.learn(urls)
        names = page.other_names(urls) | page.with_additions(urls, self._seen.url_is_seen)
        if last or names:
            self._stats.inc_value("guard/demoted", len(last | names))
            entries = [demoted(entry) if entry.url in last else entry for entry in entries]
            entries = [_as_other_name(entry) if entry.url in names else entry for entry in entries]
        dropped, page.spent = page.spent, []  # consumed here: a page with many links is judged in steps
        for spent in dropped:
            self._drop(page.server, spent)
            entries = [entry for entry in entries if not (page.is_own(entry.url) and self._is_dropped(entry, spent))]
        self._frontier.servers.changed(page.server)
        self._judge(page.server)
        return entries

    def received(self, entries: list[Entry]) -> list[Entry]:
        """Judge new ``entries`` found on pages of other workers' servers; those that rank last are demoted. O(length)
        each."""
        judged = [demoted(entry) if self._guard.linked_from_elsewhere(entry.url) else entry for entry in entries]
        if changed := sum(one is not other for one, other in zip(judged, entries, strict=True)):
            self._stats.inc_value("guard/demoted", changed)
        return judged

    def work(self) -> Iterator[None]:
        """Do pending work in steps of 0.1 s.

        Called while a page is processed, because the crawl cannot end then.
        """
        while self._work:
            steps, stat = self._work.popleft()
            for dropped in steps:
                self._stats.inc_value(stat, dropped)
                yield

    def led_back(self, request: Request) -> None:
        """Learn from ``request``, a redirect to a known page: the URL requested first shows nothing new."""
        self._learn_redirect(request.meta, _nothing)

    def learn_content(self, key: str, url: str | None, *, copy: bool) -> None:
        """Learn from a page of the server ``key``, after the frontier did. O(length)."""
        server = self._frontier.server(key)
        if server is None:
            return
        if url is not None:
            self._guard.learn_content(server, url, copy=copy)
        self._judge(server)

    def release(self, name: str) -> Iterator[None]:
        """Stop judging the servers that ``name`` (``frontier.orders``) covers, and rank them like others again.

        In steps of a few ms.  URLs that were dropped do not come back.  Raises ValueError for too many names.
        """
        self._released.set(name, True)
        yield from self._frontier.servers.for_covered(name, self._rank_normally)

    def _rank_normally(self, server: Server) -> None:
        if server.demoted_because:
            self._frontier.servers.rank_last(server, "")

    def _is_released(self, key: str) -> bool:
        return self._options.is_released(key) or self._released.find(key) is not None

    def _drop(self, server: Server, spent: str) -> None:
        """Drop the queued URLs of a pattern."""
        pattern = server.key + spent
        if pattern in self._told:  # it revives when its URLs are found again
            logger.debug("%s shows nothing new again: its URLs are dropped", pattern)
        else:
            self._told[pattern] = True
            self._lines.log(logging.INFO, "%s shows nothing new: its URLs are dropped", pattern)
        self._stats.inc_value("guard/patterns")
        self._rewrite(server, lambda entry: self._without(spent, entry), "guard/dropped")

    def _rewrite(self, server: Server, judge: Callable[[Entry], Entry | None], stat: str) -> None:
        """Judge the queued URLs of ``server``: few at once, many in ``work``."""
        if len(server.urls) <= REWRITE_STEP:
            self._stats.inc_value(stat, sum(self._frontier.rewrite_queue(server, judge)))
        else:
            self._work.append((self._frontier.rewrite_queue(server, judge), stat))

    def _judge(self, server: Server) -> None:
        reason = self._guard.standing_out(server)
        if reason and not server.demoted_because:
            text = "%s is ranked last: %s (to release it: GUARD_RELEASED)"
            self._last_lines.log(logging.INFO, text, server.key, reason)
            self._stats.inc_value("guard/servers")
            self._frontier.servers.rank_last(server, reason)

    def _observe(self, page: GuardedPage, url: str, links: list[str | None]) -> None:
        server = page.server
        pages = page.observe(url, links)
        if not pages or server.guard is None:
            return
        rules = self._rules[server.key] = DropRules.of_names(server.guard.visit_ids.learned)
        visit_id = server.guard.visit_ids.learned[-1]
        self._id_lines.log(logging.INFO, "%s: %s is a visit id: removed from its URLs", server.key, visit_id)
        self._stats.inc_value("guard/visit_ids")
        self._seen.urls_are_new([rules.strip_url(fetched) for fetched in pages])
        self._rewrite(server, self._merge, "guard/merged")

    def _learn_redirect(self, meta: dict[str, Any], marks: Callable[[], Marks]) -> None:
        """Count the content behind a redirect for the requested URL, if that is doubted."""
        url = self._requested(meta)
        if url is not None and is_doubted(self._guard.name_of(url)):
            page = self._guard.page(url, marks, Visit(is_copy=marks is _nothing))
            if page is not None:
                self.judge(page, [])

    def _requested(self, meta: dict[str, Any]) -> str | None:
        """The canonical URL requested first; None without a redirect."""
        requested = meta.get("redirect_urls")
        return self._seen.canonicalizer.canonical(requested[0]) if requested else None

    def _learn_login(self, meta: dict[str, Any], url: str) -> None:
        """Learn from a redirect to ``url`` whether the URL requested first asks for a login."""
        requested = self._requested(meta)
        if requested is None:
            return
        if leads_back(url, requested):
            self._learn_closed(requested)
        else:
            self._guard.open_page(requested)

    def _learn_closed(self, url: str) -> None:
        """Count a page closed to robots; demote the queued URLs of its pattern if all its pages are."""
        closed = self._guard.closed_page(url)
        if closed is None:
            return
        server, name = closed
        logger.debug("%s%s is closed to robots: its URLs rank last", server.key, name)
        self._stats.inc_value("guard/closed_patterns")
        self._rank_links_last(server, lambda url: self._guard.name_of(url) == name, _demoted_once)

    def _learn_name(self, url: str, visit: Visit) -> None:
        """Learn of which page ``url`` is another name; demote the queued URLs of its family if all of them are."""
        server = self._guard.learn_name(url, visit)
        if server is None or server.guard is None:
            return
        logger.debug("%s: URLs like %s are other names of known pages: they rank last", server.key, url)
        self._stats.inc_value("guard/other_names")
        self._rank_links_last(server, server.guard.other_names.__contains__, _as_other_name)

    def _learn_addition(self, url: str, response: Response) -> None:
        """Learn what links add to addresses in vain; demote the queued URLs that have it."""
        meta = response.meta
        if FETCHED_BEFORE in meta or response.status != 200:
            return
        first = meta.get(DUPLICATE_OF) or meta.get(NEAR_DUPLICATE_OF)
        first = self._seen.canonicalizer.canonical(first) if first else None
        server = self._guard.learn_addition(url, first, is_page=is_html(response))
        if server is None or server.guard is None:
            return
        self._stats.inc_value("guard/additions")
        additions = server.guard.additions
        self._rank_links_last(server, lambda url: additions.is_idle(url, self._seen.url_is_seen), _as_other_name)

    def _rank_links_last(
        self, server: Server, are_last: Callable[[str], bool], ranked: Callable[[Entry], Entry]
    ) -> None:
        """Put ``ranked`` in place of the queued links of ``server`` whose URL is one of those that ``are_last``."""

        def judge(entry: Entry) -> Entry:
            return ranked(entry) if self._backend.is_link(entry) and are_last(entry.url) else entry

        self._frontier.servers.changed(server)
        self._rewrite(server, judge, "guard/dropped")

    def _without(self, spent: str, entry: Entry) -> Entry | None:
        """The queued ``entry``; None if it is dropped with the pattern ``spent``. Pages of earlier runs stay."""
        if self._backend.is_refetched(entry) or not self._is_dropped(entry, spent):
            return entry
        self._backend.dropped(entry)
        return None

    def _is_dropped(self, entry: Entry, spent: str) -> bool:
        return self._backend.is_link(entry) and is_dropped(entry, self._guard.name_of(entry.url), spent)

    def _merge(self, entry: Entry) -> Entry | None:
        url = self.without_visit_id(entry.url)
        if url == entry.url or not self._backend.is_link(entry):
            return entry
        if self._seen.url_is_new(url):
            return entry._replace(url=url)
        self._backend.dropped(entry)
        return None

    def without_visit_id(self, url: str) -> str:
        """The canonical ``url`` without visit ids known on its server. O(length)."""
        rules = self._rules.get(server_key(url)) if "=" in url else None
        return url if rules is None else rules.strip_url(url)
