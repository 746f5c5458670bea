"""Every key of ``Request.meta`` that this project writes; ``response.meta`` is that of the response's request.

===================  ======================================  ======================================================
key                  written by                              read by
===================  ======================================  ======================================================
QUALITY              spiders, requests.entries               requests.entries, discovery.links, spiders
BY_TYPE              requests.link_request, spiders          middlewares: page_types, large_pages, timing
LAST_OF_SESSION      requests.entries                        download.handler, middlewares.timing
TIMING               download.handler                        middlewares: timing, repository
SHARE                download.handler                        download.handler
ORIGIN               requests.unstored, middlewares.links    requests.unstored
UNSENT               middlewares: politeness, admission,     scheduler
                     robots
GIVEN_UP             scheduler                               middlewares.admission
KEEP                 scheduler, spiders,                     backends.disk
                     middlewares.repository
RECRAWL              backends.disk                           backends.recrawl, middlewares.recrawl
FETCHED_BEFORE       middlewares.recrawl                     discovery.trap_guard
SKIP_LINKS           middlewares.duplicates                  middlewares.links, discovery.links, spiders
DUPLICATE_OF         middlewares.duplicates                  discovery: links, trap_guard; spiders
NEAR_DUPLICATE_OF    middlewares.duplicates                  discovery.trap_guard, spiders
AT_ITSELF            middlewares.redirects                   middlewares.redirects
ROBOTS_RECEIVED      middlewares.robots                      middlewares.robots
SENT_AT              middlewares.repository                  middlewares.repository
===================  ======================================  ======================================================

``middlewares.timing`` also writes what it measured, for spiders: ``dns_time``, ``connect_time``, ``tls_time``,
``response_time`` (seconds), ``connection_reused``, ``connection_requests``.  ``depth`` and all others are Scrapy's.
"""

from __future__ import annotations

#: Worth of the page: set by a spider, or what the frontier knew when the request was handed out.
QUALITY = "quality"

#: The body is read only if it is of one of ``LINKS_TYPES``; links have it, requests may.
BY_TYPE = "links_types"

#: The request is the last of its session, so the server is asked to close the connection.
LAST_OF_SESSION = "frontier_last"

#: ``download.timing.Timing``: what was measured.
TIMING = "frontier_timing"

#: ``download.body_budget.Share``: what the body takes of the budget.
SHARE = "frontier_share"

#: Number of the page under way that the request comes from.
ORIGIN = "frontier_origin"

#: The request comes back unsent, because its server must be left alone for now.
UNSENT = "frontier_unsent"

#: The request fails without being sent: why, one of the two below.
GIVEN_UP = "frontier_given_up"
SERVER_GIVEN_UP = "server_given_up"
PAGE_LIMIT = "page_limit"

#: The page is not taken (the spider has enough, its record cannot be written): with the disk backend it stays queued
#: for the next run.
KEEP = "frontier_keep"

#: A page that is fetched again: a dict, what is known of it, and for a while the two below.
RECRAWL = "frontier_recrawl"
#: In that dict: the validators are in the request's headers.
SENT = "sent"
#: In that dict: another entry, of a retry, is queued in its place.
REPLACED = "replaced"

#: What the page shows was seen by an earlier run.
FETCHED_BEFORE = "frontier_fetched_before"

#: The links of this copy are not followed (``DUPLICATES_FOLLOW``).
SKIP_LINKS = "skip_links"

#: URL of the first page with the same bytes, and of the first with nearly the same text.
DUPLICATE_OF = "duplicate_of"
NEAR_DUPLICATE_OF = "near_duplicate_of"

#: How often the page has led to itself.
AT_ITSELF = "redirected_to_itself"

#: Bytes of a robots.txt that have come.
ROBOTS_RECEIVED = "robotstxt_received"

#: When the request went to the downloader (seconds since 1970); without it no server was asked.
SENT_AT = "repository_sent"

#: Keys that mean something to this run only: a store does not keep them.
THIS_RUN = frozenset((ORIGIN, SHARE, TIMING))
