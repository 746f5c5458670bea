"""Settings of the whole process."""

import gc
from collections.abc import Iterator

import pytest

from crawlproject.download.cycles import LastingObjects, search_cycles_rarely


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


@pytest.mark.parametrize("default", [700, 2000])
def test_cycles_are_searched_for_rarely(default: int) -> None:
    """The thresholds of older objects stay."""
    gc.set_threshold(default, 11, 12)
    search_cycles_rarely()
    assert gc.get_threshold() == (10_000, 11, 12)


@pytest.mark.parametrize("own", [0, 100, 50_000])
def test_a_threshold_of_ones_own_stays(own: int) -> None:
    """Also 0, by which nothing is searched."""
    gc.set_threshold(own, 10, 10)
    search_cycles_rarely()
    assert gc.get_threshold()[0] == own


def test_what_a_crawl_keeps_is_not_searched_again() -> None:
    """A full search of the objects of 100,000 servers took 1.1 s of CPU; exempt objects are freed as others are.

    Python need not search first: with its thresholds raised, it does so when there are 400,000 objects.
    """
    gc.disable()
    gc.freeze()  # what other tests have left
    left = gc.get_freeze_count()
    servers: list[list[int]] = []
    lasting = LastingObjects(lambda: len(servers))
    try:
        most = 0
        lasting.open()
        for _ in range(10):
            servers += ([0] for _ in range(10_000))
            most = max(most, len(gc.get_objects()))
            lasting.look()
        assert gc.get_freeze_count() >= left + 70_000
        assert most < 60_000
        frozen = gc.get_freeze_count()
        lasting.look()  # the crawl has not grown
        assert gc.get_freeze_count() == frozen
        servers.clear()
        assert gc.get_freeze_count() <= frozen - 70_000
    finally:
        lasting.close()
    assert gc.get_freeze_count() == 0
