"""Converts requests to frontier entries, and scheduled entries back to requests; those of links, too."""

from __future__ import annotations

import logging
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from crawlproject.download.address_guard import AddressRefused
from crawlproject.download.few_lines import FewLines
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.quality import MAX_QUALITY, link_gains
from crawlproject.frontier.queues.sort_key import MAX_PRIORITY, WAITING
from crawlproject.requests.failures import FETCH_FAILURES, in_words
from crawlproject.requests.meta import BY_TYPE, DUPLICATE_OF, LAST_OF_SESSION, NEAR_DUPLICATE_OF, QUALITY, WAS_LAST
from crawlproject.requests.owners import Owners, SpiderMissingError
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from crawlproject.frontier.quality import Quality

logger = logging.getLogger(__name__)

#: Greatest depth that is taken for one.
MAX_DEPTH = (1 << 31) - 1


class Packing(Protocol):
    """Converts requests to payloads and back; implemented by backends."""

    def pack(self, request: Request) -> Any:
        """The payload for the entry of ``request``."""

    def unpack(self, entry: Entry) -> Request:
        """The request of an entry. Raises ValueError if the payload is invalid."""


class RequestEntries:
    """Converts in both directions; O(size of the request)."""

    def __init__(self, backend: Packing, quality: Quality, owners: Owners | None = None) -> None:
        self._backend = backend
        self._owners = Owners() if owners is None else owners
        self._quality = quality
        self._lines = FewLines(logger)
        self._page: Request | None = None
        self._own = ""  # how URLs of its server begin
        self._gains = 0.0, 0.0  # of its links to its own server, and to others
        self._linked: set[str] = set()  # by it

    def gain(self, request: Request, page: Request | None, *, is_known: bool) -> float:
        """The quality that ``page``, whose callback yielded ``request``, adds to its URL as a link would. O(length).

        A URL that ``is_known`` gains once from a page.  0 if the spider says how good it is, for copies, and for a
        quality that a page shares out over its links, whose number is known of ``Links`` only.
        """
        if page is None:
            return 0.0
        if page is not self._page:
            self._look_at(page)
        url, linked = request.url, self._linked
        gain = self._gains[not url.startswith(self._own)]
        if not gain or (is_known and url in linked) or QUALITY in request.meta:
            return 0.0
        linked.add(url)
        return gain

    def _look_at(self, page: Request) -> None:
        self._page, self._linked, self._gains = page, {page.url}, (0.0, 0.0)
        try:
            self._own = f"{server_key(page.url)}/"
        except ValueError:  # no host
            return
        worth = page.meta.get(QUALITY)
        worth = worth if isinstance(worth, int | float) and 0 <= worth < inf else 1.0
        gains = link_gains(self._quality, worth, 1)
        is_copy = DUPLICATE_OF in page.meta or NEAR_DUPLICATE_OF in page.meta
        if not is_copy and gains == link_gains(self._quality, worth, 2):
            self._gains = gains

    def entry(self, request: Request, payload: bytes | None = None, gain: float = 0.0) -> Entry:
        """The frontier entry for ``request``, with this ``payload`` if it is packed already."""
        depth, quality = request.meta.get("depth", 0), request.meta.get(QUALITY)
        # a spider may use these keys for another purpose
        if not (isinstance(depth, int) and 0 <= depth <= MAX_DEPTH):
            depth = 0
        if not (isinstance(quality, int | float) and 0 <= quality < inf):
            quality = self._quality.quality(request.url, depth) + gain
        priority = max(-MAX_PRIORITY, min(MAX_PRIORITY, request.priority))
        packed = self._backend.pack(request) if payload is None else payload
        return Entry(request.url, float(min(quality, MAX_QUALITY)), priority, depth, packed)

    def read(self, entry: Entry) -> Request | None:
        """The request of ``entry``; None if it is invalid: then it stays in the store. Raises SpiderMissingError."""
        try:
            return self._backend.unpack(entry)
        except SpiderMissingError:
            raise
        except ValueError as error:
            self._lines.log(
                logging.ERROR, "Stored request cannot be read, and stays in the store: %s: %s", entry.url, error
            )
            return None

    def start(self, entry: Entry, *, is_last: bool) -> Request | Reason:
        """The request to send now, or why none is sent. ``is_last``: last of its session."""
        try:
            read = self.read(entry)
        except SpiderMissingError:  # named at the start
            return Reason.SPIDER_MISSING
        request = Reason.UNREADABLE if read is None else self._owners.prepared(read)
        if isinstance(request, Reason):
            return request
        meta = request.meta
        meta.setdefault(QUALITY, entry.quality)
        if is_last:
            meta[LAST_OF_SESSION] = True
        else:
            meta.pop(LAST_OF_SESSION, None)  # left from the request that this one was copied from
        return request


def link_request(entry: Entry) -> Request:
    """The request for a URL from ``Links``; the entry's payload is its callback."""
    meta = {"depth": entry.depth, QUALITY: entry.quality, "verbatim_url": True, BY_TYPE: True}
    if entry.priority in WAITING:
        meta[WAS_LAST] = entry.priority
    return Request(entry.url, callback=entry.payload, errback=link_failed, meta=meta)


def request_of(entry: Entry) -> Request:
    """The request of an entry; its payload is the request or the callback of a link."""
    return entry.payload if isinstance(entry.payload, Request) else link_request(entry)


def link_failed(failure: Any) -> None:
    """Errback of links: logs a failed fetch in one line without traceback, for a seed as a warning."""
    error = failure.value
    if isinstance(error, HttpError) or not isinstance(error, FETCH_FAILURES):
        failure.raiseException()  # Scrapy counts and logs it, as for any request
    # AdmissionMiddleware logs refusals
    is_minor = failure.request.meta.get("depth") or isinstance(error, AddressRefused)
    level = logging.DEBUG if is_minor else logging.WARNING
    logger.log(level, "Not fetched: %s: %s", failure.request, in_words(error))
