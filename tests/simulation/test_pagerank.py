"""Page qualities of the experiments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.simulation.pagerank import pagerank, zipf
from crawlproject.simulation.web import compressed, sources_of


def power_iteration(indptr: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The definition: a surfer follows a link with .85, and jumps anywhere from pages without."""
    pages = len(indptr) - 1
    ranks, links = np.full(pages, 1 / pages), np.diff(indptr)
    for _ in range(200):
        passed = np.bincount(targets, (ranks / np.maximum(links, 1))[sources_of(indptr)], minlength=pages)
        ranks = 0.15 / pages + 0.85 * (passed + ranks[links == 0].sum() / pages)
    return ranks


def test_two_pages_that_link_to_each_other_are_alike() -> None:
    """Half of the rank each."""
    assert pagerank(np.array([0, 1, 2]), np.array([1, 0])) == pytest.approx([0.5, 0.5])


def test_page_without_links_gives_its_rank_to_all() -> None:
    """0 -> 1: r0 = .075 + .425 r1 and r1 = .075 + .425 r1 + .85 r0, so r0 = .5 / 1.425 = .35088."""
    assert pagerank(np.array([0, 1, 1]), np.array([1])) == pytest.approx([0.350877, 0.649123], abs=1e-6)


@given(st.integers(1, 12), st.data())
def test_pagerank_is_its_definition(pages: int, data: st.DataObject) -> None:
    """igraph's against the power iteration, on any graph."""
    number = st.integers(0, pages - 1)
    links = data.draw(st.lists(st.tuples(number, number), max_size=40))
    indptr, targets = compressed(*np.array(links, dtype=np.int64).reshape(-1, 2).T, pages)
    ranks = pagerank(indptr, targets)
    assert ranks == pytest.approx(power_iteration(indptr, targets), abs=1e-9)
    assert ranks.sum() == pytest.approx(1)


def test_zipf_is_dealt_by_seed() -> None:
    """1, 1/2, ... 1/n of the best, to pages at random."""
    first, again, other = zipf(100, 1), zipf(100, 1), zipf(100, 2)
    assert (first == again).all()
    assert (first != other).any()
    assert first.sum() == pytest.approx(1)
    assert np.sort(first)[::-1] * (1 / first.max()) == pytest.approx(1 / np.arange(1, 101))
