"""When fewer sessions are opened, and what the settings of the monitor may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.monitor.load import Throttle


@pytest.mark.parametrize(
    ("max_lag", "max_memory", "looks", "wanted"),
    [
        (1.0, 0, [(1.1, 0)] * 6, [8, 4, 2, 1, 1, 1]),  # from the second bad look on, down to one session
        (1.0, 0, [(9.0, 0), (0.0, 0)] * 2, [8] * 4),  # a single long callback changes nothing
        (1.0, 0, [(2.0, 0)] * 2 + [(0.6, 0), (0.9, 0)], [8, 4, 4, 4]),  # between half of what is allowed and all of it
        (1.0, 1000, [(0.0, 1001)] * 3 + [(0.0, 950), (0.0, 899)], [8, 4, 2, 2, 3]),  # memory counts as lag does
        (0.0, 0, [(99.0, 10**12)] * 4, [8] * 4),  # no bounds
    ],
)
def test_the_limit(max_lag: float, max_memory: int, looks: list[tuple[float, int]], wanted: list[int]) -> None:
    """Halved while the loop lags or memory is short; each good look gives back a sixteenth of all, rounded up."""
    throttle = Throttle(8, max_lag, max_memory)
    assert [throttle.look(lag, memory) for lag, memory in looks] == wanted


@given(st.integers(1, 300), st.lists(st.floats(0, 5)))
def test_limit_is_always_between_one_and_all(full: int, lags: list[float]) -> None:
    """And after 16 good looks it is all."""
    throttle = Throttle(full, 1.0, 0)
    assert all(1 <= limit <= full for limit in [throttle.look(lag, 0) for lag in lags])
    assert [throttle.look(0.0, 0) for _ in range(16)][-1] == full
