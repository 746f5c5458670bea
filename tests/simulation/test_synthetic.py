"""Synthetic webs are like those that the policies were compared on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.simulation.pagerank import zipf
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import SimulatedWeb, sources_of


def top_share(quality: np.ndarray, share: float) -> float:
    """Share of the total that the best ``share`` of the pages hold."""
    return float(np.sort(quality)[::-1][: round(share * len(quality))].sum() / quality.sum())


@pytest.fixture(scope="module")
def web() -> SimulatedWeb:
    return build(SyntheticSpec())


@pytest.fixture(scope="module")
def tail_web() -> SimulatedWeb:
    return build(SyntheticSpec(tail=True))


def test_page_times_of_a_work_bound_web(web: SimulatedWeb) -> None:
    """Half of the pages take about 0.2 s, one in ten over 0.65 s, one in a hundred over 3 s."""
    median, p90, p99 = np.quantile(web.page_time, [0.5, 0.9, 0.99])
    assert 0.18 < median < 0.21
    assert 0.64 < p90 < 0.92
    assert 3 < p99 < 5


def test_sizes_of_a_work_bound_web(web: SimulatedWeb) -> None:
    """30,000 pages on 500 servers of 23 to 190, the slowest servers among the small ones."""
    assert web.page_counts.sum() == web.pages == 30_000
    assert web.page_counts.min() >= 22
    assert web.page_counts.max() <= 190
    mean_time = np.bincount(web.server, web.page_time) / web.page_counts
    slowest = np.argsort(-mean_time)[:50]
    assert web.page_counts[slowest].mean() < 0.8 * web.page_counts.mean()


def test_no_server_of_a_work_bound_web_holds_up_a_crawl(web: SimulatedWeb) -> None:
    """The longest chain of requests is .6 to .8 of what each of 64 sessions has to do."""
    chains = web.chains()
    assert 0.6 <= chains.max() / (chains.sum() / 64) <= 0.8


def test_connections_of_a_synthetic_web(web: SimulatedWeb) -> None:
    """20 to 300 ms to open; 24% of the servers allow one request on it, 66% a hundred."""
    assert 0.02 <= web.connect_time.min() <= web.connect_time.max() <= 0.3
    assert (web.keep_alive_limit == 1).mean() == 0.24
    assert (web.keep_alive_limit == 100).mean() == 0.66


def test_quality_of_a_synthetic_web_lies_in_few_pages(web: SimulatedWeb) -> None:
    """The best 1 and 10% hold about 18 and 54% of PageRank; of Zipf 58 and 79%."""
    assert top_share(web.quality, 0.01) == pytest.approx(0.185, abs=0.025)
    assert top_share(web.quality, 0.1) == pytest.approx(0.54, abs=0.02)
    dealt = zipf(web.pages, 1)
    assert [top_share(dealt, 0.01), top_share(dealt, 0.1)] == pytest.approx([0.58, 0.79], abs=0.01)


def test_links_of_a_synthetic_web_are_mostly_local(web: SimulatedWeb) -> None:
    """About three in four stay on their server; every page can be found from the five seeds."""
    local = web.server[sources_of(web.indptr)] == web.server[web.targets]
    assert local.mean() == pytest.approx(0.74, abs=0.02)
    assert len(web.seeds) == 5
    assert web.collectable.all()


def test_tail_bound_web_waits_for_one_server(tail_web: SimulatedWeb) -> None:
    """The largest server has about 4.5% of the pages, and one server alone takes longer than all the work of 64."""
    assert tail_web.page_counts.max() / tail_web.pages == pytest.approx(0.045, abs=0.003)
    chains = tail_web.chains()
    assert chains.max() > 2 * chains.sum() / 64
    assert tail_web.collectable.all()


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 12), st.integers(0, 60), st.integers(0, 99), st.booleans())
def test_any_size_and_seed_makes_a_web(servers: int, more: int, seed: int, tail: bool) -> None:
    """Every server has a page, every page is reached, links are told once; the same spec makes the same web."""
    spec = SyntheticSpec(servers, servers + more, seed, tail, seed_count=1)
    web, again = build(spec), build(spec)
    assert web.page_counts.min() >= 1
    assert web.collectable.all()
    links = list(zip(sources_of(web.indptr), web.targets, strict=True))
    assert len(set(links)) == len(links)
    assert all(source != target for source, target in links)
    assert (web.page_time == again.page_time).all()
    assert (web.targets == again.targets).all()
