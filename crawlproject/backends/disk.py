"""The frontier in a directory that outlives the process, and recrawls.

The disk backend records every fetched page with its time and validators, in the same commit that acknowledges its
entry.  A recrawl moves old pages from there into the frontier: a page is in exactly one of the two, even if the process
is killed.  The entry contains the old record, so that a page that cannot be fetched now keeps it.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import signals
from scrapy.utils.asyncio import call_later

from crawlproject.backends.storing import StoringBackend, order_of
from crawlproject.clock import CLOCK
from crawlproject.engine import end_crawl, stats_of
from crawlproject.frontier.entry import Entry, path_of, url_of
from crawlproject.frontier.quality import LinkQuality
from crawlproject.options.redis import WORKERS_LOCK
from crawlproject.requests.answers import GONE, REDIRECTS, UNCHANGED
from crawlproject.requests.codec import REQUEST
from crawlproject.requests.entries import link_failed
from crawlproject.requests.meta import CUT, FETCHED_BEFORE, RECRAWL, REPLACED
from crawlproject.requests.unstored import Unstored
from crawlproject.signals import commit_failed
from crawlproject.storage.directory import SPIDERS, StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fates import DiskFates
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.replacing import replace_file
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult

    from crawlproject.backends.protocol import Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.scheduling import FrontierOptions
    from crawlproject.requests.codec import RequestCodec
    from crawlproject.requests.unstored import PageUnderWay
    from crawlproject.urls import Canonicalizer


logger = logging.getLogger(__name__)
#: First byte of the payload of an entry to refetch; then comes its ``FetchedPage``.
AGAIN = b"a"
#: Keys of ``meta`` that describe one fetch, not how to fetch the page.
PASSING = (
    "retry_times",
    "redirect_times",
    "redirect_ttl",
    "redirect_urls",
    "redirect_reasons",
    RECRAWL,
    FETCHED_BEFORE,
    CUT,
)
#: Pages returned to the frontier per commit.
CHUNK = 10_000
#: Flags of a response whose body is not the whole page: it is fetched in full again.
_PARTIAL = frozenset(("dataloss", "download_stopped"))
#: An entity tag (RFC 9110, section 8.8.3), or one with blanks, which servers send as well. ``*`` would match any page:
#: it would never be fetched again.
_etag = re.compile(rb'(?:W/)?"[\x20\x21\x23-\x7e\x80-\xff]*"').fullmatch


class DiskBackend(StoringBackend):
    """Keeps URLs, servers and seen-set in a directory; a restart continues from the last commit.

    Commits every ``FRONTIER_COMMIT_INTERVAL`` seconds and at the end.
    """

    place = "disk"
    keeps_pages = True

    def __init__(
        self, crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
    ) -> None:
        """Open the store and load frontier and seen-set. Raises StoreError. O(servers)."""
        super().__init__(crawler, frontier, seen, host)
        assert crawler.spider is not None
        assert options.directory is not None
        self._options = options
        self._directory = self.directory = options.directory
        self._timer: CallLaterResult | None = None
        self._has_failed = False
        lock = self._directory.parent / WORKERS_LOCK
        if options.place.startswith("JOBDIR") and lock.exists() and not self._directory.exists():
            reason = "holds a crawl of several processes (scrapy workers); name another directory"
            raise StoreError(self._directory, reason)
        self._store = DiskStore(self._directory, StoreLabel(crawler.spider.name, order_of(frontier)))
        self._load(frontier, seen)
        self._set_timer()

    def _load(self, frontier: Frontier, seen: SeenDupeFilter) -> None:
        options = self._options
        indexed = isinstance(options.quality, LinkQuality)
        try:
            servers = DiskFrontierStore(self._store, time.time() - CLOCK(), indexed=indexed)
            servers.load(frontier, CLOCK())
            self._server_store, self.urls = servers, servers.urls()
            self._seen_store = stored = DiskSeenStore(self._store)
            seen.use_store(stored)
            DiskFates(self._store, self._fates)
            self._recall_spiders()
            if len(frontier) or len(stored):
                self._check_feeds(self._directory, "crawl")
            if len(frontier):
                logger.info(
                    "Resumed from %s: URLs queued: %d, servers: %d", self._directory, len(frontier), servers.count
                )
            self._stats.set_value("frontier/resumed", len(frontier))
            self._recrawl = Recrawl(self._crawler, self._store, servers, self._codec, seen.canonicalizer)
            if options.recrawl_age is not None:
                self._recrawl.put_back(frontier, options.recrawl_age)
        except StoreError:
            self._store.close()
            raise
        self._crawler.signals.connect(self._downloaded, signals.response_downloaded)

    def _recall_spiders(self) -> None:
        file = self._directory / SPIDERS
        try:
            known = file.read_text(encoding="utf-8") if file.exists() else ""
            names = self._owners.recall(known, to_web=self._options.missing_to_web)
            if self._owners and names != known:
                replace_file(file, names)
        except (OSError, ValueError) as error:
            raise StoreError(self._directory, f"{SPIDERS}: {error}") from error

    def pack(self, request: Request) -> Any:
        payload = super().pack(request)
        if type(payload) is bytes and RECRAWL in request.meta:
            request.meta[RECRAWL][REPLACED] = True  # a retry: it shares this dict with the request it was copied from
        return payload

    def unpack(self, entry: Entry) -> Request:
        if not self.is_refetched(entry):
            return super().unpack(entry)
        mark, payload = unpack_again(entry.payload)
        request = super().unpack(entry._replace(payload=payload))
        request.meta[RECRAWL] = mark
        return request

    def is_link(self, entry: Entry) -> bool:
        if self.is_refetched(entry):
            entry = entry._replace(payload=unpack_again(entry.payload)[1])
        return super().is_link(entry)

    def is_refetched(self, entry: Entry) -> bool:
        return type(entry.payload) is bytes and entry.payload.startswith(AGAIN)

    async def saved(self) -> bool:
        return self._commit()

    def close(self) -> None:
        """Commit finished requests and release the directory."""
        if self._timer is not None:
            self._timer.cancel()
        self._commit()
        self._report_unstored()
        self._store.close()

    def _set_timer(self) -> None:
        self._timer = call_later(self._options.commit_interval, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._commit():
            self._set_timer()

    def _commit(self) -> bool:
        """Commit; if that fails, end the crawl and return False. Earlier commits are safe."""
        if self._has_failed:
            return False
        try:
            self._find_done()
            start = CLOCK()
            if self._store.commit():
                self._stats.inc_value("frontier/commits")
                self._stats.max_value("frontier/commit_time", round(CLOCK() - start, 3))
            if self._seen_file is not None:
                self._seen_file.release()
        except StoreError as error:
            self._stats.inc_value("frontier/commit_errors")
            self._crawler.signals.send_catch_log(commit_failed)
            self._has_failed = True
            logger.critical("The frontier cannot be stored, the crawl ends: %s", error)
            if self._directory.exists():
                logger.critical("Earlier commits are safe in %s; start the crawl again to continue", self._directory)
            end_crawl(self._crawler, "store_failed")
            return False
        return True

    def _kept(self, page: PageUnderWay) -> None:
        self._recrawl.kept(page.request)

    def _done(self, page: PageUnderWay) -> None:
        if not isinstance(page.entry.payload, Unstored):
            self._recrawl.acknowledged(page.request, page.entry)
        super()._done(page)

    def _downloaded(self, request: Request, response: Response) -> None:
        if request in self._handed_out:
            self._recrawl.answered(request, response)


class Answer(NamedTuple):
    status: int
    etag: bytes
    modified: bytes


def pack_again(page: FetchedPage) -> bytes:
    """The payload of the entry to refetch ``page``. O(size)."""
    return AGAIN + page.encode()


def unpack_again(payload: bytes) -> tuple[dict[str, Any], bytes | None]:
    """The mark and the earlier payload. Raises ValueError for a payload not from ``pack_again``."""
    page = FetchedPage.decode(payload.removeprefix(AGAIN))
    return {"fetched": page.fetched, "etag": page.etag, "modified": page.modified}, page.payload


class Recrawl:
    """Records fetched pages and queues old ones again."""

    def __init__(
        self, crawler: Crawler, store: DiskStore, servers: DiskFrontierStore, codec: RequestCodec, form: Canonicalizer
    ) -> None:
        """``form``: the form of URLs in store and seen-set."""
        self._stats = stats_of(crawler)
        self._store = store
        self._servers = servers
        self._codec = codec
        self._pages = DiskFetchedPages(store)
        self._answers: dict[Request, Answer] = {}
        self._canonical = form.canonical
        crawler.signals.connect(self._not_taken, signals.spider_error)
        crawler.signals.connect(self._not_taken, signals.item_error)

    def put_back(self, frontier: Frontier, age: float) -> None:
        """Queue the pages fetched at least ``age`` seconds ago, except those of servers given up.

        Commits every ``CHUNK`` pages, so that memory is bounded.  Raises StoreError.  O(pages recorded).
        """
        latest = time.time() - age
        entries: list[Entry] = []
        queued = 0
        for number, path, page in self._pages.stored():
            server = self._servers.server(number)
            if page.fetched > latest or server is None or server.given_up:
                continue
            server.unfetched(page.quality)  # the refetched page is counted again
            frontier.quality.unfetched(page.quality)
            self._servers.changed(server)
            url = url_of(path, server.key)
            entries.append(Entry(url, page.quality, page.priority, page.depth, pack_again(page)))
            self._pages.delete(number, path)
            queued += 1
            if len(entries) >= CHUNK:
                self._queue(frontier, entries)
        self._queue(frontier, entries)
        logger.info("Recrawl: pages queued again: %d", queued)

    def _queue(self, frontier: Frontier, entries: list[Entry]) -> None:
        frontier.push(entries)
        self._store.commit()
        self._stats.inc_value("recrawl/queued", len(entries))
        entries.clear()

    def answered(self, request: Request, response: Response) -> None:
        """Note the response to ``request``, which the frontier handed out. O(1)."""
        whole = _PARTIAL.isdisjoint(response.flags)
        etag, modified = (response.headers.get(name) or b"" for name in (b"ETag", b"Last-Modified"))
        if not whole or _etag(etag) is None:
            etag = b""
        self._answers[request] = Answer(response.status, etag, modified if whole else b"")

    def kept(self, request: Request) -> None:
        """Forget the response to ``request``, whose entry stays queued."""
        self._answers.pop(request, None)

    def acknowledged(self, request: Request, entry: Entry) -> None:
        """Record the page of ``request``, whose entry leaves the frontier. O(size)."""
        answer = self._answers.pop(request, None)
        if answer is not None and CUT in request.meta:
            answer = answer._replace(etag=b"", modified=b"")
        page = self._read(entry)
        if page is None or (answer is None and not page.fetched):
            return
        outcome, after = _outcome(page, answer)
        if outcome == "failed" and request.meta.get(RECRAWL, {}).get(REPLACED):
            return
        if page.fetched:
            self._stats.inc_value(f"recrawl/{outcome}")
        number = self._servers.number(server_key(entry.url))
        if after is not None and after.fetched and number is not None and not self._came_from_itself(request):
            self._pages.put(number, path_of(entry.url, server_key(entry.url)), after)

    def _read(self, entry: Entry) -> FetchedPage | None:
        """The record in ``entry``, with time 0 if the page was never fetched; None if it cannot be refetched.

        Not refetched are requests with a body or a method other than GET, unstored requests, and requests that a spider
        repeats anyway (``dont_filter``).
        """
        payload, priority, mark = entry.payload, entry.priority, None
        if payload is not None and type(payload) is not bytes:
            return None
        if payload is not None and payload.startswith(AGAIN):
            mark, payload = unpack_again(payload)
        elif payload is not None and payload.startswith(REQUEST):
            request = self._codec.decode(entry)
            if request.method != "GET" or request.body or (request.dont_filter and "retry_times" not in request.meta):
                return None
            mark = request.meta.get(RECRAWL)
            if request.errback is link_failed:
                payload, priority = self._codec.encode_link(request.callback), 0
            elif not request.meta.keys().isdisjoint(PASSING):
                meta = {key: value for key, value in request.meta.items() if key not in PASSING}
                payload = self._codec.encode(request.replace(meta=meta, dont_filter=False))
        return FetchedPage(
            **(mark or {"fetched": 0}), quality=entry.quality, priority=priority, depth=entry.depth, payload=payload
        )

    def _came_from_itself(self, request: Request) -> bool:
        """Whether the page redirected to another spelling of its URL, and so is recorded under the first one."""
        sources = request.meta.get("redirect_urls", ())
        return bool(sources) and self._canonical(request.url) in map(self._canonical, sources)

    def _not_taken(self, response: Response | None) -> None:
        """Drop the validators after an error in the spider or a pipeline: the next recrawl fetches the full page."""
        request = None if response is None else response.request
        if request is not None and request in self._answers:
            self._answers[request] = self._answers[request]._replace(etag=b"", modified=b"")


def _outcome(page: FetchedPage, answer: Answer | None) -> tuple[str, FetchedPage | None]:
    """The result for the stats, and the new record of ``page``; None deletes it."""
    now = int(time.time())
    if answer is not None and answer.status == UNCHANGED:
        return "unchanged", page._replace(
            fetched=now, etag=answer.etag or page.etag, modified=answer.modified or page.modified
        )
    if answer is not None and answer.status in GONE:
        return "gone", None
    if answer is not None and answer.status in REDIRECTS:
        return "redirected", page._replace(fetched=now, etag=b"", modified=b"")
    if answer is not None and 200 <= answer.status < 300:
        return "changed", page._replace(fetched=now, etag=answer.etag, modified=answer.modified)
    return "failed", page
