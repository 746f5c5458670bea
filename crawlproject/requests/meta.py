"""Every key of ``Request.meta`` that this project writes; ``response.meta`` is ``response.request.meta``.

``middlewares.timing`` also writes its measurements, for spiders: ``dns_time``, ``connect_time``, ``tls_time``,
``response_time`` (seconds), ``connection_reused``, ``connection_requests``.  ``depth`` and all other keys are Scrapy's.
"""

from __future__ import annotations

#: Quality of the page: set by a spider, or the frontier's value at the hand-out.
QUALITY = "quality"

#: The body is downloaded only if its type is in ``FRONTIER_LINKS_TYPES``; always set for links, optional for requests.
BY_TYPE = "links_types"

#: The request is the last of its session: it asks the server to close the connection.
LAST_OF_SESSION = "frontier_last"

#: ``download.timing.Timing``: the measurements.
TIMING = "frontier_timing"


#: Number of the page in progress that yielded the request.
ORIGIN = "frontier_origin"

#: The request of the page whose callback yielded the request; removed when that is queued.
FOUND_ON = "frontier_found_on"

#: The request is returned unsent, because its server may not be contacted now.
UNSENT = "frontier_unsent"

#: The request fails without being sent; the value is the ``fates.Reason``.
GIVEN_UP = "frontier_given_up"

#: The page is not processed (the spider is done, or the record cannot be written): a backend that stores keeps it
#: queued for the next run.
KEEP = "frontier_keep"

#: A page to refetch: a dict with the data of the last fetch, and temporarily the two keys below.
RECRAWL = "frontier_recrawl"
#: In that dict: the validators are in the request's headers.
SENT = "sent"
#: In that dict: the entry of a retry is queued instead.
REPLACED = "replaced"

#: An earlier run fetched the page.
FETCHED_BEFORE = "frontier_fetched_before"

#: The compressed body ended too early.
CUT = "frontier_cut"

#: The page's URL waited behind all others: its priority.
WAS_LAST = "frontier_was_last"

#: The links of this copy are not followed (``FRONTIER_DUPLICATES_FOLLOW``).
SKIP_LINKS = "skip_links"

#: The page asks robots neither to index it nor to follow its links.
CLOSED_TO_ROBOTS = "frontier_closed_to_robots"

#: The URL that the page declares as its own, if it is another one: absolute http(s).
CANONICAL = "frontier_canonical"

#: URL of the first page with the same bytes, and of the first with nearly the same text.
DUPLICATE_OF = "duplicate_of"
NEAR_DUPLICATE_OF = "near_duplicate_of"

#: A redirect leads back to a page that is worth another request: the dupefilter must accept it.
AGAIN = "redirected_again"
#: Redirects before the last one of this chain that set a cookie.
COOKIE_AT = "redirected_with_cookie_at"

#: Bytes of a robots.txt received.
ROBOTS_RECEIVED = "robotstxt_received"

#: Time when the request was sent (seconds since 1970); missing if no server was contacted.
SENT_AT = "repository_sent"

#: Id of the record that holds the response.
RECORD = "repository_record"

#: Whether, and with which steps, the page is rendered (docs/rendering.md).
RENDER = "render"

#: A request of a page that is being rendered, not a page itself.
FOR_PAGE = "render_resource"

#: What ``Owners`` has set for the spider of the page: keys of ``meta``, and names of headers as bytes.
BY_SPIDER = "frontier_by_spider"

#: Keys that are valid in this run only; not stored.
THIS_RUN = frozenset((FOUND_ON, ORIGIN, RECORD, TIMING))
