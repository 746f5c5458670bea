"""Turns the links of a page into frontier entries: canonical, filtered, new, with a quality."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.discovery.page_reading import is_html
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.live_limits import LiveLimits
from crawlproject.frontier.quality import link_gains
from crawlproject.requests.meta import CLOSED_TO_ROBOTS, DUPLICATE_OF, NEAR_DUPLICATE_OF, QUALITY, SKIP_LINKS
from crawlproject.storage.link_file import LinkRecord
from crawlproject.urls import server_key, why_none
from crawlproject.urls.fates import Reason
from crawlproject.urls.link_filter import remembering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy.statscollectors import StatsCollector

    from crawlproject.backends.protocol import Exchange
    from crawlproject.discovery.aliases import HostAliases
    from crawlproject.discovery.page_limits import PageLimits
    from crawlproject.discovery.skipped_files import SkippedFiles
    from crawlproject.discovery.trap_guard import TrapGuard
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.guard.judge import GuardedPage
    from crawlproject.frontier.quality import Quality
    from crawlproject.links import Links
    from crawlproject.options.following import LinkOptions
    from crawlproject.urls import LinkFilter
    from crawlproject.urls.fates import Fates

logger = logging.getLogger(__name__)

#: Links processed per turn of the event loop, and their characters: 0.15 s if each is the first of its server, or none
#: is ASCII. The guard judges each such batch separately, like a page of its own.
STEP = 2_500
STEP_CHARACTERS = 250_000


class Found(NamedTuple):
    """The result of a page's links for the frontier."""

    #: New URLs.
    entries: list[Entry]
    #: Known URLs, with the quality that this page adds to each.
    raised: list[tuple[str, float]]
    #: Key of the page's server; None for seeds.
    found_on: str | None
    #: URLs of other workers' servers that were not sent to them recently.
    sent: Sequence[Entry] = ()


class _Source(NamedTuple):
    """The server of the page with the links, and the quality that it adds to internal and external targets."""

    server_key: str | None
    internal: float
    external: float
    #: A near-duplicate: the page that it resembles has added to its internal targets that are known.
    is_near_copy: bool = False

    def gains(self, urls: list[str]) -> list[float]:
        """The quality added to each of the canonical ``urls``."""
        internal, external = self.internal, self.external
        if internal == external or self.server_key is None:
            return [external] * len(urls)
        start = self.server_key + "/"
        return [internal if url.startswith(start) else external for url in urls]

    def raised(self, known: dict[str, float]) -> list[tuple[str, float]]:
        """The ``known`` URLs whose quality rises, with what is added. O(length) each."""
        own = f"{self.server_key}/" if self.is_near_copy else None
        return [(url, gain) for url, gain in known.items() if gain and not (own and url.startswith(own))]


@dataclass(frozen=True)
class LinkChecks:
    """What may refuse a link, or send it elsewhere."""

    rules: LinkFilter
    guard: TrapGuard | None = None
    limits: PageLimits | None = None
    files: SkippedFiles | None = None
    exchange: Exchange | None = None
    aliases: HostAliases | None = None
    live: LiveLimits = LiveLimits({})  # noqa: RUF009 - without limits


class LinkIntake:
    """Turns ``Links`` into frontier entries; replaces Scrapy's offsite, depth and URL-length middlewares for them.

    O(length) per link; stats are written once per page.
    """

    def __init__(  # noqa: PLR0913
        self,
        seen: SeenDupeFilter,
        checks: LinkChecks,
        quality: Quality,
        stats: StatsCollector,
        options: LinkOptions,
        fates: Fates,
    ) -> None:
        self._seen = seen
        self._guard, self._limits, self._files = checks.guard, checks.limits, checks.files
        self._exchange, self._aliases, self._live = checks.exchange, checks.aliases, checks.live
        rules, seed_rules = checks.rules, checks.rules.without_patterns()
        # why URLs are refused: by all rules, and by all but those on extensions
        self._reasons = remembering(rules.reason), replace(rules, extensions=frozenset()).reason
        self._reasons_of_seeds = seed_rules.reason, replace(seed_rules, extensions=frozenset()).reason
        self._patterns = {"include": rules.include, "exclude": rules.exclude}
        self._quality = quality
        self._stats = stats
        self._fates = fates
        #: As the stats ``frontier/links/*``, which a project may switch off.
        self.counts: Counter[str] = Counter()
        self._record = None if options.record is None else LinkRecord(options.record, stats)

    def find_in_steps(self, links: Links, payload: Any) -> Iterator[Found | None]:
        """Entries with ``payload`` for the new URLs among ``links``, and the quality gains of known ones.

        In the steps of ``in_steps``; queue the result of each before the next one.  Counts each link in a stat
        ``frontier/links/*``, or ``fates/link/*`` if it is refused.
        """
        depth = 0 if links.response is None else links.response.meta.get("depth", 0) + (links.kind == "page")
        counts = Counter(found=len(links.hrefs))
        if 0 < self._live["depth"] < depth:
            self._fates.refuse(Reason.DEPTH, links.hrefs)
            yield Found([], [], None)
        else:
            yield from self._sift(links, depth, payload, counts)
        for name, count in counts.items():
            if count:
                self.counts[name] += count
                self._stats.inc_value(f"frontier/links/{name}", count)

    def received(self, links: list[Entry]) -> tuple[list[Entry], list[tuple[str, float]]]:
        """The new URLs among ``links`` that another worker found, and the quality that the known ones gain.

        O(length) each.
        """
        if aliases := self._aliases:
            links = [entry._replace(url=aliases.mapped(entry.url)) for entry in links]
        wanted: list[Entry] = []
        for entry in links:
            if self._limits and self._limits.refuses(entry.url):
                self._fates.refuse(Reason.PAGE_LIMIT, [entry.url])
            elif self._files is not None and self._files.is_dropped(entry.url):
                self._fates.refuse(Reason.EXTENSION, [entry.url])
            else:
                wanted.append(entry)
        is_new = self._seen.urls_are_new([entry.url for entry in wanted])
        new = list(compress(wanted, is_new))
        raised = [(entry.url, self._gain(entry)) for entry, is_one in zip(wanted, is_new, strict=True) if not is_one]
        if self._files is not None:
            new = [self._files.rated(entry) for entry in new]
        if self._guard is not None:
            new = self._guard.received(new)
        return new, raised

    def _gain(self, entry: Entry) -> float:
        """The quality that the page with the link adds to its target; a seed (depth 0) is found on no page.

        A quality that the spider gave with the link looks like such a gain.
        """
        return max(0.0, entry.quality - self._quality.quality(entry.url, entry.depth)) if entry.depth else 0.0

    def wants(self, url: str) -> bool:
        """Whether the rules let a link to the canonical ``url`` be followed. O(length)."""
        return self._reasons[0](url) is None and not (self._live.has_patterns and self._live.refuses(url))

    def may_lead_to(self, key: str) -> bool:
        """Whether links to the server ``key`` are followed, apart from patterns. O(length)."""
        return self._reasons_of_seeds[0](f"{key}/") is None

    def close(self) -> None:
        """Close the link record; say which patterns matched no link."""
        for name, patterns in self._patterns.items():
            if patterns and not patterns.has_matched and self.counts["found"]:
                logger.warning("The patterns to %s matched none of %d links", name, self.counts["found"])
        if self._record is not None:
            self._record.close()

    def _sift(self, links: Links, depth: int, payload: Any, counts: Counter[str]) -> Iterator[Found | None]:
        urls: list[str | None] = []
        steps = in_steps(links.hrefs)
        for some in steps:
            if some.start:
                yield None
            urls += self.canonical(links, links.hrefs[some])
        if aliases := self._aliases:
            written, urls = urls, [None if url is None else aliases.mapped(url) for url in urls]
            counts["aliased"] += sum(url is not other for url, other in zip(urls, written, strict=True))
        page = None if links.response is None else self._seen.canonicalizer.canonical(links.response.url)
        guarded = None
        if self._guard is not None and page is not None and links.kind == "page":
            assert links.response is not None
            guarded = self._guard.page(page, links.response, urls)
            yield from self._guard.work()
        source = self._source(links, page, urls)
        for some in steps:
            reasons = self._reasons if links.response is not None else self._reasons_of_seeds
            wanted, file_like = self._wanted(links.hrefs[some], urls[some], reasons, guarded)
            wanted, foreign = self._split(wanted, source, counts)
            new = list(compress(wanted, self._seen.urls_are_new(wanted)))
            counts["seen"] += len(wanted) - len(new)
            known = dict(zip(wanted, source.gains(wanted), strict=True))
            gains = [known.pop(url) for url in new]
            given = _given(links, urls[some], some.start)
            entries = self._entries(depth, payload, new, gains, given)
            sent = self._entries(depth, payload, list(foreign), list(foreign.values()), given) if foreign else []
            if self._live.has_patterns:
                entries = list(map(self._live.placed, entries))
            if file_like and self._files is not None:
                factor = self._files.factor
                entries = [e._replace(quality=e.quality * factor(e.url)) if e.url in file_like else e for e in entries]
            if self._guard is not None and guarded is not None:
                entries = self._judge(self._guard, guarded, entries)
            counts["new"] += len(entries)
            yield Found(entries, source.raised(known), source.server_key, sent)
            if self._guard is not None and guarded is not None:
                yield from self._guard.work()

    def _judge(self, guard: TrapGuard, guarded: GuardedPage, entries: list[Entry]) -> list[Entry]:
        """Those of ``entries`` that the guard lets pass; the seen-set has them all."""
        judged = guard.judge(guarded, entries)
        if len(judged) < len(entries):
            left = {entry.url for entry in judged}
            for entry in entries:
                if entry.url not in left:
                    self._fates.dropped(entry.url, Reason.GUARD)
        return judged

    def _split(self, wanted: list[str], source: _Source, counts: Counter[str]) -> tuple[list[str], dict[str, float]]:
        """The own ones among ``wanted``, and the foreign ones to send, with what their links add to their quality."""
        exchange = self._exchange
        if exchange is None:
            return wanted, {}
        own = [exchange.is_own(url) for url in wanted]
        if all(own):
            return wanted, {}
        own_ones = list(compress(wanted, own))
        foreign = list(dict.fromkeys(url for url, is_own in zip(wanted, own, strict=True) if not is_own))
        links = exchange.unsent(foreign, repeats=source.external > 0)
        gains = source.gains(foreign)
        sent = {url: gain * count for url, gain, count in zip(foreign, gains, links, strict=True) if count}
        counts["sent"] += len(sent)
        counts["seen"] += len(wanted) - len(own_ones) - len(sent)
        return own_ones, sent

    def _entries(
        self, depth: int, payload: Any, urls: list[str], gains: list[float], given: Callable[[str], float] | None
    ) -> list[Entry]:
        """Entries for new ``urls``, to whose quality their page adds ``gains``; ``given``: their quality, if set."""
        if given is not None:
            return [Entry(url, given(url), 0, depth, payload) for url in urls]
        worth = self._quality.quality
        return [Entry(url, worth(url, depth) + gain, 0, depth, payload) for url, gain in zip(urls, gains, strict=True)]

    def _wanted(
        self,
        hrefs: Sequence[str],
        urls: list[str | None],
        reasons: tuple[Callable[[str], Reason | None], Callable[[str], Reason | None]],
        guarded: GuardedPage | None,
    ) -> tuple[list[str], set[str]]:
        """Which ``urls`` (``hrefs`` made canonical) are followed, and which of these have a file extension."""
        reason_to_skip, of_files = reasons
        judges = [(Reason.GUARD, guarded.refuses)] if guarded is not None and guarded.refuses_some else []
        if self._limits:
            judges.append((Reason.PAGE_LIMIT, self._limits.refuses))
        if self._live.has_patterns and reasons is self._reasons:
            judges.append((Reason.EXCLUDED, self._live.refuses))
        refused: defaultdict[Reason, list[str]] = defaultdict(list)
        wanted: list[str] = []
        file_like: set[str] = set()
        for href, url in zip(hrefs, urls, strict=True):
            if url is None:
                refused[why_none(href)].append(href)
                continue
            reason = reason_to_skip(url)
            if reason is Reason.EXTENSION and self._files is not None and not self._files.is_skipped(url):
                reason = of_files(url)
                file_like.add(url)
            if reason is None and judges:
                reason = next((name for name, refuses in judges if refuses(url)), None)
            if reason is not None:
                refused[reason].append(url)
            else:
                wanted.append(url)
        for reason, refusals in refused.items():
            self._fates.refuse(reason, refusals)
        return wanted, file_like

    def canonical(self, links: Links, hrefs: Sequence[str]) -> list[str | None]:
        """The canonical URL of each of ``hrefs``, a part of ``links``; None for an invalid one."""
        canonicalizer = self._seen.canonicalizer
        if links.response is None:
            return list(map(canonicalizer.canonical, hrefs))
        encoding = getattr(links.response, "encoding", "utf-8") if links.kind == "page" else "utf-8"
        return canonicalizer.batch(hrefs, links.base or links.response.url, encoding)

    def _source(self, links: Links, page: str | None, urls: list[str | None]) -> _Source:
        """The source ``page`` of ``links`` with the canonical ``urls``; also writes them to the link record."""
        if links.response is None or page is None:
            return _Source(None, 0.0, 0.0)
        if links.kind != "page":  # a sitemap adds no quality to the pages it lists
            return _Source(server_key(page), 0.0, 0.0)
        distinct = dict.fromkeys(url for url in urls if url is not None and url != page)
        meta = links.response.meta
        if self._record is not None:
            is_closed = SKIP_LINKS in meta or CLOSED_TO_ROBOTS in meta or not is_html(links.response)
            if links.hrefs or not is_closed:  # else its links were not extracted
                self._record.add(page, distinct)
        if links.quality is not None or DUPLICATE_OF in meta:  # a copy adds no quality
            return _Source(server_key(page), 0.0, 0.0)
        gains = link_gains(self._quality, meta.get(QUALITY, 1.0), len(distinct))
        return _Source(server_key(page), *gains, is_near_copy=NEAR_DUPLICATE_OF in meta)


def in_steps(hrefs: Sequence[str]) -> list[slice]:
    """At least one slice of ``hrefs``: of ``STEP`` links, or of fewer with ``STEP_CHARACTERS`` or more. O(links)."""
    if len(hrefs) < STEP and sum(map(len, hrefs)) < STEP_CHARACTERS:  # nearly always
        return [slice(0, len(hrefs))]
    ends = [0]
    characters = 0
    for end, href in enumerate(hrefs, 1):
        characters += len(href)
        if characters >= STEP_CHARACTERS or end - ends[-1] >= STEP:
            ends.append(end)
            characters = 0
    if ends[-1] < len(hrefs) or len(ends) == 1:
        ends.append(len(hrefs))
    return [slice(start, end) for start, end in pairwise(ends)]


def _given(links: Links, urls: Sequence[str | None], start: int) -> Callable[[str], float] | None:
    """URL -> the quality that the spider gives it; ``urls`` are those of the ``links`` from ``start`` on.

    Of several links to one page the best counts.
    """
    given = links.quality
    if given is None:
        return None
    if isinstance(given, float | int):
        return lambda _: given
    best: dict[str, float] = {}
    for url, quality in zip(urls, given[start : start + len(urls)], strict=True):
        if url is not None and quality >= best.get(url, 0.0):
            best[url] = quality
    return best.__getitem__
