"""What real webs have besides pages: redirects, dead links, copies, errors, robots.txt; crawls by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, BreadthFirst
from crawlproject.simulation.bound import bound_of
from crawlproject.simulation.crawl import Crawl, CrawlOptions, simulate
from crawlproject.simulation.experiment import KnownWorth
from crawlproject.simulation.flawed_web import Flaws, add_flaws
from crawlproject.simulation.metrics import Curve, collectable_quality
from crawlproject.simulation.record import NO_WAIT
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import COPY, FORBIDDEN, MISSING, MOVED, PAGE, SimulatedWeb
from tests.simulation.webs import Host, Page, make_web, webs


def crawl_of(web: SimulatedWeb) -> Crawl:
    return simulate(web, BreadthFirst(), KnownWorth(web), CrawlOptions(1))


def with_kinds(links: list[tuple[int, ...]], kinds: list[int], errors: list[int] | None = None) -> SimulatedWeb:
    """One server, 0.1 s to connect, a second for each URL."""
    web = make_web([Host()], [Page(links=each) for each in links])
    return replace(web, kinds=np.array(kinds), errors=np.array(errors or [0] * len(links)))


def test_redirect_takes_a_request_and_leads_to_its_target() -> None:
    crawl = crawl_of(with_kinds([(1,), (2,), ()], [PAGE, MOVED, PAGE]))
    assert crawl.pages.tolist() == [0, 2]
    assert crawl.ended == pytest.approx([1.1, 3.1])
    assert crawl.wasted == 1


def test_missing_page_takes_a_request_and_shows_no_links() -> None:
    web = with_kinds([(1, 2), (3,), (), ()], [PAGE, MISSING, PAGE, PAGE])
    assert web.collectable.tolist() == [True, False, True, False]
    assert crawl_of(web).ended == pytest.approx([1.1, 3.1])


def test_copy_shows_links_but_is_not_collected() -> None:
    web = with_kinds([(1,), (2,), ()], [PAGE, COPY, PAGE])
    assert crawl_of(web).pages.tolist() == [0, 2]
    assert collectable_quality(web) == pytest.approx(web.quality[[0, 2]].sum())


def test_url_that_robots_txt_disallows_takes_no_time() -> None:
    web = with_kinds([(1, 2), (), ()], [PAGE, FORBIDDEN, PAGE])
    crawl = crawl_of(replace(web, robots_time=np.array([0.5])))
    assert crawl.ended == pytest.approx([1.6, 2.6])


@pytest.mark.parametrize(("errors", "pages", "wasted"), [(1, [0, 2, 1], 1), (2, [0, 2, 1], 2), (3, [0, 2], 3)])
def test_url_that_fails_is_tried_twice_again_after_others(errors: int, pages: list[int], wasted: int) -> None:
    web = with_kinds([(1, 2), (), ()], [PAGE] * 3, [0, errors, 0])
    crawl = crawl_of(replace(web, quality=np.array([0.4, 0.3, 0.3])))
    assert sorted(crawl.pages.tolist()) == sorted(pages)
    assert crawl.wasted == wasted
    assert web.collectable[1] == (errors <= 2)


def test_crawl_delay_holds_from_robots_txt_on() -> None:
    """robots.txt ends at 0.6 s; 2 s later a new connection brings the first page, and so on."""
    web = make_web([Host()], [Page(links=(1,)), Page()])
    web = replace(web, robots_time=np.array([0.5]), crawl_delay=np.array([2.0]))
    crawl = crawl_of(web)
    assert crawl.started[0] >= 0.6 + 2
    assert crawl.started[1] >= crawl.ended[0] + 2


@pytest.mark.parametrize("changed", [{"kinds": np.zeros(1)}, {"errors": np.zeros(1)}, {"crawl_delay": np.ones(1)}])
def test_arrays_of_another_length_are_refused(changed: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="must have one entry"):
        replace(make_web([Host()], [Page(links=(1,)), Page()]), **changed)


@settings(deadline=None)
@given(webs(), st.data(), st.sampled_from(sorted(POLICIES)), st.integers(1, 4))
def test_every_page_that_can_be_collected_is_collected(
    web: SimulatedWeb, data: st.DataObject, policy: str, count: int
) -> None:
    """Once, whatever the other URLs are."""
    kinds = data.draw(st.lists(st.sampled_from(range(5)), min_size=web.pages, max_size=web.pages))
    errors = data.draw(st.lists(st.integers(0, 3), min_size=web.pages, max_size=web.pages))
    flawed = replace(web, kinds=np.array(kinds), errors=np.array(errors), robots_time=np.full(web.servers, 0.2))
    options = CrawlOptions(count, NO_WAIT, linger=0.1, cpu_time=0.02)
    crawl = simulate(flawed, POLICIES[policy](), KnownWorth(flawed), options)
    assert sorted(crawl.pages.tolist()) == np.flatnonzero(flawed.collectable).tolist()


def test_flaws_have_their_shares() -> None:
    """Exact shares; homes and seeds are pages; some servers have far more than others."""
    spec = SyntheticSpec(servers=100, pages=4000)
    whole = build(spec)
    web = build(replace(spec, flaws=Flaws()))
    counts = np.bincount(web.kinds, minlength=5)
    assert [counts[kind] for kind in (COPY, MOVED, MISSING, FORBIDDEN)] == [200, 200, 200, 120]
    homes = np.unique(web.server, return_index=True)[1]
    assert not web.kinds[homes].any()
    assert (web.errors > 0).sum() == pytest.approx(40, abs=20)
    moved = np.flatnonzero(web.kinds == MOVED)
    assert (np.diff(web.indptr)[moved] == 1).all()
    assert (web.kinds[web.targets[web.indptr[moved]]] == PAGE).all()
    plain = np.flatnonzero(web.kinds == PAGE)[:50]
    for page in plain:
        assert web.targets[slice(*web.indptr[page : page + 2])].tolist() == (
            whole.targets[slice(*whole.indptr[page : page + 2])].tolist()
        )
    share = np.bincount(web.server, web.kinds == MISSING) / web.page_counts
    assert share.max() > 4 * share.mean()
    assert (web.crawl_delay > 0).sum() == 3
    assert (web.robots_time <= np.bincount(web.server, web.page_time) / web.page_counts).all()


def test_no_crawl_beats_the_bound_with_flaws() -> None:
    web = build(SyntheticSpec(servers=40, pages=600, flaws=Flaws()))
    curve = Curve.of(simulate(web, POLICIES["prefix"](), KnownWorth(web), CrawlOptions(8)))
    bound, total = bound_of(web, 8), collectable_quality(web)
    assert all(curve.at(time) * total <= bound.at(time) + 1e-9 for time in np.linspace(0.1, curve.times[-1], 50))
    assert curve.shares[-1] == pytest.approx(1.0)


def test_too_many_flaws_are_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        Flaws(missing=0.5, moved=0.5)


def test_same_seed_same_flaws() -> None:
    web = build(SyntheticSpec(servers=10, pages=100))
    one, same, other = (add_flaws(web, Flaws(), seed) for seed in (1, 1, 2))
    assert one.kinds.tolist() == same.kinds.tolist()
    assert one.targets.tolist() == same.targets.tolist()
    assert one.kinds.tolist() != other.kinds.tolist()
