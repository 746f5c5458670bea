"""The end of a crawl by many workers: two equal looks that find nothing."""

from dataclasses import replace

import pytest

from crawlproject.workers.ending import EndDetector, PartitionState, Scan

QUIET = PartitionState(run_id="r", owner="a", epoch=1, seq=10, stored=0, inbox=0)
EMPTY = Scan((QUIET, QUIET._replace(owner="b")), frozenset("ab"), {"a": False, "b": False}, False, "3 x", {"a", "b"})


def with_state(**changes: object) -> Scan:
    """``EMPTY`` with another second partition."""
    return replace(EMPTY, partitions=(QUIET, EMPTY.partitions[1]._replace(**changes)))


def looks(*scans: Scan) -> list[bool]:
    detector = EndDetector()
    return [detector.look(scan) for scan in scans]


def test_two_equal_looks() -> None:
    assert looks(EMPTY, replace(EMPTY)) == [False, True]


@pytest.mark.parametrize(
    "scan",
    [
        with_state(stored=1),
        with_state(inbox=1),
        with_state(owner="gone"),  # not alive, and not buried yet
        replace(EMPTY, busy={"a": False, "b": True}),
        replace(EMPTY, busy={"a": False}),  # nothing is known of b
        replace(EMPTY, start_urls=True),
        replace(EMPTY, partitions=()),
        replace(EMPTY, mark="4 y", obeying={"a"}),  # b may have URLs of servers that were unblocked
    ],
)
def test_something_is_left(scan: Scan) -> None:
    assert looks(scan, scan, scan) == [False] * 3
    assert looks(EMPTY, scan, EMPTY, EMPTY) == [False, False, False, True]


@pytest.mark.parametrize(
    "scan",
    [
        with_state(seq=11),  # a URL came and went between the looks
        with_state(epoch=2),
        with_state(run_id="s"),  # Redis was restarted
        with_state(owner="a"),
        with_state(owner=""),
        replace(EMPTY, live=frozenset("abc"), busy={"a": False, "b": False, "c": False}, obeying={"a", "b", "c"}),
        replace(EMPTY, mark="4 y"),  # the operator has acted
    ],
)
def test_something_has_changed(scan: Scan) -> None:
    assert looks(EMPTY, scan, scan) == [False, False, True]


def test_partition_that_nobody_ever_took() -> None:
    assert looks(with_state(owner="", seq=0), with_state(owner="", seq=0)) == [False, True]


def test_url_that_moves_behind_the_look() -> None:
    """A URL is in partition 2 while the first is read, and in 1 when the second is read."""
    first = replace(EMPTY, partitions=(QUIET, QUIET._replace(owner="b", seq=11)))  # b has sent it, a not yet read it
    second = replace(EMPTY, partitions=(QUIET._replace(seq=11), QUIET._replace(owner="b", seq=11)))  # fetched
    assert looks(first, second, second) == [False, False, True]
