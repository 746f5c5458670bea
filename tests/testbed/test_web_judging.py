"""What the judges of a crawl by many workers find in records made by hand."""

from pathlib import Path

from testbed.web import (
    AccessLog,
    Fault,
    LogTail,
    PolitenessRule,
    Record,
    build_web,
    overlaps,
    politeness_violations,
    repeats,
    rule_of,
    unexplained_overlaps,
    unexplained_repeats,
)

from .browser import fast
from .records import A, B, closed, fetch, opened


def spans(records: list[Record]) -> list[tuple[int, int, float, float]]:
    """(first connection, second, start, end) of each overlap."""
    return [(each.first.number, each.second.number, each.start, each.end) for each in overlaps(records)]


def test_overlaps_are_pairs_of_open_connections() -> None:
    """1 is open from 0 to 5, 2 from 2 to 3, 3 from 4: 1 with 2 and with 3; another server has nothing to do with it."""
    records = [
        opened("s", 1, 0.0),
        opened("t", 9, 0.0),
        opened("s", 2, 2.0, B),
        closed("s", 2, 3.0),
        opened("s", 3, 4.0),
        closed("s", 1, 5.0),
    ]
    assert spans(records) == [(1, 2, 2.0, 3.0), (1, 3, 4.0, 5.0)]
    found = overlaps(records)
    assert (found[0].first.client, found[0].second.client, found[0].seconds) == (A, B, 1.0)


def test_connection_that_never_closes_is_open_to_the_end_of_the_log() -> None:
    """The last request ends at 9."""
    records = [opened("s", 1, 0.0), opened("s", 2, 2.0), fetch("s", 2, 3.0, 9.0)]
    assert spans(records) == [(1, 2, 2.0, 9.0)]


def test_overlap_with_a_paused_workers_connection_is_explained() -> None:
    """A is paused from 1 to 6, and closes at 7; an overlap that begins before, or with B's connection, is not."""
    records = [opened("s", 1, 0.0, A), opened("s", 2, 5.0, B), closed("s", 1, 7.0), opened("s", 3, 8.0, A)]
    records.append(closed("s", 3, 9.0))
    pause = Fault("pause", 1.0, 6.0, A)
    assert [each.second.number for each in overlaps(records)] == [2, 3]
    assert [each.second.number for each in unexplained_overlaps(records, [pause], after=1.0)] == [3]
    assert unexplained_overlaps(records, [Fault("pause", 1.0, 6.0, B)]) == overlaps(records)
    assert unexplained_overlaps(records, [Fault("pause", 6.0, 7.0, A)], after=1.0) == overlaps(records)


def test_repeats_name_the_fetch_before() -> None:
    """Fetched three times: two repeats, each with the one before it; errors and other servers do not count."""
    records = [
        fetch("s", 1, 0.0, 1.0),
        fetch("t", 2, 0.5, 1.0),
        fetch("s", 3, 2.0, 3.0)._replace(status=500),
        fetch("s", 5, 6.0, 7.0),
        fetch("s", 4, 4.0, 5.0),
    ]
    assert [(each.before.connection, each.again.connection) for each in repeats(records)] == [(1, 4), (4, 5)]
    assert {each.page for each in repeats(records)} == {("s", "/")}


def test_repeat_is_explained_by_a_fault_of_its_worker() -> None:
    """Fetched by A until 10: a fault of A, or of all, at 12 explains it if two seconds may be unconfirmed."""
    records = [opened("s", 1, 8.0, A), fetch("s", 1, 8.0, 10.0), opened("s", 2, 20.0, B), fetch("s", 2, 20.0, 21.0)]

    def unexplained(fault: Fault, before: float, after: float = 0.0) -> int:
        return len(unexplained_repeats(records, [fault], before, after))

    assert unexplained(Fault("kill", 12.0, 12.0, A), before=2.0) == 0
    assert unexplained(Fault("kill", 12.0, 12.0, A), before=1.9) == 1
    assert unexplained(Fault("kill", 12.0, 12.0, B), before=2.0) == 1
    assert unexplained(Fault("redis-kill", 12.0, 15.0), before=2.0) == 0
    assert unexplained(Fault("pause", 9.0, 30.0, A), before=0.0) == 0
    assert unexplained(Fault("pause", 1.0, 7.0, A), before=9.0) == 1
    assert unexplained(Fault("pause", 1.0, 7.0, A), before=9.0, after=1.0) == 0


def test_waits_are_judged_across_workers() -> None:
    """A's session took 2 s: by a factor of 3, B must wait 6 s and waits 5."""
    records = [opened("s", 1, 0.0, A), fetch("s", 1, 0.0, 2.0), opened("s", 2, 7.0, B), fetch("s", 2, 7.0, 8.0, "/x")]
    web = build_web(fast())
    settings = {
        "FRONTIER_POLITENESS": "session",
        "FRONTIER_DELAY_FACTOR": "3",
        "FRONTIER_MIN_DELAY": 0,
        "FRONTIER_MAX_DELAY": 60,
    }
    rule = rule_of(settings, web)
    assert rule == PolitenessRule("session", 3.0, 0.0, 60.0)
    assert [(each.gap.seconds, each.required) for each in politeness_violations(records, rule)] == [(5.0, 6.0)]
    assert politeness_violations(records, rule, tolerance=1.0) == []


def test_tail_of_a_log_reads_each_record_once(tmp_path: Path) -> None:
    """Complete lines only; nothing while there is no file."""
    tail = LogTail(tmp_path / "log.tsv")
    assert tail.read() == []
    log = AccessLog(tmp_path / "log.tsv")
    log.open(fast(), 8000)
    first, second = opened("s", 1, 0.5), fetch("s", 1, 1.0, 2.0, "/\xe9")
    log.add(first)
    log.flush()
    assert tail.read() == [first]
    log.add(second)
    log.flush()
    with (tmp_path / "log.tsv").open("a") as file:
        file.write("close\ts")
    assert tail.read() == [second]
    assert tail.read() == []
    log.close()
