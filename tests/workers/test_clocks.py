"""Whether Redis's clock was set, by the answers to beats: each may have taken some time."""

import pytest

from crawlproject.workers.lease import RedisClock


def followed(*beats: tuple[float, float, float]) -> float:
    """After ``beats``: what Redis showed, when it was asked, and when it had answered."""
    clock = RedisClock()
    return [clock.follow(*beat) for beat in beats][-1]


@pytest.mark.parametrize(
    ("beat", "step"),
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
def test_the_clock_was_set(beat: tuple[float, float, float], step: float) -> None:
    assert followed((1000.0, 0.0, 0.1), beat) == pytest.approx(step)


def test_the_first_beat_tells_nothing() -> None:
    assert followed((1000.0, 0.0, 0.1)) == 0.0


def test_a_step_is_told_once() -> None:
    assert followed((1000.0, 0.0, 0.1), (4601.0, 1.0, 1.1), (4602.0, 2.0, 2.1)) == 0.0
