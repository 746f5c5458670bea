"""Estimates of page quality."""

import pytest

from crawlproject.frontier.quality import (
    QUALITIES,
    InLinks,
    Opic,
    PartialPageRank,
    ZipfQuality,
    link_gains,
)


def test_in_links_count_other_servers_twice() -> None:
    """A page's worth counts the pages that link to it, independent of their worth."""
    assert link_gains(InLinks(), 7.0, 30) == (1.0, 2.0)


def test_opic_hands_all_cash_on() -> None:
    """In equal parts; a page without links keeps its cash."""
    quality = Opic()
    assert quality.quality("http://a.example/", 0) == 1.0
    assert link_gains(quality, 1.0, 4) == (0.25, 0.25)
    assert link_gains(quality, 1.0, 0) == (0.0, 0.0)


def test_partial_pagerank_on_a_chain() -> None:
    """Seed .15, its only link .15 + .85·.15 = .2775, the next .15 + .85·.2775 = .385875: PageRank's own recursion."""
    quality = PartialPageRank()
    worth = quality.quality("http://a.example/", 0)
    for expected in (0.2775, 0.385875):
        worth = quality.quality("http://a.example/next", 1) + link_gains(quality, worth, 1)[0]
        assert worth == pytest.approx(expected)


def test_zipf_is_dealt_by_the_url() -> None:
    """Always the same value, within its range; few pages are worth much."""
    quality = ZipfQuality()
    values = [quality.quality(f"http://a.example/{i}", 1) for i in range(1000)]
    assert values == [quality.quality(f"http://a.example/{i}", 2) for i in range(1000)]
    assert all(1e-6 <= value <= 1 for value in values)
    assert sum(value < 1e-4 for value in values) > 900


@pytest.mark.parametrize("name", QUALITIES)
def test_every_quality_is_finite_and_not_negative(name: str) -> None:
    """As the frontier requires."""
    quality = QUALITIES[name]()
    for depth in (0, 1, 5, 100_000):
        assert 0 <= quality.quality("http://a.example/x", depth) < float("inf")
    assert all(gain >= 0 for gain in link_gains(quality, 2.0, 5))
