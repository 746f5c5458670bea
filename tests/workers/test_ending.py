"""The end of a crawl by many workers: two equal looks that find nothing."""

import pytest

from crawlproject.workers.ending import PartitionState, Scan, has_ended

QUIET = PartitionState(run_id="r", owner="a", epoch=1, seq=10, stored=0, inbox=0)
EMPTY = Scan((QUIET, QUIET._replace(owner="b")), frozenset("ab"), {"a": False, "b": False}, "3 x", {"a", "b"})


def with_state(**changes: object) -> Scan:
    """``EMPTY`` with another second partition."""
    return EMPTY._replace(partitions=(QUIET, EMPTY.partitions[1]._replace(**changes)))


def looks(*scans: Scan) -> list[bool]:
    return [has_ended(last, scan) for last, scan in zip([None, *scans], scans, strict=False)]


def test_two_equal_looks() -> None:
    assert looks(EMPTY, EMPTY._replace()) == [False, True]


@pytest.mark.parametrize(
    "scan",
    [
        with_state(stored=1),
        with_state(inbox=1),
        with_state(owner="gone"),  # not alive, and not buried yet
        EMPTY._replace(busy={"a": False, "b": True}),
        EMPTY._replace(busy={"a": False}),  # nothing is known of b
        EMPTY._replace(partitions=()),
        EMPTY._replace(mark="4 y", obeying={"a"}),  # b may have URLs of servers that were unblocked
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
        EMPTY._replace(live=frozenset("abc"), busy={"a": False, "b": False, "c": False}, obeying={"a", "b", "c"}),
        EMPTY._replace(mark="4 y"),  # the operator has acted
    ],
)
def test_something_has_changed(scan: Scan) -> None:
    assert looks(EMPTY, scan, scan) == [False, False, True]


def test_partition_that_nobody_ever_took() -> None:
    assert looks(with_state(owner="", seq=0), with_state(owner="", seq=0)) == [False, True]


def test_url_that_moves_behind_the_look() -> None:
    """A URL is in partition 2 while the first is read, and in 1 when the second is read."""
    first = EMPTY._replace(partitions=(QUIET, QUIET._replace(owner="b", seq=11)))  # b has sent it, a not yet read it
    second = EMPTY._replace(partitions=(QUIET._replace(seq=11), QUIET._replace(owner="b", seq=11)))  # fetched
    assert looks(first, second, second) == [False, False, True]
