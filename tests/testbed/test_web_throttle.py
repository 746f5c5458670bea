"""429 and Retry-After, on a clock made by hand."""

from __future__ import annotations

from testbed.web.live import Refusal, Throttle


def test_window_in_seconds() -> None:
    """Opened at 100 for 3 s: a request at 102 comes too early, one at 103 is answered, and so are all later."""
    throttle = Throttle("seconds", 3)
    assert throttle.refuse(100.0, 0.0) == Refusal("3", is_violation=False)
    assert throttle.refuse(102.0, 2.0) == Refusal("1", is_violation=True)
    assert throttle.refuse(103.0, 3.0) is None
    assert throttle.refuse(103.1, 3.1) is None


def test_window_until_a_date() -> None:
    """Opened at 0.25 s of the epoch for 3 s: the date is rounded up to 4 s, 3.75 s later."""
    throttle = Throttle("date", 3)
    date = "Thu, 01 Jan 1970 00:00:04 GMT"
    assert throttle.refuse(100.0, 0.25) == Refusal(date, is_violation=False)
    assert throttle.refuse(103.5, 3.75) == Refusal(date, is_violation=True)
    assert throttle.refuse(103.75, 4.0) is None


def test_window_is_open_only_after_the_first_request() -> None:
    """Before it nobody has been told to wait."""
    throttle = Throttle("seconds", 3)
    assert not throttle.is_closed(100.0)
    throttle.refuse(100.0, 0.0)
    assert throttle.is_closed(101.0)
    assert not throttle.is_closed(103.0)
