"""The lease: who may start a request, and who may be buried; Redis's clock; shares of the crawl's limits."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.workers.lease import GRACE, Lease, LimitShare, RedisClock, is_buried

#: Seconds.
LENGTH, MARGIN = 15.0, 3.0


def lease(*beats: float) -> Lease:
    result = Lease(LENGTH, MARGIN)
    for at in beats:
        result.beat_confirmed(at)
    return result


def test_lease_counts_from_before_the_last_beat_that_was_confirmed() -> None:
    """Replies may come in any order; without one there is no lease."""
    assert (lease().may_start(100.0), lease().until) == (False, -inf)
    one = lease(100.0)
    assert [one.may_start(now) for now in (100.0, 111.9, 112.0, 120.0)] == [True, True, False, False]
    assert one.until == 115.0
    assert lease(101.0, 100.0).until == 116.0


@pytest.mark.parametrize(
    ("until", "now", "redis_up_since", "expected"),
    [
        (115.0, 117.0, 0.0, False),
        (115.0, 117.1, 0.0, True),
        (50.0, 114.9, 100.0, False),  # Redis was away: nobody could renew a lease
        (50.0, 115.0, 100.0, True),
    ],
)
def test_buried_after_the_grace(until: float, now: float, redis_up_since: float, expected: bool) -> None:
    assert is_buried(until, now, redis_up_since, LENGTH) == expected


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


@pytest.mark.parametrize(
    ("beat", "step"),  # what Redis showed, when it was asked, and when it had answered
    [
        ((1001.0, 1.0, 1.1), 0.0),
        ((1001.0, 1.0, 9.0), 0.0),  # the answer was under way for long
        ((1009.0, 1.0, 9.0), 0.0),  # or the question
        ((1001.9, 1.0, 1.1), 0.0),  # clocks run at different speeds
        ((4601.0, 1.0, 1.1), 3599.9),
        ((-2599.0, 1.0, 1.1), -3599.9),
        ((1019.0, 1.0, 9.0), 10.0),  # at least
    ],
)
def test_redis_s_clock_was_set(beat: tuple[float, float, float], step: float) -> None:
    """The first beat tells nothing, and a step is told once."""
    clock = RedisClock()
    assert clock.follow(1000.0, 0.0, 0.1) == 0.0
    assert clock.follow(*beat) == pytest.approx(step)
    shown, sent, received = beat
    assert clock.follow(shown + 1.0, sent + 1.0, received + 1.0) == 0.0


@pytest.mark.parametrize("speeds", [(10,), (10, 10), (50, 1), (20, 0, 0, 0), (5, 5, 100, 0)])
def test_workers_spend_a_limit_together(speeds: tuple[int, ...]) -> None:
    """Pages per beat; one with nothing to fetch leaves its part to the others, within a few beats."""
    shares, own = [LimitShare() for _ in speeds], [0.0 for _ in speeds]
    beats = 0
    while (total := sum(own)) < 1000:
        limits = [share.limit(1000, pages, total, len(speeds)) for share, pages in zip(shares, own, strict=True)]
        for worker, speed in enumerate(speeds):
            own[worker] = min(own[worker] + speed, max(own[worker], -(-limits[worker] // 1)))
        beats += 1
    assert 1000 <= sum(own) <= 1000 + sorted(speeds)[-2 if len(speeds) > 1 else 0] + len(speeds)
    assert beats <= 1.2 * 1000 / sum(speeds) + 12


def test_a_spent_limit_leaves_nothing() -> None:
    """Also if it is lowered, or was exceeded."""
    share = LimitShare()
    assert share.limit(100, 30, 100, 2) == 30
    assert share.limit(100, 30, 120, 2) == 30
