"""Evaluates access logs: connections, politeness, duplicates and the quality collected. Pure functions on records.

Times are in seconds since the first record.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .log import Record, requests_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .web import Web


class Gap(NamedTuple):
    """The time between two requests to one server."""

    server: str
    seconds: float
    """From the end of the earlier response to the arrival of the later request; negative where they overlap."""
    before: Record
    after: Record


class Violation(NamedTuple):
    """A gap that is shorter than politeness requires."""

    gap: Gap
    required: float
    """Required seconds."""


@dataclass(frozen=True)
class PolitenessRule:
    """How long a server must be left alone, in seconds.

    `request` (Mercator): after each response, `factor` times its duration. `session` (Cao 2003): after a connection,
    `factor` times its busy time, from its first request to the end of its last response; no wait within it. Both are
    bounded by min_delay and max_delay. Crawl delays (address -> seconds) apply between any two requests.
    """

    mode: str = "request"
    factor: float = 10.0
    min_delay: float = 0.0
    max_delay: float = math.inf
    crawl_delays: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in ("request", "session"):
            raise ValueError(f"mode = {self.mode!r}: must be 'request' or 'session'")

    def delay_after(self, busy: float) -> float:
        """The wait after a request or session that took `busy` seconds."""
        return max(self.min_delay, min(self.max_delay, self.factor * busy))


def span(records: Iterable[Record]) -> tuple[float, float]:
    """First arrival and last end on the server's clock; (0, 0) without records. O(n)."""
    times = [time for each in records for time in (each.arrival, each.end)]
    return (min(times), max(times)) if times else (0.0, 0.0)


def _connection_steps(records: Iterable[Record]) -> list[tuple[float, int, str]]:
    """(time, +1 or -1, server) in order of time; at the same time closings come first."""
    return sorted(
        (each.arrival, 1 if each.kind == "open" else -1, each.server) for each in records if each.kind != "request"
    )


def max_open_connections(records: Iterable[Record]) -> int:
    """Maximum number of open connections, to all servers together. O(n log n)."""
    count = highest = 0
    for _, step, _ in _connection_steps(records):
        count += step
        highest = max(highest, count)
    return highest


def parallel_connections(records: Iterable[Record]) -> dict[str, int]:
    """Server -> maximum number of open connections to it; 1 for a polite crawler. O(n log n)."""
    counts: defaultdict[str, int] = defaultdict(int)
    highest: defaultdict[str, int] = defaultdict(int)
    for _, step, server in _connection_steps(records):
        counts[server] += step
        highest[server] = max(highest[server], counts[server])
    return dict(highest)


def gaps(records: Iterable[Record]) -> list[Gap]:
    """Every gap between a request and the one before it on the same server, by arrival. O(n log n).

    "The one before" is the request whose response ended last among those that arrived earlier.
    """
    latest: dict[str, Record] = {}
    found = []
    for each in requests_of(records):
        before = latest.get(each.server)
        if before is not None:
            found.append(Gap(each.server, each.arrival - before.end, before, each))
        if before is None or each.end >= before.end:
            latest[each.server] = each
    return found


def politeness_violations(records: Sequence[Record], rule: PolitenessRule, tolerance: float = 0.0) -> list[Violation]:
    """Every gap that is shorter than the rule requires by more than `tolerance` seconds. O(n log n)."""
    busy = _busy_times(records)
    found = []
    for gap in gaps(records):
        is_same_session = gap.before.connection == gap.after.connection
        if rule.mode == "request":
            required = rule.delay_after(gap.before.end - gap.before.arrival)
        else:
            required = 0.0 if is_same_session else rule.delay_after(busy[gap.before.connection])
        required = max(required, rule.crawl_delays.get(gap.server, 0.0))
        if gap.seconds < required - tolerance:
            found.append(Violation(gap, required))
    return found


def _busy_times(records: Iterable[Record]) -> dict[int, float]:
    """Connection -> seconds from its first request's arrival to its last response's end."""
    bounds: dict[int, tuple[float, float]] = {}
    for each in records:
        if each.kind == "request":
            first, last = bounds.get(each.connection, (each.arrival, each.end))
            bounds[each.connection] = min(first, each.arrival), max(last, each.end)
    return {connection: last - first for connection, (first, last) in bounds.items()}


def first_fetches(records: Iterable[Record]) -> list[Record]:
    """The first complete 200 of each page, ordered by end. O(n log n)."""
    seen = set()
    found = []
    for each in sorted(records, key=lambda each: each.end):
        if _is_fetch(each) and (each.server, each.page) not in seen:
            seen.add((each.server, each.page))
            found.append(each)
    return found


def fetches(records: Iterable[Record]) -> list[Record]:
    """Every complete 200 of a page, including repeated ones, in the order of the log. O(n)."""
    return [each for each in records if _is_fetch(each)]


def _is_fetch(record: Record) -> bool:
    return record.kind == "request" and record.status == 200 and record.page != ""


def duplicates(records: Iterable[Record]) -> dict[tuple[str, str], int]:
    """(server, page) -> times served with 200, for those served more than once. O(n)."""
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for each in records:
        if _is_fetch(each):
            counts[each.server, each.page] += 1
    return {page: count for page, count in counts.items() if count > 1}


def into_traps(records: Iterable[Record]) -> list[Record]:
    """Answered requests for pages generated by traps, and for pages served with 200 before. O(n log n)."""
    seen = set()
    found = []
    for each in requests_of(records):
        if "trap" in each.note.split(",") or (_is_fetch(each) and (each.server, each.page) in seen):
            found.append(each)
        elif _is_fetch(each):
            seen.add((each.server, each.page))
    return found


def page_numbers(records: Iterable[Record], web: Web) -> list[int]:
    """The pages of the web in these records. Raises `KeyError` if the log is of another web."""
    return [web.pages_by_path[web.servers_by_address[each.server]][each.page] for each in records]


def quality_over_time(records: Sequence[Record], web: Web) -> list[tuple[float, float]]:
    """(time, share of the quality of all expected pages fetched so far), a point per page. O(n log n).

    Counts only the first 200 of a page, and only pages that a crawl may fetch.
    """
    start, _ = span(records)
    expected = set(web.expected)
    total = sum(web.scores[page] for page in web.expected)
    collected = 0.0
    curve = []
    fetches = first_fetches(records)
    for each, page in zip(fetches, page_numbers(fetches, web), strict=True):
        if page in expected:
            collected += web.scores[page]
            curve.append((each.end - start, collected / total))
    return curve


def value_at(curve: Iterable[tuple[float, float]], time: float) -> float:
    """The height of a rising step curve at a time; 0 before its first step. O(n)."""
    return max((height for moment, height in curve if moment <= time), default=0.0)
