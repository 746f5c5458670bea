"""The lease: who may start a request, and who may be buried. A lease of 15 s with a margin of 3 s throughout."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.workers.lease import GRACE, Lease, is_buried

LENGTH, MARGIN = 15.0, 3.0


def lease(*beats: float) -> Lease:
    result = Lease(LENGTH, MARGIN)
    for at in beats:
        result.beat_sent(at)
        result.beat_confirmed(at)
    return result


def test_no_lease_before_the_first_beat() -> None:
    new = Lease(LENGTH, MARGIN)
    new.beat_sent(100.0)
    assert not new.may_start(100.0)
    assert new.until == -inf


def test_lease_counts_from_before_the_beat() -> None:
    one = lease(100.0)
    assert [one.may_start(now) for now in (100.0, 111.9, 112.0, 120.0)] == [True, True, False, False]
    assert one.until == 115.0


def test_beat_without_a_reply_renews_nothing() -> None:
    one = lease(100.0)
    one.beat_sent(110.0)
    assert one.until == 115.0
    one.beat_confirmed(110.0)  # the reply comes late
    assert one.until == 125.0


def test_late_reply_of_an_older_beat() -> None:
    one = Lease(LENGTH, MARGIN)
    for at in (100.0, 101.0):
        one.beat_sent(at)
    one.beat_confirmed(101.0)
    one.beat_confirmed(100.0)
    assert one.until == 116.0


def test_reply_to_a_beat_that_was_not_sent() -> None:
    with pytest.raises(ValueError, match="beat of 101"):
        lease(100.0).beat_confirmed(101.0)


@pytest.mark.parametrize("margin", [-1.0, 15.0])
def test_margin_is_part_of_the_lease(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        Lease(LENGTH, margin)


def test_buried_after_the_grace() -> None:
    assert not is_buried(until=115.0, now=117.0, redis_up_since=0.0, length=LENGTH)
    assert is_buried(until=115.0, now=117.1, redis_up_since=0.0, length=LENGTH)


def test_nobody_is_buried_soon_after_redis_is_back() -> None:
    assert not is_buried(until=50.0, now=114.9, redis_up_since=100.0, length=LENGTH)
    assert is_buried(until=50.0, now=115.0, redis_up_since=100.0, length=LENGTH)


@given(st.floats(0, 1000), st.floats(0, 10), st.floats(0, 100), st.floats(-1000, 1000))
def test_worker_stops_before_it_is_buried(sent: float, delay: float, later: float, offset: float) -> None:
    """However long the beat took, and whatever the difference of the clocks."""
    received = sent + delay  # when Redis sets the end of the lease
    now = received + later
    own = lease(sent)
    if is_buried(received + LENGTH + offset, now + offset, offset - 1e6, LENGTH):
        assert own.until <= now
        assert not own.may_start(now)
    assert GRACE > 0
