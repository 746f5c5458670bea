"""What the analysis finds in records made by hand; the arithmetic is beside each."""

import pytest

from testbed.web import (
    PolitenessRule,
    Record,
    Violation,
    build_web,
    duplicates,
    gaps,
    into_traps,
    politeness_violations,
    quality_over_time,
    value_at,
)

from .browser import fast
from .records import fetch, opened


def robots(server: str, connection: int, arrival: float, end: float) -> Record:
    return fetch(server, connection, arrival, end)._replace(page="", target="/robots.txt", note="robots")


def seconds(violations: list[Violation]) -> list[tuple[float, float]]:
    """(gap, required) of each violation."""
    return [(each.gap.seconds, each.required) for each in violations]


# A polite crawl of one server by the rule of 2 x the last request: 1 s, wait 2, 2 s, wait 4, .5 s.
POLITE = [fetch("a", 1, 0.0, 1.0), fetch("a", 1, 3.0, 5.0, "/x"), fetch("a", 2, 9.0, 9.5, "/y")]

# Two sessions of one server, busy from 0 to 3 and from 9 to 10: 6 s apart, 2 x 3 s.
SESSIONS = [fetch("a", 1, 0.0, 1.0), fetch("a", 1, 1.0, 3.0), fetch("a", 2, 9.0, 10.0)]


def test_gaps_lie_between_end_and_arrival() -> None:
    """Per server: 3 - 1 and 9 - 5; another server's request in between changes nothing."""
    assert [gap.seconds for gap in gaps([fetch("b", 5, 2.0, 8.0), *reversed(POLITE)])] == [2.0, 4.0]


def test_hasty_request_is_a_violation() -> None:
    """With factor 2.5 the waits should be 2.5 and 5; a tolerance of .5 forgives the first, of 1 both."""
    rule = PolitenessRule("request", factor=2.5)
    assert seconds(politeness_violations(POLITE, rule)) == [(2.0, 2.5), (4.0, 5.0)]
    assert seconds(politeness_violations(POLITE, rule, tolerance=0.5)) == [(4.0, 5.0)]
    assert politeness_violations(POLITE, rule, tolerance=1.0) == []


def test_delay_is_bounded_on_both_sides() -> None:
    """Factor 2.5 bounded by 4 asks for 2.5 and 4; no factor but at least 3 asks for 3 and 3."""
    assert seconds(politeness_violations(POLITE, PolitenessRule("request", 2.5, max_delay=4.0))) == [(2.0, 2.5)]
    assert seconds(politeness_violations(POLITE, PolitenessRule("request", 0.0, min_delay=3.0))) == [(2.0, 3.0)]


def test_short_rest_between_sessions_is_a_violation() -> None:
    """Factor 2.1 asks for 2.1 x 3 = 6.3 s."""
    (found,) = politeness_violations(SESSIONS, PolitenessRule("session", 2.1))
    assert found.gap.seconds == 6.0
    assert found.required == pytest.approx(6.3)


def test_overlapping_sessions_are_a_violation() -> None:
    """A second connection that starts before the first has ended leaves a negative gap."""
    parallel = [fetch("a", 1, 0.0, 3.0), fetch("a", 2, 2.0, 4.0)]
    assert seconds(politeness_violations(parallel, PolitenessRule("session", 0.0))) == [(-1.0, 0.0)]


@pytest.mark.parametrize("mode", ["request", "session"])
def test_crawl_delay_holds_for_every_gap(mode: str) -> None:
    """A Crawl-delay of 5 s binds server a, within a session too (0 s and 6 s), and not server b."""
    rule = PolitenessRule(mode, 0.0, crawl_delays={"a": 5.0})
    others = [each._replace(server="b", connection=7) for each in SESSIONS]
    assert seconds(politeness_violations(SESSIONS + others, rule)) == [(0.0, 5.0)]


def test_duplicates_are_pages_served_again() -> None:
    """Only a second 200 of the same page counts: not robots.txt, not an error, not another server's page."""
    error = fetch("a", 1, 4.0, 5.0, "/x")._replace(status=500)
    records = [
        *POLITE,
        fetch("a", 3, 20.0, 21.0, "/y"),
        fetch("b", 4, 0.0, 1.0),
        error,
        *[robots("a", 1, 0.0, 1.0)] * 2,
    ]
    assert duplicates(records) == {("a", "/y"): 2}


def test_quality_counts_each_page_once() -> None:
    """Time runs from the first record (5 s); pages 0, 1, 0 again, 2: three points, the shares of the sum of all."""
    web = build_web(fast(servers=1, pages=4, seed_count=1, quality="zipf"))
    pages = [(6.0, 0), (7.0, 1), (8.0, 0), (9.0, 2)]
    records = [opened("127.1.0.1", 1, 5.0), *[fetch("127.1.0.1", 1, end - 0.5, end, web.paths[p]) for end, p in pages]]
    worth = web.scores  # sums to 1
    curve = quality_over_time(records, web)
    assert [time for time, _ in curve] == [1.0, 2.0, 4.0]
    assert [share for _, share in curve] == pytest.approx([worth[0], worth[0] + worth[1], 1 - worth[3]])
    assert value_at(curve, 3.9) == pytest.approx(worth[0] + worth[1])
    assert value_at(curve, 0.9) == 0


def test_requests_into_traps() -> None:
    """What a trap made up, and pages that had been served before; not what failed."""
    records = [
        fetch("a", 1, 0.0, 1.0, "/x"),
        fetch("a", 1, 1.0, 2.0, "/x")._replace(status=500),
        fetch("a", 1, 2.0, 3.0, "/x"),
        fetch("a", 1, 3.0, 4.0, "/made/up")._replace(page="", note="trap"),
        robots("a", 1, 4.0, 5.0),
        fetch("b", 2, 5.0, 6.0, "/x"),
    ]
    assert [record.arrival for record in into_traps(records)] == [2.0, 3.0]
