"""Connects the trap guard to the crawl: passes pages and links to it and applies its verdicts to the frontier."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import TextResponse
from scrapy.http.request import NO_CALLBACK

from crawlproject.content.page_marks import PageText, page_content, shown_hash
from crawlproject.discovery.page_reading import content_of, is_html, text_of
from crawlproject.download.few_lines import FewLines
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.frontier import REWRITE_STEP
from crawlproject.frontier.guard.idle_parts import VERSION
from crawlproject.frontier.guard.judge import Guard, GuardedPage, Visit, demoted
from crawlproject.frontier.guard.patterns import is_doubted
from crawlproject.frontier.orders import ServerNames
from crawlproject.frontier.queues.sort_key import DEMOTED, OTHER_NAME, WAITING
from crawlproject.requests.answers import is_unread
from crawlproject.requests.failures import FETCH_FAILURES
from crawlproject.requests.meta import (
    BY_TYPE,
    CLOSED_TO_ROBOTS,
    DUPLICATE_OF,
    FETCHED_BEFORE,
    NEAR_DUPLICATE_OF,
    WAS_LAST,
)
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import server_key
from crawlproject.urls.traps import leads_back

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.protocol import Backend
    from crawlproject.content.page_marks import PageAddresses, PageContent
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.guard.judge import Answer, Question
    from crawlproject.frontier.server import Server
    from crawlproject.options.traps import TrapOptions

logger = logging.getLogger(__name__)

#: Questions that wait for an answer at once, of all servers. Others count as not answered.
MAX_QUESTIONS = 100

#: Meta of the requests for them: the server must answer now, once, and with a page.
_META = {BY_TYPE: True, "dont_cache": True, "dont_retry": True, "allow_offsite": True}


class Probes:
    """Asks the questions of the guard, one request after the other, when their server may be contacted.

    ``fetch``: gets the response to a request that does not come from the frontier, politely and by robots.txt;
    ``read``: what the guard needs to know of it.
    Stats: ``guard/probes`` (requests), ``guard/probes/<end>`` (patterns by their end: finite, endless, open).
    """

    def __init__(
        self, fetch: Callable[[Request], Awaitable[Response]], read: Callable[[Response], Answer], stats: StatsCollector
    ) -> None:
        self._fetch = fetch
        self._read = read
        self.stats = stats
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, guard: Guard, server: Server, question: Question, answered: Callable[[Server, str], None]) -> None:
        """Ask a ``question`` about ``server``; ``answered`` is called after each answer, with the name
        of the pattern."""
        if len(self._tasks) >= MAX_QUESTIONS:
            guard.answered(server, question, None)
            return
        task = asyncio.ensure_future(self._ask(guard, server, question, answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(
        self, guard: Guard, server: Server, question: Question, answered: Callable[[Server, str], None]
    ) -> None:
        then: Question | None = question
        while then is not None:
            self.stats.inc_value("guard/probes")
            request = Request(then.next_url, callback=NO_CALLBACK, meta=dict(_META), dont_filter=True)
            try:
                answer = self._read(await self._fetch(request))
            except FETCH_FAILURES as error:
                logger.debug("No answer to the guard's %s: %s", request, error)
                answer = None
            then = guard.answered(server, then, answer)
            answered(server, question.name)
        if question.far and server.guard is not None and question.name in server.guard.patterns:
            self.stats.inc_value(f"guard/probes/{server.guard.patterns[question.name].end}")


def _demoted_once(entry: Entry) -> Entry:
    return entry if entry.priority == DEMOTED else demoted(entry)


def _as_version(entry: Entry) -> Entry:
    """``entry``, which waits because its page is known."""
    return entry if entry.priority == OTHER_NAME else demoted(entry, OTHER_NAME)


class TrapGuard:
    """Judges links for the intake and pages for the scheduler (docs/traps.md).

    Stats: ``guard/demoted`` (URLs that wait), ``guard/patterns`` (dropped patterns), ``guard/dropped`` (waiting URLs
    dropped), ``guard/in_vain`` (servers whose waiting pages showed nothing new), ``guard/closed_patterns`` (patterns
    closed to robots, or not read), ``guard/idle_parts`` (parts of addresses found to be idle).
    """

    def __init__(
        self, frontier: Frontier, seen: SeenDupeFilter, backend: Backend, options: TrapOptions, probes: Probes
    ) -> None:
        self._frontier = frontier
        self._seen = seen
        self._backend = backend
        self._stats = probes.stats
        self._options = options
        self._probes = probes
        self._released: ServerNames[bool] = ServerNames()  # by the operator
        self._guard = Guard(options.limits, frontier.server, seen.url_is_seen, self._is_released, options.rules)
        self._work: deque[Iterator[int]] = deque()
        self._lines = FewLines(logger)
        self.load([server.key for server in frontier.servers])

    def load(self, keys: Sequence[str]) -> None:
        """Continue with what was learned of the stored servers ``keys``. O(servers)."""
        for server in map(self._frontier.servers.__getitem__, keys):
            self._guard.restored(server)

    def page(self, url: str, response: Response, links: list[str | None]) -> GuardedPage | None:
        """An object to judge the canonical ``links`` of the page at the canonical ``url``; None: follow all."""
        meta = response.meta
        self._learn_part(url, response, links)
        if CLOSED_TO_ROBOTS in meta or is_unread(response):
            self._learn_closed(url)
            return None
        is_copy = DUPLICATE_OF in meta or NEAR_DUPLICATE_OF in meta
        self.learn_redirect(meta, partial(content_of, response))
        self._learn_login(meta, url)
        visit = Visit(is_copy, FETCHED_BEFORE in meta, meta.get(WAS_LAST, 0), meta.get("depth", 0), links)
        return self._guard.page(url, partial(content_of, response), visit)

    def judge(self, page: GuardedPage, entries: list[Entry]) -> list[Entry]:
        """Learn from the page's new links and return those to queue. O(length) each."""
        urls = [entry.url for entry in entries]
        last = page.learn(urls)
        versions = page.versions(urls, self._mark)
        if last or versions:
            self._stats.inc_value("guard/demoted", len(last | versions))
            entries = [demoted(entry) if entry.url in last else entry for entry in entries]
            entries = [_as_version(entry) if entry.url in versions else entry for entry in entries]
            server_of, spent = self._frontier.server, self._guard.has_versions
            followed = [e for e in entries if e.url not in versions or not spent(server_of(server_key(e.url)))]
            self._stats.inc_value("guard/dropped", len(entries) - len(followed))
            entries = followed
        dropped, page.spent = page.spent, []  # consumed here: a page with many links is judged in steps
        for name in dropped:
            self._drop(page.server, name)
            entries = [e for e in entries if not (page.is_own(e.url) and self._is_dropped(page.server, e, name))]
        questions, page.questions = page.questions, []
        for question in questions:
            self._probes.ask(self._guard, page.server, question, self._answered)
        self._frontier.servers.changed(page.server)
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
            for dropped in self._work.popleft():
                self._stats.inc_value("guard/dropped", dropped)
                yield

    def release(self, name: str) -> None:
        """Stop judging the servers that ``name`` (``frontier.orders``) covers; what was dropped does not come back.

        O(1).  Raises ValueError for too many names.
        """
        self._released.set(name, True)

    def _is_released(self, key: str) -> bool:
        return self._options.is_released(key) or self._released.find(key) is not None

    def _answered(self, server: Server, name: str) -> None:
        if self._guard.is_sprawling(server, name):
            self._rank_links_last(server, lambda url: self._guard.name_of(url) == name, _demoted_once)
        else:
            self._frontier.servers.changed(server)

    def _mark(self, version: str) -> None:
        if self._seen.url_is_new(version):
            self._backend.dropped(Entry(version), Reason.MERGED)

    def _drop(self, server: Server, spent: str) -> None:
        """Drop the waiting URLs of a pattern, or of the whole server."""
        if not spent:
            self._lines.log(
                logging.INFO,
                "%s: %d pages in a row showed nothing new: its URLs that wait are dropped (FRONTIER_GUARD_MAX_WAITING)",
                server.key,
                self._guard.limits.max_waiting,
            )
            self._stats.inc_value("guard/in_vain")
        elif spent == VERSION:
            logger.debug("%s: its other addresses of known pages are dropped", server.key)
        else:
            text = "%s%s has no end and shows nothing new: its URLs are dropped"
            self._lines.log(logging.INFO, text, server.key, spent)
            self._stats.inc_value("guard/patterns")
        self._rewrite(server, lambda entry: self._without(server, spent, entry))

    def _rewrite(self, server: Server, judge: Callable[[Entry], Entry | None]) -> None:
        """Judge the queued URLs of ``server``: few at once, many in ``work``."""
        if len(server.urls) <= REWRITE_STEP:
            self._stats.inc_value("guard/dropped", sum(self._frontier.rewrite_queue(server, judge)))
        else:
            self._work.append(self._frontier.rewrite_queue(server, judge))

    def learn_redirect(self, meta: dict[str, Any], content: Callable[[PageAddresses], PageContent] | None) -> None:
        """Count the content behind a redirect, None: a known page, for the requested URL, if that is doubted."""
        url = self._requested(meta)
        if url is not None and is_doubted(self._guard.name_of(url)):
            known = page_content(url, PageText())
            page = self._guard.page(url, content or (lambda _: known), Visit(is_copy=content is None))
            if page is not None:
                self.judge(page, [])

    def _requested(self, meta: dict[str, Any]) -> str | None:
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

    def _learn_part(self, url: str, response: Response, links: list[str | None]) -> None:
        """Learn which parts of addresses are idle; the queued URLs of known pages that have one wait."""
        meta = response.meta
        if FETCHED_BEFORE in meta or response.status != 200:
            return
        first = meta.get(DUPLICATE_OF) or meta.get(NEAR_DUPLICATE_OF)
        first = self._seen.canonicalizer.canonical(first) if first else None
        is_page = isinstance(response, TextResponse) and is_html(response)
        server = self._guard.learn_part(
            url, first, is_page=is_page, shown=lambda: shown_hash(url, text_of(response), links)
        )
        if server is None or server.guard is None:
            return
        self._stats.inc_value("guard/idle_parts")
        is_version = server.guard.idle_parts.sorter(self._seen.url_is_seen, self._mark)
        self._rank_links_last(server, is_version, _as_version)

    def _rank_links_last(
        self, server: Server, are_last: Callable[[str], bool], ranked: Callable[[Entry], Entry]
    ) -> None:
        """Put ``ranked`` in place of the queued links of ``server`` whose URL is one of those that ``are_last``."""

        def judge(entry: Entry) -> Entry:
            if not self._backend.is_link(entry) or not are_last(entry.url):
                return entry
            if entry.priority not in WAITING and server.guard is not None:
                server.guard.waiting += 1
            return ranked(entry)

        self._frontier.servers.changed(server)
        self._rewrite(server, judge)

    def _without(self, server: Server, spent: str, entry: Entry) -> Entry | None:
        """The queued ``entry``; None if it is dropped with the pattern ``spent``. Pages of earlier runs stay."""
        if self._backend.is_refetched(entry) or not self._is_dropped(server, entry, spent):
            return entry
        self._backend.dropped(entry, Reason.GUARD)
        if server.guard is not None:
            server.guard.waiting = max(0, server.guard.waiting - 1)
        return None

    def _is_dropped(self, server: Server, entry: Entry, spent: str) -> bool:
        return self._backend.is_link(entry) and self._guard.is_dropped(server, entry, spent)
