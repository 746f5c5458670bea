"""A web as arrays."""

import doctest
import importlib
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crawlproject.simulation
from crawlproject.simulation.web import compressed, reachable, sources_of
from tests.simulation.webs import Host, Page, make_web, webs

# Server 0 leads to 1 and 2; server 1 is dead and alone leads to page 3 of server 2.
CHAIN = make_web(
    [Host(0.1, limit=2), Host(0.2, dead=True), Host(0.3)],
    [Page(0, links=(1, 2)), Page(1, links=(3,)), Page(2), Page(2)],
)

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60)


def test_examples_in_docstrings() -> None:
    """Every example of the package gives what it shows."""
    package = crawlproject.simulation
    names = [module.name for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.attempted for result in results) >= 3
    assert all(result.failed == 0 for result in results)


def test_what_only_a_dead_server_leads_to_cannot_be_collected() -> None:
    """The dead server's page, and the page behind it, are out of reach."""
    assert CHAIN.collectable.tolist() == [True, False, True, False]


def test_a_dead_server_costs_no_chain() -> None:
    """Time of one page and of opening and closing a connection; nothing for what cannot be fetched."""
    assert CHAIN.chains() == pytest.approx([1 + 2 * 0.1, 0, 1 + 2 * 0.3])


def test_a_chain_has_as_many_connections_as_the_server_demands() -> None:
    """Five pages over connections of two requests are three connections: 5 + 3·2·0.1 s."""
    web = make_web([Host(0.1, limit=2)], [Page(links=(1, 2, 3, 4)), *[Page()] * 4])
    assert web.chains() == pytest.approx([5.6])


def test_quality_is_scaled_and_must_be_worth_something() -> None:
    """Shares of 1; a web whose only valuable pages cannot be fetched is refused."""
    assert CHAIN.with_quality(np.array([1.0, 1.0, 2.0, 0.0])).quality.tolist() == [0.25, 0.25, 0.5, 0]
    with pytest.raises(ValueError, match="quality above 0"):
        CHAIN.with_quality(np.array([0.0, 1.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": np.ones(3)},
        {"dead": np.zeros(2, dtype=bool)},
        {"indptr": np.array([0, 3])},
        {"given_urls": ("http://a.example/",)},
        {"kinds": np.zeros(1)},
        {"crawl_delay": np.ones(1)},
        {"seeds": np.array([], dtype=int)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"must have|needs"):
        replace(CHAIN, **wrong)


@given(pairs)
def test_compressed_keeps_the_first_of_equal_links_in_order(links: list[tuple[int, int]]) -> None:
    """The same as a dict per page, without links of a page to itself."""
    indptr, targets = compressed(*np.array(links, dtype=np.int64).reshape(-1, 2).T, 10)
    expected = {page: list(dict.fromkeys(t for s, t in links if s == page != t)) for page in range(10)}
    assert {page: targets[indptr[page] : indptr[page + 1]].tolist() for page in range(10)} == expected
    assert sources_of(indptr).tolist() == [page for page, found in expected.items() for _ in found]


@given(pairs, st.sets(st.integers(0, 9)))
def test_reachable_is_what_a_walk_finds(links: list[tuple[int, int]], silent: set[int]) -> None:
    """Pages that show no links are reached and lead nowhere."""
    indptr, targets = compressed(*np.array(links, dtype=np.int64).reshape(-1, 2).T, 10)
    answers = np.array([page not in silent for page in range(10)])
    found, waiting = {0}, [0]
    while waiting:
        page = waiting.pop()
        new = {t for s, t in links if s == page and page not in silent} - found
        found |= new
        waiting += new
    assert set(np.flatnonzero(reachable(indptr, targets, np.array([0]), answers))) == found


@given(webs())
def test_everything_of_a_live_web_is_collectable(web) -> None:
    """The webs that other tests crawl hold together."""
    assert web.collectable.all()
    assert web.page_counts.sum() == web.pages
