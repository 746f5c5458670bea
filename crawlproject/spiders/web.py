"""The broad crawl: every page reachable from the seeds, the best pages of the best servers first."""

from __future__ import annotations

import asyncio
import heapq
import logging
import re
import signal
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.http import TextResponse

from crawlproject.compat import engine_of
from crawlproject.crawl_frontier import frontier_of
from crawlproject.discovery.page_reading import is_html, links_of, read_page, wants_text
from crawlproject.discovery.sitemap_reader import sitemap_links
from crawlproject.download.content_types import media_type
from crawlproject.engine import Crawl, stats_of
from crawlproject.items import Page
from crawlproject.links import Links
from crawlproject.monitor.failure_log import failure_counts
from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import RobotsOptions
from crawlproject.options.project_rules import ENABLED, has_addon
from crawlproject.options.start_errors import starting
from crawlproject.options.values import age_seconds
from crawlproject.records.intake import RecordIntake, SiteReader
from crawlproject.records.rule_file import read_rules, read_rules_again
from crawlproject.requests.answers import has_header, header
from crawlproject.requests.meta import CANONICAL, CLOSED_TO_ROBOTS, DUPLICATE_OF, NEAR_DUPLICATE_OF, QUALITY, SKIP_LINKS
from crawlproject.requests.owners import Owners
from crawlproject.spiders.seed_list import seed_lines
from crawlproject.spiders.several import Several
from crawlproject.urls import BadSeed, read_refresh, read_seeds, resolve, server_key
from crawlproject.urls.server_key import host_in, server_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from crawlproject.urls import PageLinks


def _whole(name: str, value: Any) -> int:
    if not re.fullmatch("[0-9]{1,15}", str(value)):
        raise ValueError(f"{name}={value!r}: must be a whole number >= 0")
    return int(value)


def _domain(entry: str) -> str:
    try:
        return server_name(entry)
    except ValueError as error:
        raise ValueError(f"allowed: {error}") from error


#: Arguments that set limits (docs/limits.md) -> the setting, and the parser of the value.
LIMITS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "max_pages": ("FRONTIER_MAX_PAGES", _whole),
    "max_pages_per_server": ("FRONTIER_MAX_PAGES_PER_SERVER", _whole),
    "max_pages_per_domain": ("FRONTIER_MAX_PAGES_PER_DOMAIN", _whole),
    "max_bytes": ("FRONTIER_MAX_BYTES", _whole),
    "max_time": ("CLOSESPIDER_TIMEOUT", age_seconds),
    "max_depth": ("DEPTH_LIMIT", _whole),
    "include": ("FRONTIER_LINKS_INCLUDE", lambda _name, value: str(value)),
    "exclude": ("FRONTIER_LINKS_EXCLUDE", lambda _name, value: str(value)),
    "deny": ("FRONTIER_DENY_FILE", lambda _name, value: str(value)),
}
ARGUMENTS = ("seeds", "allowed", "body", "recrawl", *LIMITS)
#: Of ``web`` and ``site`` only.
OF_SEVERAL = ("spiders", "rules")

#: Arguments that every spider accepts.
_OTHERS = ("name", "recrawl")

#: Closing reason if no page could be fetched.
NO_SEED_FETCHED = "no_seed_fetched"

_quality = itemgetter(0)

#: Seeds read and queued in one step of the event loop: about 40 ms.
SEEDS_AT_ONCE = 1000

#: Maximum number of servers whose failure is logged at the end.
MAX_REASONS = 5


class WebSpider(Spider):
    """``scrapy crawl web -a seeds=URL[,URL...]``, ``-a seeds=FILE`` or ``-a seeds=-`` (standard input).

    ``-a allowed=DOMAIN[,DOMAIN...]`` stays within these domains, ``-a max_pages=N`` stops after N pages,
    ``-a body=1`` puts the text of each page into its item; ``-a recrawl=AGE``, as for any spider, fetches pages again
    that were fetched at least ``AGE`` ago (``FRONTIER_RECRAWL_AGE``).  ``-a spiders=NAME[,NAME...]`` and ``-a
    rules=FILE|FOLDER`` give the pages of their domains to other spiders, and to rules; without ``seeds`` theirs are
    enough; ``-a NAME.ARGUMENT=VALUE`` is an argument of one of them.  The arguments in ``LIMITS`` set limits.  Any
    other argument is an error, except in a subclass without ``known_arguments``.  Yields a ``Page`` for each page
    fetched.  Closing reason if no page could be fetched: ``no_seed_fetched``.
    """

    name = "web"

    #: A class with its own list accepts no others.
    known_arguments: ClassVar[tuple[str, ...]] = (*ARGUMENTS, *OF_SEVERAL)

    #: Closing reasons of crawls that have failed: ``scrapy crawl`` exits with 1.
    failing_reasons: ClassVar[tuple[str, ...]] = (NO_SEED_FETCHED,)

    def __init__(
        self, seeds: str = "", allowed: str = "", body: str = "", spiders: str = "", rules: str = "", **kwargs: Any
    ) -> None:
        self._of_others = {name: kwargs.pop(name) for name in [*kwargs] if "." in name} if spiders else {}
        self._check_arguments(kwargs)
        limits = {name: kwargs.pop(name) for name in LIMITS if name in kwargs}
        super().__init__(**kwargs)
        self.limits = {LIMITS[name][0]: LIMITS[name][1](name, value) for name, value in limits.items()}
        self.seeds = seeds
        self._spiders = spiders
        self._rules_path = rules
        self.rules = SiteReader(read_rules(rules)) if rules else None
        self._seed_lines: Iterable[str] = seed_lines(seeds) if seeds or not (spiders or rules) else ()
        self.several: Several | None = None
        self.with_body = body.lower() not in ("", "0", "false", "no")
        self.robot_names: frozenset[str] = frozenset()  # by which pages may address this crawler
        self.with_text = False  # whether a component uses the text of pages
        self.readers: dict[str, Any] = {}  # of content that is no page (``FRONTIER_LINKS_READERS``)
        self.pages = 0
        self._owners = Owners()  # replaced by those of the crawl
        self.allowed: list[str] = []
        self.allow([domain.strip() for domain in allowed.split(",") if domain.strip()])

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Set the limits. Raises ValueError for a bad argument, an unusable file of seeds, or without the add-on."""
        if not has_addon(crawler.settings):  # nothing would queue the seeds
            raise ValueError(f"the spider {cls.name} needs {ENABLED}")
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.settings.setdict(spider.limits, priority="spider")
        spider.with_text = wants_text(crawler)
        spider.readers = LinkOptions.of(crawler).readers
        spider.robot_names = RobotsOptions.of(crawler).names
        crawler.signals.connect(spider._end_without_pages, signals.spider_idle)
        spider._owners = Crawl.of(crawler).part(Owners)
        if spider._spiders:
            spider.several = Several(crawler, spider._spiders, spider._of_others)
        if spider.several or spider.rules:
            spider._owners.reload_by(spider.reload)
            crawler.signals.connect(spider._listen, signals.spider_opened)
        if spider.allowed:
            spider.allow(spider.several.domains if spider.several else ())
            spider.allow(spider.rules.domains if spider.rules else ())
        return spider

    def reload(self) -> list[str]:
        """Load new and changed rule files and spider classes for the pages fetched from now on.

        A mistake in one leaves the old one in force.  Returns what happened, a line for each; logged, too.
        """
        told: list[str] = []
        if self.rules:
            before = {site.file: site for site in self.rules.set.sites}
            found, wrong = read_rules_again(self._rules_path, self.rules.set)
            self.rules.use(found)
            told += [f"not loaded, the old rules stay: {line}" for line in wrong]
            told += [f"{site.name}: rules loaded" for site in found.sites if before.get(site.file) is not site]
            new = [seed for site in found.sites if site.file not in before for seed in site.seeds]
            if (engine := engine_of(self.crawler)) is not None:
                for seed in new:
                    engine.crawl(Request(seed))
        if self.several:
            told += self.several.reload()
        for line in told:
            self.logger.log(logging.ERROR if "not loaded" in line else logging.INFO, "Reload: %s", line)
        return told or ["nothing has changed"]

    def _listen(self) -> None:
        """Reload on SIGHUP, where a crawl may handle signals."""
        with suppress(ValueError, RuntimeError, NotImplementedError):  # not in the main thread
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def allow(self, domains: Iterable[str]) -> None:
        """Stay within these domains, too. Raises ValueError for what is no domain."""
        self.allowed += [domain for domain in dict.fromkeys(domains) if domain not in self.allowed]
        if self.allowed:  # other components expect hosts there
            self.allowed_domains = [host_in(_domain(entry)) for entry in self.allowed]

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Log counts of failed pages instead of each one, unless the project sets something else."""
        super().update_settings(settings)
        settings.set("FRONTIER_LOG_FAILURES", "counts", priority="addon")

    def _check_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Raise ValueError for an unknown argument. Names that begin with "_" are scrapyd's."""
        if "known_arguments" not in vars(type(self)):  # a subclass may read others
            return
        for name, value in arguments.items():
            if name not in (*self.known_arguments, *_OTHERS) and not name.startswith("_"):
                hint = f"known arguments: {', '.join(self.known_arguments)}"
                raise ValueError(f"{name}={value!r:.200}: unknown argument of the spider {self.name}; {hint}")

    async def start(self) -> AsyncIterator[Any]:
        """Yield the seeds, those of the rules, and what the other spiders start with."""
        own = self._seeds()
        async for output in own if self.several is None else self.several.started(own):
            yield output

    async def _seeds(self) -> AsyncIterator[Any]:
        async for links in self._own_seeds():
            for output in self.rules.links(links) if self.rules else (links,):
                yield output
        if self.rules and self.rules.seeds:
            for output in self.rules.links(Links(None, self.rules.seeds)):
                yield output

    async def _own_seeds(self) -> AsyncIterator[Links]:
        """Yield the seeds in steps, in the order of the list.

        From the first one with a quality on they are held back until all are read, so that the best is fetched first;
        then those without a quality follow.
        """
        seeds = self._read_seeds()
        rated: list[list[tuple[float, str]]] = []
        unrated: list[str] = []
        while some := list(islice(seeds, SEEDS_AT_ONCE)):
            unrated += (url for url, quality in some if quality is None)
            if given := [(quality, url) for url, quality in some if quality is not None]:
                rated.append(sorted(given, key=_quality, reverse=True))
            elif not rated:
                yield Links(None, unrated)
                unrated = []
            await asyncio.sleep(0)
        best_first = heapq.merge(*rated, key=_quality, reverse=True)
        while some_rated := list(islice(best_first, SEEDS_AT_ONCE)):
            yield Links(None, [url for _, url in some_rated], quality=[quality for quality, _ in some_rated])
            await asyncio.sleep(0)
        self._seed_lines = ()  # standard input is kept in memory
        if unrated:
            yield Links(None, unrated)

    def _parse(self, response: Response, **kwargs: Any) -> Any:
        """Called by Scrapy: gives a page without a callback to its spider, or to the rules of its domain."""
        owner = self._owners.of(response.url)
        if owner is not None and owner.spider is not None and owner.spider is not self:
            return owner.spider._parse(response, **kwargs)
        if self.rules:
            intake, count = Crawl.of(self.crawler).part(RecordIntake), stats_of(self.crawler).inc_value
            return self.rules.parse(response, self.parse(response, **kwargs), intake, count)
        return self.parse(response, **kwargs)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Page | Links]:
        """Yields a page's item and its links."""
        self.pages += 1
        self._count("web/pages")
        if not is_html(response):
            self._count("web/skipped/content_type")
            is_nofollow = _says(response, b"nofollow", self.robot_names)
            hrefs = [] if is_nofollow else [*links_of(response, self.readers), *_refreshed(response)]
            yield self._page(response, None, hrefs, followed=True)
            yield Links(response, hrefs)  # even without any, so that the trap guard counts the page
            return
        for name in (CANONICAL, CLOSED_TO_ROBOTS):  # left by the request this one copies
            response.meta.pop(name, None)
        found = read_page(cast("TextResponse", response), with_text=self.with_text)
        hrefs = _hrefs(response, found)
        if found.canonical is not None and found.canonical != response.url:
            response.meta[CANONICAL] = found.canonical
        is_skipped = bool(response.meta.get(SKIP_LINKS))
        is_nofollow = self._forbids("nofollow", response, found)
        if is_nofollow:
            self._count("web/nofollow_pages")
        followed = not is_nofollow and not is_skipped
        yield self._page(response, found.title, hrefs, followed=followed)
        if followed:
            if found.truncated or found.cut:
                self._count("web/truncated_pages")
            yield Links(response, hrefs, base=found.base)
        elif is_skipped:
            yield Links(response, ())  # so that the trap guard counts the page
        elif self._forbids("noindex", response, found):
            response.meta[CLOSED_TO_ROBOTS] = True
            yield Links(response, ())

    async def parse_sitemap(self, response: Response, **kwargs: Any) -> AsyncIterator[Links]:
        """Yields the pages of a sitemap, or the sitemaps of an index (``FRONTIER_LINKS_SITEMAPS``)."""
        yield await sitemap_links(response, self.crawler, self.parse_sitemap)

    def _forbids(self, directive: str, response: Response, found: PageLinks) -> bool:
        """Whether a page or its header says ``directive``, nofollow or noindex, to this crawler."""
        return found.forbids(directive, self.robot_names) or _says(response, directive.encode(), self.robot_names)

    def _page(self, response: Response, title: str | None, hrefs: list[str], *, followed: bool) -> Page:
        meta = response.meta
        last_modified = header(response.headers, b"Last-Modified")
        text = response.text if self.with_body and isinstance(response, TextResponse) else None
        return Page(
            url=response.url,
            status=response.status,
            depth=meta.get("depth", 0),
            quality=meta.get(QUALITY, 1.0),
            title=title,
            content_type=media_type(response.headers) or None,
            last_modified=last_modified.decode("latin-1") if last_modified else None,
            length=_length(response),
            server=server_key(response.url),
            fetched_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            dns_time=meta.get("dns_time"),
            connect_time=meta.get("connect_time"),
            tls_time=meta.get("tls_time"),
            response_time=meta.get("response_time"),
            connection_reused=meta.get("connection_reused"),
            connection_requests=meta.get("connection_requests"),
            links=len(hrefs),
            duplicate_of=meta.get(DUPLICATE_OF),
            near_duplicate_of=meta.get(NEAR_DUPLICATE_OF),
            followed=followed,
            body=text,
        )

    def _read_seeds(self) -> Iterator[tuple[str, float | None]]:
        """The seeds with their given quality, if any; an invalid line is skipped with a warning."""
        for seed in read_seeds(self._seed_lines):
            if isinstance(seed, BadSeed):
                self._count("web/bad_seeds")
                self.logger.warning("Seed %d skipped: %.100r: %s", seed.line, seed.text, seed.reason)
            else:
                if seed.had_user:
                    self.logger.warning("Seed %d: its user name and password are not sent: %s", seed.line, seed.url)
                yield seed.url, seed.quality

    def _end_without_pages(self) -> None:
        """On ``spider_idle``: raise CloseSpider if no page was fetched: in this run, an earlier one, by any worker."""
        crawl = frontier_of(self.crawler)
        if crawl is None or crawl.pages or crawl.is_resumed or crawl.store.pages_elsewhere():
            return
        counted = crawl.intake.links_counted
        if counted("seen") and not counted("new"):
            return
        failed = (f"{server.key}: {server.last_error}" for server in crawl.frontier.servers if server.last_error)
        reasons = [*islice(failed, MAX_REASONS)]
        counts = failure_counts(stats_of(self.crawler).get_stats())
        unknown = "see the log" if counted("found") else "there are no seeds"
        self.logger.error("No seed could be fetched: %s", "; ".join(reasons) or counts or unknown)
        raise CloseSpider(NO_SEED_FETCHED)

    def _count(self, stat: str) -> None:
        stats_of(self.crawler).inc_value(stat)


def _hrefs(response: Response, found: PageLinks) -> list[str]:
    """The links of a page, including its canonical URL and the target of the header ``Refresh``."""
    more = _refreshed(response)
    if found.canonical is not None and found.canonical != response.url:
        more.append(found.canonical)
    return [*found.hrefs, *more] if more else found.hrefs


def _refreshed(response: Response) -> list[str]:
    """Where the header ``Refresh`` leads, which no middleware follows; by HTML, ``<base>`` does not apply to it."""
    refresh = read_refresh((header(response.headers, b"Refresh") or b"").decode("latin-1"))  # as in browsers
    if refresh is None or not refresh.target:
        return []
    return [resolve(refresh.target, response.url) or refresh.target]  # a bad one is counted with the links


def _length(response: Response) -> int:
    """Bytes of the body; Content-Length if the body was not read (``FRONTIER_LINKS_TYPES``)."""
    stated = header(response.headers, b"Content-Length") or b""
    return int(stated) if "download_stopped" in response.flags and stated.isdigit() else len(response.body)


def _says(response: Response, directive: bytes, names: frozenset[str]) -> bool:
    """Whether ``X-Robots-Tag`` says ``directive``, to whomever, or ``none`` to all robots or one of ``names``."""
    if not has_header(response.headers, b"X-Robots-Tag"):
        return False
    says = b",".join(response.headers.getlist(b"X-Robots-Tag")).lower().replace(b" ", b"")
    to_us = {b"none", *(f"{name}:none".encode() for name in names)}
    return directive in says or not to_us.isdisjoint(says.split(b","))
