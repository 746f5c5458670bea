"""A link's turn has come: the request that it becomes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from crawlproject.download.address_guard import AddressRefused
from crawlproject.requests.failures import FETCH_FAILURES, in_words
from crawlproject.requests.meta import BY_TYPE, QUALITY

if TYPE_CHECKING:
    from crawlproject.frontier.entry import Entry

logger = logging.getLogger(__name__)


def link_request(entry: Entry) -> Request:
    """The request for a URL that came in ``Links``; the entry's payload is its callback."""
    return Request(
        entry.url,
        callback=entry.payload,
        errback=link_failed,
        meta={"depth": entry.depth, QUALITY: entry.quality, "verbatim_url": True, BY_TYPE: True},
    )


def request_of(entry: Entry) -> Request:
    """The request of an entry whose payload is the request, or a link's callback."""
    return entry.payload if isinstance(entry.payload, Request) else link_request(entry)


def link_failed(failure: Any) -> None:
    """A page that could not be fetched costs a line in the log (and its stat), not a traceback: a seed a warning."""
    error = failure.value
    if isinstance(error, HttpError) or not isinstance(error, FETCH_FAILURES):
        failure.raiseException()  # Scrapy's to count and to log, as for any request
    is_told = failure.request.meta.get("depth") or isinstance(error, AddressRefused)  # by AdmissionMiddleware
    level = logging.DEBUG if is_told else logging.WARNING
    logger.log(level, "Not fetched: %s: %s", failure.request, in_words(error))
