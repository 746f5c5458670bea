"""When fewer sessions are opened, and what the settings of the monitor may be."""

from hypothesis import given
from hypothesis import strategies as st

from crawlproject.monitor.load import Throttle


def limits(throttle: Throttle, *lags: float, memory: int = 0) -> list[int]:
    return [throttle.look(lag, memory) for lag in lags]


def test_limit_is_halved_while_the_loop_lags() -> None:
    """From the second bad look on, down to one session."""
    assert limits(Throttle(8, 1.0, 0), *[1.1] * 6) == [8, 4, 2, 1, 1, 1]


def test_one_bad_look_is_none() -> None:
    """A single long callback changes nothing."""
    assert limits(Throttle(8, 1.0, 0), 9.0, 0.0, 9.0, 0.0, 9.0) == [8] * 5


def test_limit_grows_step_by_step() -> None:
    """By a sixteenth of all, rounded up."""
    throttle = Throttle(64, 1.0, 0)
    limits(throttle, *[2.0] * 10)
    assert limits(throttle, *[0.1] * 17) == [*range(5, 65, 4), 64, 64]


def test_limit_stays_between_the_bounds() -> None:
    """A lag between half of what is allowed and all of it: neither lower nor higher."""
    throttle = Throttle(8, 1.0, 0)
    limits(throttle, 2.0, 2.0)
    assert limits(throttle, 0.6, 0.9, 0.6) == [4, 4, 4]


def test_memory_counts_as_lag_does() -> None:
    """Too much, nearly too much, little."""
    throttle = Throttle(8, 1.0, 1000)
    assert limits(throttle, 0.0, 0.0, 0.0, memory=1001) == [8, 4, 2]
    assert limits(throttle, 0.0, memory=950) == [2]
    assert limits(throttle, 0.0, memory=899) == [3]


def test_without_bounds_nothing_is_throttled() -> None:
    """0 = no limit, of both."""
    assert limits(Throttle(8, 0.0, 0), *[99.0] * 4, memory=10**12) == [8] * 4


@given(st.integers(1, 300), st.lists(st.floats(0, 5)))
def test_limit_is_always_between_one_and_all(full: int, lags: list[float]) -> None:
    """And after 16 good looks it is all."""
    throttle = Throttle(full, 1.0, 0)
    assert all(1 <= limit <= full for limit in limits(throttle, *lags))
    assert limits(throttle, *[0.0] * 16)[-1] == full
