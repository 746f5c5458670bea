"""Fields that are no longer found: told once, by numbers, with the past of earlier crawls."""

from __future__ import annotations

import random

import pytest

from crawlproject.records.drift import MIN_PAGES, Drift, Fall


def crawl(drift: Drift, pages: int, share: float, field: str = "f") -> list[Fall]:
    """Pages of which a share has the field, evenly."""
    falls = []
    for number in range(pages):
        has = int((number + 1) * share) > int(number * share)
        falls += drift.page("s", "r", [field], {field} if has else set())
    return falls


def test_field_that_disappears_is_told_once() -> None:
    """During the crawl; what is after the fall does not become the past."""
    drift = Drift()
    assert crawl(drift, 300, 1.0) == []
    assert crawl(drift, 300, 0.0) == [Fall("s", "r", "f", 1.0, 0.0, MIN_PAGES)]
    assert [*drift.end()] == []
    assert drift.past_rows() == [("s", "r", "f", 300.0, 300.0)]


def test_field_that_comes_back_can_fall_again() -> None:
    drift = Drift()
    falls = [fall for share in (1.0, 0.0, 1.0, 0.0) for fall in crawl(drift, 200, share)]
    assert len(falls) == 2


def test_next_crawl_is_compared_with_the_past() -> None:
    """By its state, however small the site is; half of the past share is no fall, less is."""
    first = Drift()
    crawl(first, 30, 1.0)
    assert [*first.end()] == []
    for share, told in ((1.0, 0), (0.5, 0), (0.4, 1), (0.0, 1)):
        later = Drift.from_state(first.to_state())
        assert crawl(later, 20, share) == []
        assert len([*later.end()]) == told, share


@pytest.mark.parametrize("share", [1.0, 0.9, 0.5, 0.1, 0.02])
def test_chance_is_no_drift(share: float) -> None:
    """Pages with and without the field in random order: no false alarm in 200,000."""
    draw, drift = random.Random(5).random, Drift()
    falls = []
    for _ in range(40):
        for _ in range(1_000):
            falls += drift.page("s", "r", ["f"], {"f"} if draw() < share else set())
        falls += drift.end()
    assert falls == []


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_fall_to_a_third_is_found(share: float) -> None:
    draw, drift = random.Random(5).random, Drift()
    for _ in range(2_000):
        assert not [*drift.page("s", "r", ["f"], {"f"} if draw() < share else set())]
    falls = [fall for _ in range(2_000) for fall in drift.page("s", "r", ["f"], {"f"} if draw() < share / 3 else set())]
    assert len(falls) >= 1


@pytest.mark.parametrize("state", [None, {}, {"version": 9}, {"version": 1, "shares": [[1]]}, {"version": 1}])
def test_state_of_no_sense_is_refused(state: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        Drift.from_state(state)
