"""Reads a stored frontier for ``scrapy frontier``: counts, ranks and their terms, queued URLs."""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from crawlproject.frontier.entry import path_of, url_of
from crawlproject.frontier.queues.sort_key import DEMOTED, OTHER_NAME, decode_row, decode_sort_key
from crawlproject.frontier.states import ServerState
from crawlproject.monitor.console.url_query import chosen_by, parse
from crawlproject.monitor.server_state import server_terms, shown_state
from crawlproject.options.redis import RedisOptions
from crawlproject.seen.fingerprint import url_key
from crawlproject.storage.directory import SPIDERS
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fates import DiskFates
from crawlproject.storage.fetched import DiskFetchedPages
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.storage.url_table import StoredUrls
from crawlproject.urls import server_key
from crawlproject.urls.fates import STATS, Fates, Reason, Stage, decoded
from crawlproject.urls.server_key import DomainTable, covers
from crawlproject.urls.url_rows import LOST as LOST_STATE
from crawlproject.urls.url_rows import UrlRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from scrapy.settings import BaseSettings

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.queues.stored_queue import StoredUrlQueue
    from crawlproject.frontier.server import Server
    from crawlproject.options.scheduling import FrontierOptions
    from crawlproject.storage.directory import StoreLabel
    from crawlproject.storage.urls import DiskUrlRows
    from crawlproject.workers.stored_crawl import NewCopy, StoredCrawl


#: What became of a URL that is in the seen-set, and neither queued nor ended; that is in neither; that a worker has
#: found and its owner has not read yet.
LOST = "seen, and lost: it was kept in memory alone when the crawl stopped"
UNKNOWN = "never queued: no page read so far links to it, or not followed (filters, depth, domain, guard)"
WAITS = "found: on its way to the worker of its server"
#: Priority of a queued URL -> why it comes last.
LAST = {
    DEMOTED: "; it comes last: pages like it, or those that link to it, showed nothing new",
    OTHER_NAME: "; it comes last: its page is known under another address",
}

#: In CSV no cell begins like a formula.
_FORMULA = frozenset("=+-@\t\r")


@dataclass(frozen=True)
class FrontierReport:
    """The figures of a frontier as it is stored; its clock is the wall clock."""

    frontier: Frontier
    rows: DiskUrlRows
    label: StoreLabel
    urls_seen: int
    #: Seconds.
    now: float
    #: What became of a canonical URL (``urls.fates.encoded``): 0: it has not ended; None: it is not seen.
    mark_of: Callable[[str], int | None]
    #: The same -> URLs.
    marks: Callable[[], Mapping[int, int]]
    #: Links refused, and examples.
    fates: Fates
    #: None: they are not recorded.
    pages: DiskFetchedPages | None = None
    #: The crawl by many workers; None: it is on disk.
    crawl: StoredCrawl | None = None

    def counts(self) -> dict[str, Any]:
        """URLs and servers by state.

        ``pages`` are those of all runs.  ``urls_queued`` includes URLs in flight, which are stored until they are done,
        and those of servers that the operator has blocked.
        """
        counts = self.frontier.counts()
        found: dict[str, Any] = {
            "spider": self.label.spider,
            "pages": self.frontier.quality.pages,
            "urls_seen": self.urls_seen,
            "urls_queued": counts["urls"] + counts["blocked"],
            "servers": counts["servers"],
            "servers_ready": counts["ready"],
            "servers_resting": counts["resting"],
            "servers_waiting": counts["waiting"],
            "servers_idle": counts["idle"],
            "servers_given_up": sum(server.given_up for server in self.frontier.servers),
            "urls_doubted": sum(server.guard.waiting for server in self.frontier.servers if server.guard),
        }
        return found if self.crawl is None else found | _crawl_counts(self.crawl)

    def servers(self, host: str | None = None, state: str | None = None) -> list[dict[str, Any]]:
        """Servers by rank, best first: those that ``host``, a ``server_name``, covers, in the ``state``, or all that
        have URLs.  O(n log n)."""
        found = list(self.frontier.servers)
        if host is not None:
            found = [server for server in found if covers(host, server.key)]
        if state is not None:
            found = [server for server in found if shown_state(server) == state]
        elif host is None:
            found = [server for server in found if server.urls]
        return sorted(map(self._terms, found), key=lambda terms: (-terms["rank"], terms["server"]))

    def urls(self, key: str) -> Iterator[dict[str, Any]]:
        """The queued URLs of the server ``key``, in the order of fetching. A few µs each."""
        server = self.frontier.server(key)
        if server is None:
            return
        by_quality = self.label.order == "quality"
        for sort_key, data in self.rows.rows(cast("StoredUrlQueue", server.urls).number):
            quality, priority, _ = decode_sort_key(sort_key, by_quality=by_quality)
            row = decode_row(data)
            url = url_of(row.path, key)
            yield {"url": url, "quality": quality, "priority": priority, "depth": row.depth}

    def url(self, url: str) -> dict[str, Any]:
        """What became of the canonical ``url``. O(queued URLs of its server)."""
        return {**self._state_of(url), **self._place(url)}

    def _place(self, server: str) -> dict[str, Any]:
        """Partition and owner of a server."""
        return {} if self.crawl is None else dict(zip(("partition", "owner"), self.crawl.owner_of(server), strict=True))

    def _state_of(self, url: str) -> dict[str, Any]:
        key = server_key(url)
        for place, queued in enumerate(self.urls(key), start=1):
            if queued["url"] == url:
                state = f"queued, or in progress: number {place} of its server" + LAST.get(queued["priority"], "")
                return {"url": url, "url_state": state, **queued}
        mark = self.mark_of(url)
        if mark is None and self.crawl is not None and self.crawl.url_waits:
            return {"url": url, "url_state": WAITS}
        if mark is None:
            stages = [(stage, reason) for stage, reason in STATS if stage is Stage.LINK]
            found = next((reason for stage, reason in stages if url in self.fates.examples(stage, reason)), None)
            return {"url": url} | ({"url_state": UNKNOWN} if found is None else _fate(Stage.LINK, found))
        fate = decoded(mark)
        if fate is None:
            return {"url": url, "url_state": LOST}
        return {"url": url, **_fate(*fate), **self._page(url, key)}

    def _page(self, url: str, key: str) -> dict[str, Any]:
        """When the page was fetched, as far as that is recorded."""
        server = self.frontier.server(key)
        if server is None or self.pages is None:
            return {}
        page = self.pages.committed(cast("StoredUrlQueue", server.urls).number, path_of(url, key))
        if page is None:
            return {}
        at = datetime.fromtimestamp(page.fetched, UTC).isoformat(timespec="seconds")
        return {"fetched_at": at, "quality": page.quality, "depth": page.depth}

    def ends(self) -> list[dict[str, Any]]:
        """What became of all URLs, in the order of ``Reason``: one row for each stage and reason, with examples.

        Of URLs that are not queued any more, those of all runs; of links refused before they were queued, each time
        that one was found.  About 1 µs for each URL seen.
        """
        counts = {place: count for number, count in self.marks().items() if (place := decoded(number)) is not None}
        counts |= {(Stage.LINK, reason): count for reason, count in self.fates.links().items()}
        return [
            {**_fate(stage, reason), "count": counts[stage, reason], "examples": self.fates.examples(stage, reason)}
            for stage, reason in STATS
            if (stage, reason) in counts
        ]

    def _terms(self, server: Server) -> dict[str, Any]:
        terms = server_terms(self.frontier.policy, server, self.now)
        resting = server.state is ServerState.RESTING
        at = datetime.fromtimestamp(server.ready_at, UTC).isoformat(timespec="seconds") if resting else "now"
        return terms | {"allowed_at": "never" if terms["wait"] is None else at} | self._place(server.key)


def found_urls(path: Path, given: Mapping[str, str], host: str | None) -> Iterator[UrlRow]:
    """The URLs of the store in ``path`` that the parameters of the console's search ask for.

    Raises StoreError, ValueError for wrong parameters.
    """
    store = DiskStore.read_only(path)
    try:
        servers = {record.number: record.key for record in DiskFrontierStore(store, 0.0).records()}
        numbers = {key: number for number, key in servers.items()}
        by_quality = store.label.order == "quality"
        table = StoredUrls(store.rocks, lambda: servers, servers.get, numbers.get, by_quality=by_quality)
        file = path / SPIDERS
        domains = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        owners = DomainTable({domain: name for name, found in domains.items() for domain in found})
        own = store.label.spider
        is_wanted = chosen_by(host or "", given.get("spider", ""), [own, *domains], lambda key: owners.of(key) or own)
        query = parse(given, None if is_wanted is None else frozenset(filter(is_wanted, numbers)))
        for _, _, found in table.rows(query, most=10**12):
            yield from found
    finally:
        store.close()


def url_lines(rows: Iterable[UrlRow], form: str) -> Iterator[str]:
    """Lines of text, of JSON, or of CSV with a head; in the latter no cell begins like a formula."""
    if form == "csv":
        out = StringIO()
        writer = csv.writer(out)
        for row in chain([UrlRow._fields], rows):
            writer.writerow([f"'{cell}" if str(cell)[:1] in _FORMULA else cell for cell in row])
            yield out.getvalue()
            out.seek(0)
            out.truncate()
        return
    for row in rows:
        if form == "json":
            yield json.dumps(row._asdict()) + "\n"
        else:
            words = f"{row.state}{f' ({row.reason})' if row.reason and row.state == LOST_STATE else ''}"
            yield f"{words:24} {row.status or '-':>4} {'-' if row.depth is None else row.depth:>4}  {row.url}\n"


def _fate(stage: Stage, reason: Reason) -> dict[str, Any]:
    change = {"change": reason.change} if reason.change else {}
    return {"stage": stage, "reason": reason, "url_state": reason.words, **change}


@contextmanager
def on_disk(path: Path, options: FrontierOptions) -> Iterator[FrontierReport]:
    """The last committed state of the store in ``path``; the crawl may be running.

    O(servers), about 200 µs each, because the best URLs of each are read.  Raises StoreError if there is no frontier,
    or if it is damaged.
    """
    store = DiskStore.read_only(path)
    try:
        now, frontier = time.time(), options.new_frontier()
        servers = DiskFrontierStore(store, clock_offset=0.0)
        servers.load(frontier, now)
        seen, pages, fates = DiskSeenStore(store), DiskFetchedPages(store), Fates()
        DiskFates(store, fates)

        def mark_of(url: str) -> int | None:
            return seen.marked(url_key(url))

        rows = servers.rows
        yield FrontierReport(frontier, rows, store.label, len(seen), now, mark_of, seen.count_marks, fates, pages)
    finally:
        store.close()


@contextmanager
def in_redis(
    url: str, key: str | None, settings: BaseSettings, copy: tuple[Frontier, Fates, NewCopy], page: str
) -> Iterator[FrontierReport]:
    """The crawl ``key`` (None: FRONTIER_REDIS_KEY, or ``web``) in the Redis at ``url``; see ``stored_crawl``.

    ``copy``: what it is read into, and how that is made.  ``page``: canonical URL of the only page of interest, or
    empty.  Other parameters of the client are those of the settings.  Raises StoreError, ValueError for a wrong URL or
    key.
    """
    from crawlproject.options.extras import command_needs_extra

    with command_needs_extra("frontier", "redis"):
        from crawlproject.workers.connection import RedisConnector
        from crawlproject.workers.keys import Keys
        from crawlproject.workers.stored_crawl import stored_crawl

    redis, (frontier, fates, new_copy) = RedisOptions.from_settings(settings), copy
    connector = RedisConnector({**redis.connection, "url": url}, redis.timeout)
    with stored_crawl(connector, Keys(key or redis.key_of("web")), redis.timeout, new_copy, page) as crawl:
        fates.restore({"links": _links_refused(crawl)})
        yield FrontierReport(
            frontier,
            crawl.copy.servers.rows,
            crawl.label,
            crawl.marks.total(),
            crawl.now,
            lambda _: crawl.url_mark,
            lambda: crawl.marks,
            fates,
            crawl=crawl,
        )


def _crawl_counts(crawl: StoredCrawl) -> dict[str, Any]:
    """State of the crawl, its workers (most pages first), and its partitions. O(partitions)."""
    from crawlproject.workers.stored_crawl import worker_facts

    live = {worker.id for worker in crawl.workers if worker.lease > 0}
    workers = map(worker_facts, crawl.workers)
    shares: list[dict[str, Any]] = [
        {
            "partition": number,
            "owner": record.owner,
            "epoch": record.epoch,
            "urls": record.stored,
            "servers": record.servers,
            "inbox": inbox,
        }
        for number, (record, inbox) in crawl.records.items()
    ]
    return {
        "crawl": crawl.meta.get("state", ""),
        "pages": crawl.pages,
        "workers_alive": len(live),
        "partitions": len(shares),
        "without_owner": sum(share["owner"] not in live for share in shares),
        "inbox_messages": sum(share["inbox"] for share in shares),
        "longest_inbox": max((share["inbox"] for share in shares), default=0),
        "workers": sorted(workers, key=lambda worker: (-(worker["pages"] or 0), worker["worker"])),
        "shares": shares,
    }


def _links_refused(crawl: StoredCrawl) -> dict[str, int]:
    """Reason -> links, of the workers that left or live; what a killed one counted is lost."""
    counts: Counter[str] = Counter()
    for (stage, reason), name in STATS.items():
        if stage is Stage.LINK:
            counts[reason] += int(float(crawl.stats.get(name, 0)))
    for worker in crawl.workers:
        links = worker.info.get("links")
        if isinstance(links, dict):
            counts.update({name: count for name, count in links.items() if type(count) is int})
    return dict(counts)
