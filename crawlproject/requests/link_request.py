"""Builds the request for a scheduled link."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from crawlproject.download.address_guard import AddressRefused
from crawlproject.frontier.queues.sort_key import WAITING
from crawlproject.requests.failures import FETCH_FAILURES, in_words
from crawlproject.requests.meta import BY_TYPE, QUALITY, WAS_LAST

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry

logger = logging.getLogger(__name__)


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
