"""Feeds links from pages, sitemaps and robots.txt into the frontier."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

from crawlproject.crawl_frontier import side_answer
from crawlproject.discovery.aliases import HostAliases
from crawlproject.discovery.link_intake import LinkChecks, LinkIntake, in_steps
from crawlproject.discovery.link_rules import link_filter
from crawlproject.discovery.page_limits import PageLimits
from crawlproject.discovery.page_reading import answer_of
from crawlproject.discovery.sitemaps import SitemapIntake
from crawlproject.discovery.skipped_files import SkippedFiles
from crawlproject.discovery.trap_guard import Probes, TrapGuard
from crawlproject.engine import Crawl, stats_of
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.learning.cross_links import NewShare
from crawlproject.frontier.live_limits import ORDERED
from crawlproject.frontier.queues.sort_key import MAX_PRIORITY
from crawlproject.links import sitemap_callback
from crawlproject.options.duplicates import DuplicateOptions
from crawlproject.options.following import LinkOptions
from crawlproject.options.traps import TrapOptions
from crawlproject.requests.entries import link_failed
from crawlproject.requests.owners import Owners
from crawlproject.urls.fates import Reason
from crawlproject.urls.server_key import domain_of_server, server_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser

    from crawlproject.backends.protocol import Backend
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.live_limits import LiveLimits
    from crawlproject.frontier.quality import Quality
    from crawlproject.frontier.server import Server
    from crawlproject.links import Links
    from crawlproject.urls.fates import Fates

logger = logging.getLogger(__name__)

#: Entries of other workers processed per turn of the event loop: 0.1 s if all are requests.
RECEIVED_STEP = 500

#: Larger depths of other workers' entries are refused.
MAX_DEPTH = (1 << 31) - 1


@dataclass(frozen=True)
class DiscoveryPorts:
    """What discovery is connected with."""

    quality: Quality
    #: Called after each push with the number of queued URLs and the entry of one.
    queued: Callable[[int, Entry], None]
    #: Called with each request received; returns whether it is new.
    enqueue: Callable[[Request], bool]
    #: Called with each entry that has left the queue because of the operator's patterns.
    refuse: Callable[[Entry, Reason], None]
    #: What becomes of URLs.
    fates: Fates
    limits: LiveLimits


class Discovery:
    """Queues new URLs, and sends those of other workers' servers to them (``Backend.exchange``).

    Stats: ``frontier/crawl_delays``; ``frontier/received`` (entries), ``frontier/received/bad`` (not readable),
    ``frontier/received/new``, ``frontier/received/seen``; ``fates/link/unserializable``: links to such servers whose
    callback cannot be stored.
    """

    def __init__(
        self, crawler: Crawler, frontier: Frontier, seen: SeenDupeFilter, backend: Backend, ports: DiscoveryPorts
    ) -> None:
        assert crawler.spider is not None
        options, stats = LinkOptions.of(crawler), stats_of(crawler)
        self._stats = stats
        self._spider = spider = crawler.spider
        self._frontier, self._seen, self._backend, self._exchange = frontier, seen, backend, backend.exchange
        self._fates, self._live, self._quality = ports.fates, ports.limits, ports.quality
        self._queued, self._enqueue, self._refuse = ports.queued, ports.enqueue, ports.refuse
        probes = Probes(partial(side_answer, crawler), partial(answer_of, seen.canonicalizer), stats)
        traps = TrapOptions.of(crawler)
        self._guard = TrapGuard(frontier, seen, backend, traps, probes) if traps.is_guarded else None
        self._limits = PageLimits(frontier, ports.limits)
        self._files = SkippedFiles(frontier, stats, options)
        rules = link_filter(crawler)
        self._owners = owners = Crawl.of(crawler).part(Owners)
        aliases = DuplicateOptions.of(crawler).aliases
        self._aliases = HostAliases(frontier, seen, backend, self._are_alike, stats.inc_value, is_on=aliases)
        checks = LinkChecks(
            rules, self._guard, self._limits, self._files, backend.exchange, self._aliases, ports.limits
        )
        self._links = LinkIntake(seen, checks, ports.quality, stats, options, ports.fates)
        self.new_share = NewShare()
        self._has_lost = self._has_logged_bad = False
        self._sitemaps = SitemapIntake(seen, rules.without_patterns(), stats, options, spider, ports.fates, owners)
        self._agent: str | None = crawler.settings["ROBOTSTXT_USER_AGENT"] or crawler.settings["USER_AGENT"]

    # ``PageIntake``

    def push_links(self, links: Links) -> Iterator[None]:
        if links.kind == "sitemap index":
            self._push_sitemaps(self._sitemaps.of_index(links), links.response)
            return
        if links.kind == "page":
            yield from self._push(links)
            return
        for some in in_steps(links.hrefs):
            yield from self._push(self._sitemaps.own(replace(links, hrefs=links.hrefs[some])))

    def canonical(self, links: Links) -> list[str | None]:
        return self._links.canonical(links, links.hrefs)

    def links_counted(self, name: str) -> int:
        """The number that the stat ``frontier/links/<name>`` has, whether stats are collected or not."""
        return self._links.counts[name]

    def page_fetched(self, key: str, quality: float) -> None:
        self._limits.fetched(key, quality)

    def learn_content(self, key: str, *, copy: bool) -> None:
        self._frontier.servers.learn_content(key, copy=copy)

    def has_names(self, key: str, hosts: Sequence[str]) -> None:
        url, server = f"{key}/", self._frontier.server(key)
        if server is None or not self._aliases.is_suspected(key, hosts) or not self._links.wants(url):
            return
        best = max(server.urls.best_quality, self._quality.quality(url, 1))
        if self._seen.url_is_new(url):
            self._frontier.push([entry := Entry(url, best, 1, 1)])
            self._queued(1, entry)
        else:
            self._frontier.raise_quality([(url, best)])

    def merge(self, key: str, main: str) -> None:
        self._aliases.merge(key, main)

    def _are_alike(self, key: str, main: str) -> bool:
        """Whether the servers may be one: of one spider, which follows links to ``main``; and, as of these one worker
        has all, of one registered domain if there are several workers."""
        if self._owners.of(key) is not self._owners.of(main) or not self._links.may_lead_to(main):
            return False
        return self._exchange is None or domain_of_server(key) == domain_of_server(main)

    def release(self, name: str) -> None:
        if self._guard is not None:
            self._guard.release(name)

    # called by the backend

    def receive(self, entries: Sequence[Entry]) -> Iterator[None]:
        """Queue ``entries`` that other workers sent, in steps of at most 0.1 s. O(size).

        The caller gives only entries of own servers, and takes all steps; then each entry is queued or counted.  A link
        to a known URL raises its quality by what the page with the link adds.
        """
        for start in range(0, len(entries), RECEIVED_STEP):
            if start:
                yield
            links: list[Entry] = []
            requests: list[Request] = []
            some = entries[start : start + RECEIVED_STEP]
            self._stats.inc_value("frontier/received", len(some))
            for entry in some:
                self._sort_received(entry, links, requests)
            queued, raised = self._links.received(links)
            self.new_share.learn(len(queued) + len(raised), len(queued))
            self._frontier.push(queued)
            self._frontier.raise_quality([(url, gain) for url, gain in raised if gain])
            if queued:
                self._queued(len(queued), queued[0])
            new = sum(self._enqueue(request) for request in requests)
            self._stats.inc_value("frontier/received/new", len(queued) + new)
            self._stats.inc_value("frontier/received/seen", len(raised) + len(requests) - new)

    def _sort_received(self, entry: Entry, links: list[Entry], requests: list[Request]) -> None:
        """Add an entry of another worker to ``links``, or its request to ``requests``; count one that is damaged."""
        try:
            _check(entry)
            if entry.payload is None:
                links.append(entry)
                return
            request = self._backend.unpack(entry)
            if self._backend.is_link(entry):
                links.append(entry)
            else:
                requests.append(request)
        except (ValueError, TypeError, AttributeError) as error:
            self._stats.inc_value("frontier/received/bad")
            if not self._has_logged_bad:
                self._has_logged_bad = True
                text = "An entry from another worker cannot be read (others are only counted): %.200s: %.200s"
                logger.error(text, entry.url, error)

    # called by the scheduler

    def register_server(self, request: Request) -> None:
        """Check the page limits of the server of a ``request`` to be queued. Raises ValueError if it has no server."""
        self._limits.register(server_key(request.url))

    def servers_came(self, keys: Sequence[str]) -> None:
        """Continue with servers that came from another worker. O(servers), plus O(URLs) for full ones."""
        self._limits.load(keys)
        if self._guard is not None:
            self._guard.load(keys)

    def led_back(self, request: Request) -> None:
        """Learn from a duplicate ``request``: if it is a redirect, the URL requested first shows nothing new."""
        if self._guard is not None and "redirect_urls" in request.meta:
            self._guard.learn_redirect(request.meta, None)

    def refusal(self, request: Request, entry: Entry) -> Reason | None:
        """Why the ``request`` of a queued ``entry`` is not sent, by what was learned or ordered since. O(length)."""
        if request.callback == sitemap_callback(self._spider):
            return None
        if self.is_refused(entry):
            return Reason.EXCLUDED
        if self._aliases and self._aliases.takes(entry):
            return Reason.ALIAS
        is_file = request.errback is link_failed and self._files.is_dropped(request.url)
        return Reason.EXTENSION if is_file else None

    def is_refused(self, entry: Entry) -> bool:
        """By the operator, who has not ordered it by ``fetch``. O(length); O(1) without patterns."""
        live = self._live
        return live.has_patterns and entry.priority < ORDERED and live.refuses(entry.url, entry.depth)

    def limits_changed(self) -> None:
        self._limits.load([server.key for server in self._frontier.servers])

    def rewrite(self, server: Server) -> Iterator[int]:
        """Drop the queued URLs of ``server`` that the operator's patterns refuse, and order the others; in steps.

        Yields the number dropped in each step.  See ``Frontier.rewrite_queue``.
        """
        live, dropped = self._live, []

        def judge(entry: Entry) -> Entry | None:
            if not self.is_refused(entry):
                return live.placed(entry)
            dropped.append(entry)
            return None

        for count in self._frontier.rewrite_queue(server, judge):
            for entry in dropped:
                self._refuse(entry, Reason.EXCLUDED)
            dropped.clear()
            yield count

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """Take Crawl-delay and sitemaps from a robots.txt file.

        The delay also if the server is about to go to another worker, who must know how long it rests after this
        contact; that worker reads the file, too.
        """
        is_own = self._exchange is None or self._exchange.is_own(request.url)
        key = server_key(request.url)
        if is_own or self._frontier.server(key) is not None:
            agent = self._agent or request.headers.get(b"User-Agent") or b"*"
            self._set_crawl_delay(key, robotparser.crawl_delay(agent))
        if is_own and (sitemaps := getattr(robotparser, "sitemaps", ())):  # Scrapy's parsers do not read them
            self._push_sitemaps(self._sitemaps.of_robots(sitemaps, request))

    def answered(self, response: Response) -> None:
        self._files.learn(response)

    def close(self) -> None:
        self._links.close()

    def _set_crawl_delay(self, key: str, delay: float | None) -> None:
        """Keep the delay of a robots.txt file (seconds), or remove an older one."""
        server = self._frontier.server(key)
        if delay is not None and isfinite(delay) and delay > 0:
            self._frontier.servers.set_crawl_delay(key, delay)
            self._stats.inc_value("frontier/crawl_delays")
        elif server is not None and server.crawl_delay:
            self._frontier.servers.set_crawl_delay(key, 0.0)

    def _push(self, links: Links) -> Iterator[None]:
        for found in self._links.find_in_steps(links, self._backend.pack_callback(links.callback)):
            if found is not None:
                entries = self._backend.hold(found.entries, links.response)
                elsewhere = len(found.sent) * self.new_share.value
                self._frontier.push(entries, found.found_on, from_sitemap=links.kind == "sitemap", elsewhere=elsewhere)
                self._frontier.raise_quality(found.raised)
                if entries:
                    self._queued(len(entries), entries[0])
                if found.sent:
                    self._send(found.sent)
            yield

    def _send(self, entries: Sequence[Entry]) -> None:
        assert self._exchange is not None
        payload = entries[0].payload
        if payload is None or type(payload) is bytes:
            self._exchange.send(entries)
            return
        self._fates.refuse(Reason.UNSERIALIZABLE, [entry.url for entry in entries])
        if not self._has_lost:
            self._has_lost = True
            logger.warning(
                "Links to servers of other workers are lost, the first one %s: their callback is not a method of the "
                "spider",
                entries[0].url,
            )

    def _push_sitemaps(self, found: list[Entry], index: Response | None = None) -> None:
        packed = [entry._replace(payload=self._backend.pack_callback(entry.payload)) for entry in found]
        if packed and self._exchange is not None and not self._exchange.is_own(packed[0].url):
            self._send(packed)  # their server moved to another worker while the index was fetched
            return
        entries = self._backend.hold(packed, index)
        for entry in entries:
            self._frontier.push_sitemap(entry)
        if entries:
            self._queued(len(entries), entries[0])


def _check(entry: Entry) -> None:
    """Raise ValueError or TypeError for values that the frontier does not take."""
    if not (isinstance(entry.url, str) and type(entry.priority) is type(entry.depth) is int):
        raise TypeError("values of wrong types")
    if not (abs(entry.priority) <= MAX_PRIORITY and 0 <= entry.depth <= MAX_DEPTH):
        raise ValueError(f"priority {entry.priority}, depth {entry.depth}")
    if not (isfinite(entry.quality) and entry.quality >= 0):
        raise ValueError(f"quality {entry.quality!r}")
    if not (entry.payload is None or type(entry.payload) is bytes):
        raise TypeError(f"payload {type(entry.payload)}")
    server_key(entry.url)
