"""Settings of the whole process."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from crawlproject.download.process_memory import search_cycles_rarely

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


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
