"""Which spider a page belongs to, if several share one crawl.

A page belongs to the spider with the nearest domain above its host; all others are the crawl's own.  A callback that a
request names is called whosesoever page it is, with one exception: what plain Scrapy drops as offsite, and no other
spider takes, is an ordinary page of the crawl's own spider.
"""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.spiders import CrawlSpider

from crawlproject.requests.meta import BY_SPIDER
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import DomainTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

#: Callbacks that a base class of Scrapy's gives to all links of a page.
_OF_ALL_LINKS = frozenset((CrawlSpider._callback,))

#: Attributes of ``Owner`` that are counted, and shown by spider.
COUNTED = ("pages", "items", "errors", "empty", "dropped")
#: Those that follow from the spider's class and arguments.
OF_CLASS = ("spider", "domains", "meta", "headers", "depth_limit", "limits")


@dataclass(slots=True, eq=False)
class Owner:
    """One of several spiders of a crawl."""

    name: str
    #: None: an earlier run of the crawl had it, and this one has not.
    spider: Spider | None
    #: Canonical names of its hosts, each with its subdomains.
    domains: frozenset[str]
    #: What its requests have in ``meta`` and among their headers, unless they say otherwise.
    meta: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    #: Whether its settings have item pipelines of its own.
    has_pipelines: bool = False
    #: Its pages have links up to this depth.
    depth_limit: float = inf
    #: Name in ``COUNTED`` -> count at which it ends, and the reason.
    limits: dict[str, tuple[float, str]] = field(default_factory=dict)
    #: Why it has ended; empty: it has not.
    ended: str = ""
    #: Pages given to it, items, errors of its callbacks, pages without an item, requests dropped since its end.
    pages: int = 0
    items: int = 0
    errors: int = 0
    empty: int = 0
    dropped: int = 0
    #: Of connections to its servers.
    seconds: float = 0.0

    def count(self, what: str, number: float = 1) -> float:
        """Add to the count ``what``; returns it. O(1)."""
        total: float = getattr(self, what) + number
        setattr(self, what, total)
        return total

    def names_callback(self, request: Request) -> bool:
        """Whether ``request`` names another callback than the one that any link to the page has."""
        return getattr(request.callback, "__name__", "parse") not in ("parse", "_parse")


#: The owner of the page in progress.
current: ContextVar[Owner | None] = ContextVar("current", default=None)


class SpiderMissingError(ValueError):
    """The callback of a stored request is a method of a spider that this run has not."""


class Owners:
    """The spiders of a crawl besides its own one; a part of the crawl (``engine.Crawl``)."""

    def __init__(self) -> None:
        #: Pages of spiders that are missing now are the crawl's own; else they wait in the store.
        self.missing_to_web = False
        #: Of requests to pages of none.
        self.meta_of_others: dict[str, Any] = {}
        self._by_name: dict[str, Owner] = {}
        self._by_domain: dict[str, Owner] = {}
        self._table = DomainTable(self._by_domain)
        self._by_spider: dict[int, Owner] = {}
        self._ended: Callable[[Owner], None] = lambda _: None
        #: Loads new and changed spiders and rules, and returns what happened, a line for each; None: there are neither.
        self.reload: Callable[[], list[str]] | None = None
        self._spiders: list[Spider] = []  # also those that were replaced: requests have their methods

    @classmethod
    def from_crawler(cls, _: Crawler) -> Self:
        """Those of a crawl: none yet."""
        return cls()

    def __iter__(self) -> Iterator[Owner]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def check(self, name: str, domains: Iterable[str]) -> None:
        """Raise ValueError if another spider has one of ``domains``. O(domains)."""
        for domain in domains:
            other = self._by_domain.get(domain)
            if other is not None and other.spider is not None and other.name != name:
                raise ValueError(f"the spiders {other.name} and {name} have the same domain: {domain}")

    def put(self, owner: Owner) -> None:
        """Add ``owner``, or replace the one of its name, whose counts go on. O(domains). Raises ValueError."""
        self.check(owner.name, owner.domains)
        known = self._by_name.setdefault(owner.name, owner)
        if known is not owner:
            for domain in known.domains - owner.domains:
                del self._by_domain[domain]
            for name in OF_CLASS:
                setattr(known, name, getattr(owner, name))
        self._by_domain.update(dict.fromkeys(owner.domains, known))
        self._table = DomainTable(self._by_domain)  # forgets what it found
        if owner.spider is not None:
            self._by_spider[id(owner.spider)] = known
            self._spiders.append(owner.spider)

    def recall(self, known: str, *, to_web: bool) -> str:
        """Note the spiders of earlier runs that this one has not, and say so; returns all, as ``known``. O(domains)."""
        self.missing_to_web = to_web
        before: dict[str, list[str]] = json.loads(known or "{}")
        missing = [name for name in before if name not in self._by_name]
        now = {owner.name: sorted(owner.domains) for owner in self}
        for name in () if to_web else missing:
            self.put(Owner(name, None, frozenset(before[name]) - self._by_domain.keys()))
        if missing:
            what = "are those of any other server" if to_web else "wait (FRONTIER_MISSING_SPIDER)"
            logger.warning(
                "Spiders of this crawl that are not in this run: %s; their pages %s", ", ".join(missing), what
            )
        return json.dumps(before | now)

    def tell_ends(self, ended: Callable[[Owner], None]) -> None:
        """Call ``ended`` with each spider that ends before the crawl."""
        self._ended = ended

    def reload_by(self, reload: Callable[[], list[str]]) -> None:
        """Let ``reload`` load new and changed spiders and rules."""
        self.reload = reload

    def end(self, owner: Owner, reason: str) -> None:
        """Give ``owner`` no further page; what is queued of it is dropped when its turn comes. O(1)."""
        if not owner.ended:
            owner.ended = reason
            self._ended(owner)

    def count(self, owner: Owner, what: str, number: int = 1) -> float:
        """Add to the count ``what`` of ``owner``, which ends at its limit; returns the count. O(1)."""
        total = owner.count(what, number)
        limit, reason = owner.limits.get(what, (inf, ""))
        if total >= limit:
            self.end(owner, reason)
        return total

    def get(self, name: str) -> Owner | None:
        """The spider of that name."""
        return self._by_name.get(name)

    def of(self, url: str) -> Owner | None:
        """The owner of the page at ``url``; None: the crawl's own spider. O(labels), as ``DomainTable.of``."""
        return self._table.of(url) if self._by_domain else None

    def of_call(self, callback: Callable[..., Any] | None) -> Owner | None:
        """The spider whose method a callback is. O(1)."""
        if callback is None or not self._by_spider:
            return None
        return self._by_spider.get(id(getattr(getattr(callback, "func", callback), "__self__", None)))

    def of_request(self, request: Request) -> Owner | None:
        """Whose callback gets the answer to ``request``. O(labels)."""
        if not self._by_name:
            return None
        return self.of_call(request.callback) if request.callback is not None else self.of(request.url)

    def prepared(self, request: Request) -> Request | Reason:
        """The request to send now instead of ``request``, or why it is not sent. O(labels)."""
        if not self._by_name:
            return request
        owner, caller = self.of(request.url), self.of_call(request.callback)
        is_offsite = not (request.dont_filter or request.meta.get("allow_offsite"))  # to plain Scrapy
        if caller is not None and caller is not owner and is_offsite:
            assert request.callback is not None
            if owner is None or getattr(request.callback, "__func__", None) in _OF_ALL_LINKS:
                request, caller = request.replace(callback=None, errback=None), None
        answers = caller or (owner if request.callback is None else None)
        if answers is not None:
            if answers.spider is None and not self.missing_to_web:
                return Reason.SPIDER_MISSING
            if answers.ended:
                answers.dropped += 1
                return Reason.SPIDER_ENDED
        if caller is not None and request.callback is not None:
            request = self._of_new_spider(request, caller)
        self._set_defaults(request, owner)
        return request

    def maker(self, request: Request, page: Request | None) -> Owner | None:
        """The spider that makes ``request`` for a page of its own; None if another one does, or the crawl's own.

        ``page``: the request of the page that yielded it; None at the start.  O(labels).
        """
        maker = self.of_call(request.callback)
        if maker is None and page is not None:
            maker = self.of_request(page)
        return maker if maker is self.of(request.url) else None

    def _of_new_spider(self, request: Request, caller: Owner) -> Request:
        """``request`` with the methods of the spider that has replaced the one with its callback."""
        spider, callback = caller.spider, request.callback
        if spider is None or getattr(callback, "__self__", spider) is spider:
            return request
        names = {
            name: method.__name__
            for name in ("callback", "errback")
            if self.of_call(method := getattr(request, name)) is caller
        }
        new = {name: getattr(spider, method, None) for name, method in names.items()}
        return request.replace(**new)

    def _set_defaults(self, request: Request, owner: Owner | None) -> None:
        meta = request.meta
        for key in meta.pop(BY_SPIDER, ()):  # of the request that led here by a redirect
            (meta if isinstance(key, str) else request.headers).pop(key, None)
        given = self.meta_of_others if owner is None else owner.meta
        headers = {} if owner is None else owner.headers
        if given or headers:
            set_here: list[str | bytes] = [key for key in given if key not in meta]
            set_here += [name.encode() for name in headers if name not in request.headers]
            meta.update((key, given[key]) for key in given if key not in meta)
            for name, value in headers.items():
                request.headers.setdefault(name, value)
            meta[BY_SPIDER] = tuple(set_here)
