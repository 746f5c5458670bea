"""Worth and order of sitemaps: traced by hand, and compared with the URLs pushed."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import (
    POLICIES,
    BestPrefix,
    BreadthFirst,
    CapacityBased,
    Entry,
    Frontier,
    Measurement,
    Politeness,
)
from crawlproject.frontier.budgets import Budgets, Limits
from crawlproject.frontier.learning.look_ahead import (
    PRIOR_URLS,
    PRIOR_WEIGHT,
    RAISED_AT_ONCE,
    SITEMAP_DECAY,
    LookAhead,
    Sitemaps,
)
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"
SITEMAP = f"{A}/sitemap.xml"
NO_WAIT = Politeness(mode="session", factor=0, min_delay=0, max_delay=0)


def sitemaps(gain: float = 0.5) -> Sitemaps:
    """Sitemaps for a gain of ``gain`` per new URL."""
    look_ahead = LookAhead()
    look_ahead.learn_url(gain, rate=0.0, page_time=1.0)
    return Sitemaps(look_ahead)


def fetch_all(frontier: Frontier, now: float = 0.0) -> list[str]:
    """URLs in the order in which consecutive sessions hand them out."""
    urls = []
    while (session := frontier.open_session(now)) is not None:
        urls.append(frontier.next_url(session, now).url)
        frontier.close_session(session, now)
        check(frontier)
    return urls


def test_worth_is_the_mean_of_what_sitemaps_brought() -> None:
    """The prior weighs two sitemaps, an older sitemap less: (2·15 + .97·40 + 10) / (2 + 1.97)."""
    sut = sitemaps(0.5)
    sut.learn(40.0)
    sut.learn(10.0)
    assert (PRIOR_URLS, PRIOR_WEIGHT, SITEMAP_DECAY) == (30.0, 2.0, 0.97)
    assert sut.worth == pytest.approx((2 * 15 + 0.97 * 40 + 10) / 3.97)


def test_many_waiting_sitemaps_rise_a_few_at_a_time() -> None:
    """20,000 in a store took 0.2 s; the event loop waited for all of them."""
    frontier = Frontier(BestPrefix(), NO_WAIT)
    for number in range(3 * RAISED_AT_ONCE):
        frontier.push_sitemap(Entry(f"{A}/sitemap-{number}.xml"))
    frontier.push([Entry(f"{B}/{count}", 1.0) for count in range(9)], found_on=B)
    waiting = frontier._expectations.sitemaps._waiting

    def learn() -> int:
        frontier.record(Measurement(B, 1.0, status=200, response_time=0.1, fetch_time=0.1))
        return sum(quality > 0.0 for quality in waiting.values())

    risen = [learn() for _ in range(200)]
    assert {after - before for before, after in pairwise([0, *risen])} == {0, RAISED_AT_ONCE}
    assert risen[-1] == 3 * RAISED_AT_ONCE


def test_frontier_learns_the_gain_of_a_sitemaps_urls() -> None:
    """No server was leased, so a second is worth 0: the gain is 3 + 1, its mean 2; (2·30·2 + 4) / 3."""
    frontier = Frontier(BestPrefix(), NO_WAIT)
    frontier.push([Entry(f"{A}/1", 3.0), Entry(f"{A}/2", 1.0)], found_on=A, from_sitemap=True)
    mean = (3 * 0.999 + 1) / 1.999
    assert frontier._expectations.sitemaps.worth == pytest.approx((60 * mean + 4) / 3)
    assert frontier.server(A).found is None, "a sitemap is no page, and says nothing of what pages bring"


def test_sitemap_pushed_before_anything_was_learned_rises() -> None:
    """At first it is worth 0, and the page goes first; after reranking, the sitemap is best."""
    frontier = Frontier(BestPrefix(), NO_WAIT)
    frontier.push_sitemap(Entry(SITEMAP))
    frontier.push([Entry(f"{A}/poor", 0.01)])
    assert frontier.server(A).urls.best_quality == 0.01
    for count in range(3):
        frontier.push([Entry(f"{B}/{count}", 1.0)], found_on=B)
    frontier.record(Measurement(B, 1.0, status=200, response_time=0.1, fetch_time=0.1))
    assert frontier.server(A).urls.best_quality == pytest.approx(30.0)
    assert fetch_all(frontier, now=1.0)[0] == SITEMAP


@pytest.mark.parametrize(("policy", "place"), [(BreadthFirst, 1), (CapacityBased, 2)])
def test_policies_that_do_not_look_ahead_fetch_it_in_turn_or_last(policy: type, place: int) -> None:
    """By order of discovery, or by a quality of 0."""
    frontier = Frontier(policy(), NO_WAIT)
    frontier.push([Entry(f"{A}/1", 0.1)])
    frontier.push_sitemap(Entry(SITEMAP))
    frontier.push([Entry(f"{A}/2", 0.1)])
    assert fetch_all(frontier).index(SITEMAP) == place


steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["page", "sitemap"]), st.sampled_from([A, B]), st.floats(0, 5)),
        st.tuples(st.just("take"), st.booleans(), st.floats(0, 5)),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(st.sampled_from(sorted(POLICIES)), steps)
def test_every_sitemap_is_handed_out_once(policy: str, done: list[tuple[str, object, float]]) -> None:
    """Even if they are raised or given back meanwhile."""
    frontier = Frontier(POLICIES[policy](), NO_WAIT)
    pushed, taken = [], []
    for number, (step, what, quality) in enumerate(done):
        now = float(number)
        if step == "take":
            session = frontier.open_session(now)
            if session is None:
                continue
            entry = frontier.next_url(session, now)
            if what:
                frontier.give_back(session, entry)
            else:
                taken.append(entry.url)
                key = session.server.key
                frontier.record(Measurement(key, now, status=200, response_time=0.1, fetch_time=0.1))
                found = [Entry(f"{key}/{number}/{i}", quality) for i in range(3)]
                pushed += [one.url for one in found]
                frontier.push(found, key, from_sitemap=entry.url.endswith("xml"))
            frontier.close_session(session, now)
        else:
            url = f"{what}/{number}" + (".xml" if step == "sitemap" else "")
            pushed.append(url)
            if step == "sitemap":
                frontier.push_sitemap(Entry(url))
            else:
                frontier.push([Entry(url, quality)], what)
        check(frontier)
    taken += fetch_all(frontier, now=100.0)
    assert sorted(taken) == sorted(pushed)


def test_a_sitemap_costs_no_page_of_a_limit() -> None:
    """Its quality includes the price that its server's pages pay: 10 usual pages of 1 s, at the last rank."""

    def quality(limits: Limits) -> tuple[float, float]:
        frontier = Frontier(BestPrefix(), budgets=Budgets(limits))
        frontier.push([Entry(f"{A}/{number}", 3.0) for number in range(50)], A)
        for number in range(5):
            frontier.record(Measurement(A, float(number), status=200, response_time=1.0, fetch_time=1.0))
            frontier.page_fetched(A, 0)
        frontier.open_session(10.0)
        frontier.push_sitemap(Entry(f"{B}/sitemap.xml"))
        (entry,) = frontier.servers[B].urls.first(B, 1)
        return entry.quality - frontier._expectations.sitemaps.worth, frontier.queue.last_rank

    refund, rank = quality(Limits(pages=10))
    assert refund == pytest.approx(10.0 * rank)
    assert quality(Limits())[0] == 0.0
