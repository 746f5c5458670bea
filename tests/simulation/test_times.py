"""How long servers and pages take."""

import numpy as np
import pytest

from crawlproject.simulation.times import HERITRIX, SYNTHETIC, TimeModel, draw_connects, draw_page_times, draw_speeds

SERVERS = 4000


@pytest.mark.parametrize("model", [SYNTHETIC, HERITRIX])
def test_equal_seeds_draw_equal_times_and_others_others(model: TimeModel) -> None:
    """All policies meet the same web."""
    first, again, other = (draw_speeds(model, 50, seed) for seed in (7, 7, 8))
    assert (first.think == again.think).all()
    assert (first.connect == again.connect).all()
    assert (first.bandwidth != other.bandwidth).all()


def test_heritrix_connects_as_browsers_saw_it() -> None:
    """Median 90 ms, nine in ten below 228 ms, the noise of single connections included."""
    speeds = draw_speeds(HERITRIX, SERVERS, 2)
    draws = draw_connects(speeds, np.full(SERVERS, 3), 1)
    assert np.quantile(draws, [0.5, 0.9]) == pytest.approx([0.090, 0.228], rel=0.05)


def test_heritrix_fetches_as_its_logs_say() -> None:
    """Times without bodies: exp(4.57) ms in the middle, spread 1.16 between servers and 1.1 within one."""
    speeds = draw_speeds(HERITRIX, SERVERS, 2)
    server = np.repeat(np.arange(SERVERS), 5)
    times = draw_page_times(HERITRIX, speeds, server, np.zeros(len(server)), 1)
    logs = np.log(times.fixed + times.thinking).reshape(SERVERS, 5)
    assert np.exp(logs.mean()) == pytest.approx(0.0966, rel=0.05)
    assert (logs - logs.mean(axis=1, keepdims=True)).std() * np.sqrt(5 / 4) == pytest.approx(1.1, rel=0.05)
    assert np.sqrt(logs.mean(axis=1).var() - 1.1**2 / 5) == pytest.approx(1.16, rel=0.05)


def test_heritrix_bodies_come_at_650_kilobytes_per_second() -> None:
    """650 kB take a second where bandwidth is the median."""
    speeds = draw_speeds(HERITRIX, SERVERS, 2)
    times = draw_page_times(HERITRIX, speeds, np.arange(SERVERS), np.full(SERVERS, 650e3), 1)
    assert np.median(times.fixed) == pytest.approx(1.0, rel=0.1)
