"""What an access log proves: connections, politeness, duplicates and the quality collected. Pure functions on records.

Points in time are given in seconds since the first record.
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
    """What lies between two requests to one server."""

    server: str
    seconds: float
    """From the end of the earlier response to the arrival of the later request; negative where they overlap."""
    before: Record
    after: Record


class Violation(NamedTuple):
    """A gap that is shorter than politeness asks for."""

    gap: Gap
    required: float
    """Seconds that it should have lasted."""


@dataclass(frozen=True)
class PolitenessRule:
    """How long a server must be left alone, in seconds.

    `request` (Mercator): after each response `factor` times what it took. `session` (Cao 2003): after a connection
    `factor` times its busy time, from its first request to the end of its last response; within it nothing. Both
    bounded by min_delay and max_delay. Crawl delays (address -> seconds) hold between any two requests.
    """

    mode: str = "request"
    factor: float = 10.0
    min_delay: float = 0.0
    max_delay: float = math.inf
    crawl_delays: Mapping[str, float] = field(default_factory=dict)
    counts_robots: bool = True
    """False: requests for robots.txt are left out, as if they had not been made."""

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
    """(time, +1 or -1, server) in order; of the same moment the closings first."""
    return sorted(
        (each.arrival, 1 if each.kind == "open" else -1, each.server) for each in records if each.kind != "request"
    )


def max_open_connections(records: Iterable[Record]) -> int:
    """The most connections that were open at once, to all servers together. O(n log n)."""
    count = highest = 0
    for _, step, _ in _connection_steps(records):
        count += step
        highest = max(highest, count)
    return highest


def parallel_connections(records: Iterable[Record]) -> dict[str, int]:
    """Server -> the most connections to it that were open at once; 1 for a polite crawler. O(n log n)."""
    counts: defaultdict[str, int] = defaultdict(int)
    highest: defaultdict[str, int] = defaultdict(int)
    for _, step, server in _connection_steps(records):
        counts[server] += step
        highest[server] = max(highest[server], counts[server])
    return dict(highest)


def gaps(records: Iterable[Record]) -> list[Gap]:
    """Every gap between a request and the one before it on the same server, by arrival. O(n log n).

    "Before" is the request whose response ended last among those that arrived earlier.
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


def politeness_violations(records: Iterable[Record], rule: PolitenessRule, tolerance: float = 0.0) -> list[Violation]:
    """Every gap that is shorter than the rule asks for by more than `tolerance` seconds. O(n log n)."""
    counted = [each for each in records if rule.counts_robots or "robots" not in each.note.split(",")]
    busy = _busy_times(counted)
    found = []
    for gap in gaps(counted):
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


def busy_share(records: Sequence[Record], sessions: int, until: float) -> float:
    """Mean number of open connections from the first record until then, divided by `sessions`. O(n log n)."""
    start, _ = span(records)
    area, count, now = 0.0, 0, 0.0
    for moment, step, _ in _connection_steps(records):
        time = min(until, moment - start)
        area += count * (time - now)
        count, now = count + step, time
    return (area + count * (until - now)) / (until * sessions) if until > 0 else 0.0


def first_fetches(records: Iterable[Record]) -> list[Record]:
    """The first complete 200 of each page, by its end. O(n log n)."""
    seen = set()
    found = []
    for each in sorted(records, key=lambda each: each.end):
        if _is_fetch(each) and (each.server, each.page) not in seen:
            seen.add((each.server, each.page))
            found.append(each)
    return found


def fetches(records: Iterable[Record]) -> list[Record]:
    """Every complete 200 of a page, repeated ones included, in the order of the log. O(n)."""
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
    """The answered requests for what a trap made up, and for pages that had been served with 200 before. O(n log n)."""
    seen = set()
    found = []
    for each in requests_of(records):
        if "trap" in each.note.split(",") or (_is_fetch(each) and (each.server, each.page) in seen):
            found.append(each)
        elif _is_fetch(each):
            seen.add((each.server, each.page))
    return found


def page_numbers(records: Iterable[Record], web: Web) -> list[int]:
    """The pages of the web behind these records. Raises `KeyError` where the log is of another web."""
    return [web.pages_by_path[web.servers_by_address[each.server]][each.page] for each in records]


def quality_over_time(records: Sequence[Record], web: Web) -> list[tuple[float, float]]:
    """(time, share of the quality of all expected pages fetched by then), a point per page. O(n log n).

    Only the first 200 of a page counts, and only of pages that a crawl may fetch.
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
    """The height of a curve of rising steps at a time; 0 before its first. O(n)."""
    return max((height for moment, height in curve if moment <= time), default=0.0)
