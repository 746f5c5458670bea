"""Judges a crawl by many workers: by the one log of the servers that all of them crawled. Pure functions on records.

Times are those of the records: `time.monotonic()`, in seconds, which is the same clock in all processes of a machine.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .analysis import PolitenessRule, fetches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from .log import Record
    from .web import Web


class Opened(NamedTuple):
    """A connection from its opening to its closing."""

    server: str
    number: int
    client: str
    """The client's address, without the port."""
    start: float
    end: float
    """The end of the log, if it was not closed."""


class Overlap(NamedTuple):
    """Two connections to one server that were open at the same time, from `start` to `end`."""

    server: str
    start: float
    end: float
    first: Opened
    second: Opened

    @property
    def seconds(self) -> float:
        """How long."""
        return self.end - self.start


class Repeat(NamedTuple):
    """A page that was fetched again, with the fetch before."""

    before: Record
    again: Record

    @property
    def page(self) -> tuple[str, str]:
        """(server, page)."""
        return self.again.server, self.again.page


@dataclass(frozen=True)
class Fault:
    """Something that was done to a crawl; it explains repeated fetches and overlaps near it."""

    kind: str
    start: float
    end: float
    client: str = ""
    """Address of the worker that it hit; empty: all workers."""

    def hits(self, client: str, start: float, end: float, before: float, after: float) -> bool:
        """Whether something of this client between `start` and `end` was within `before` and `after` seconds of it."""
        return self.client in ("", client) and end >= self.start - before and start <= self.end + after


def connections(records: Iterable[Record]) -> list[Opened]:
    """All connections, in order of their opening. O(n log n)."""
    found: dict[int, Opened] = {}
    latest = -math.inf
    for each in records:
        latest = max(latest, each.end)
        if each.kind == "open":
            client = each.target.rpartition(":")[0]
            found[each.connection] = Opened(each.server, each.connection, client, each.arrival, math.inf)
        elif each.kind == "close" and each.connection in found:
            found[each.connection] = found[each.connection]._replace(end=each.arrival)
    ended = (each if each.end < math.inf else each._replace(end=latest) for each in found.values())
    return sorted(ended, key=lambda each: (each.start, each.number))


def overlaps(records: Iterable[Record]) -> list[Overlap]:
    """All pairs of connections to one server that were open at the same time, by start. O(n log n + pairs).

    A connection that opens at the moment in which another closes does not overlap with it.
    """
    found = []
    still_open: defaultdict[str, list[Opened]] = defaultdict(list)
    for each in connections(records):
        others = [other for other in still_open[each.server] if other.end > each.start]
        found += [Overlap(each.server, each.start, min(each.end, other.end), other, each) for other in others]
        still_open[each.server] = [*others, each]
    return found


def rule_of(settings: Mapping[str, Any], web: Web) -> PolitenessRule:
    """The rule that a crawl with these settings (all four of FRONTIER_*) must keep; Crawl-delays from the web."""
    return PolitenessRule(
        str(settings["FRONTIER_POLITENESS"]),
        float(settings["FRONTIER_DELAY_FACTOR"]),
        float(settings["FRONTIER_MIN_DELAY"]),
        float(settings["FRONTIER_MAX_DELAY"]),
        crawl_delays=web.crawl_delays(),
    )


def missing(web: Web, records: Iterable[Record]) -> list[str]:
    """URLs of the pages reachable from the seeds that were not fetched, in the order of the web. O(n)."""
    fetched = {(each.server, each.page) for each in fetches(records)}
    pages = ((page, web.servers[web.server_of[page]].address) for page in web.expected)
    return [web.url(page) for page, server in pages if (server, web.paths[page]) not in fetched]


def repeats(records: Iterable[Record]) -> list[Repeat]:
    """Every fetch of a page that had been fetched before, by arrival. O(n log n).

    A page fetched three times gives two. Only complete answers with status 200 count.
    """
    latest: dict[tuple[str, str], Record] = {}
    found = []
    for each in sorted(fetches(records), key=lambda each: each.arrival):
        before = latest.get((each.server, each.page))
        if before is not None:
            found.append(Repeat(before, each))
        latest[each.server, each.page] = each
    return found


def client_of(records: Iterable[Record]) -> dict[int, str]:
    """Connection -> the client's address. O(n)."""
    return {each.connection: each.target.rpartition(":")[0] for each in records if each.kind == "open"}


def unexplained_repeats(
    records: Sequence[Record], faults: Sequence[Fault], before: float, after: float = 0.0
) -> list[Repeat]:
    """Repeats whose earlier fetch was neither in flight nor unconfirmed at a fault. O(n log n + repeats x faults).

    A fetch is unconfirmed if it ended less than `before` seconds before a fault of its worker, or of all; one that
    began during the fault, or less than `after` seconds later, is excused as well.
    """
    clients = client_of(records)
    return [
        each
        for each in repeats(records)
        if not _is_hit(faults, clients.get(each.before.connection, ""), each.before, before, after)
    ]


def _is_hit(faults: Sequence[Fault], client: str, record: Record, before: float, after: float) -> bool:
    return any(fault.hits(client, record.arrival, record.end, before, after) for fault in faults)


def unexplained_overlaps(records: Sequence[Record], pauses: Sequence[Fault], after: float = 0.0) -> list[Overlap]:
    """Overlaps in which the earlier connection was not one of a worker that was paused. O(n log n + pairs x pauses).

    A paused worker's connections stay open while another takes its servers; it closes them within `after` seconds of
    its resumption.
    """

    def is_named(each: Overlap) -> bool:
        return any(pause.hits(each.first.client, each.start, each.start, 0.0, after) for pause in pauses)

    return [each for each in overlaps(records) if not is_named(each)]
