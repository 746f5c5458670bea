"""A limit that several workers share."""

import pytest

from crawlproject.workers.lease import LimitShare


@pytest.mark.parametrize("speeds", [(10,), (10, 10), (50, 1), (20, 0, 0, 0), (5, 5, 100, 0)])
def test_workers_spend_the_budget_together(speeds: tuple[int, ...]) -> None:
    """Pages per beat; one with nothing to fetch leaves its part to the others, within a few beats."""
    shares, own = [LimitShare() for _ in speeds], [0.0 for _ in speeds]
    beats = 0
    while (total := sum(own)) < 1000:
        limits = [share.limit(1000, pages, total, len(speeds)) for share, pages in zip(shares, own, strict=True)]
        for worker, speed in enumerate(speeds):
            while speed and own[worker] < limits[worker] and speed > 0:
                own[worker] += 1
                speed -= 1
        beats += 1
    assert 1000 <= sum(own) <= 1000 + sorted(speeds)[-2 if len(speeds) > 1 else 0] + len(speeds)
    assert beats <= 1.2 * 1000 / sum(speeds) + 12


def test_a_spent_budget_leaves_nothing() -> None:
    """Also if it is lowered, or was exceeded."""
    share = LimitShare()
    assert share.limit(100, 30, 100, 2) == 30
    assert share.limit(100, 30, 120, 2) == 30
