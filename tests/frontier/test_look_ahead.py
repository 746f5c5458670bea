"""The expected gain of links, traced by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness, server_queue
from crawlproject.frontier.learning.look_ahead import (
    BUCKET_DECAY,
    DRIFT,
    GAIN_DECAY,
    POPULATION_WEIGHT,
    SERVER_DECAY,
    LinkYield,
    LookAhead,
)
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"
NO_WAIT = Politeness(mode="session", factor=0, min_delay=0, max_delay=0)


def test_gain_is_the_mean_worth_of_new_urls_beyond_their_time() -> None:
    """max(0, 3 - 1·2) = 1 and max(0, 1 - 1·2) = 0; the older weighs less."""
    look_ahead = LookAhead()
    look_ahead.learn_url(3.0, rate=1.0, page_time=2.0)
    look_ahead.learn_url(1.0, rate=1.0, page_time=2.0)
    assert look_ahead.gain == pytest.approx(GAIN_DECAY / (GAIN_DECAY + 1))


def test_bonus_weighs_the_servers_own_pages_against_all_servers() -> None:
    """Own: 6 and 2 new URLs; the only other server with two pages had 4, then 0."""
    look_ahead = LookAhead()
    rich, poor = LinkYield(), LinkYield()
    for one, new in ((rich, 6), (poor, 4), (rich, 2), (poor, 0)):
        look_ahead.learn_page(one, new)
    look_ahead.learn_url(0.5, rate=0.0, page_time=1.0)
    first = (6 * BUCKET_DECAY + 4) / (BUCKET_DECAY + 1)  # of servers not yet fetched from
    assert look_ahead.bonus(None) == pytest.approx(0.5 * first)
    own, pages = 6 * SERVER_DECAY + 2, SERVER_DECAY + 1
    second = (2 * BUCKET_DECAY + 0) / (BUCKET_DECAY + 1)  # of servers with one page
    expected = (own + POPULATION_WEIGHT * second) / (pages + POPULATION_WEIGHT)
    assert look_ahead.bonus(rich) == pytest.approx(0.5 * expected)  # two pages: no server was met so yet
    assert look_ahead.bonus(rich) > look_ahead.bonus(poor)


@given(st.lists(st.tuples(st.sampled_from(["page", "url"]), st.integers(0, 5)), max_size=20))
def test_server_never_met_is_expected_to_bring_what_one_without_pages_is(steps: list[tuple[str, int]]) -> None:
    """At any time, including after learning since the last call."""
    look_ahead = LookAhead()
    for what, number in steps:
        if what == "page":
            look_ahead.learn_page(LinkYield(), number)
        else:
            look_ahead.learn_url(float(number), rate=0.1, page_time=1.0)
        assert look_ahead.bonus(None) == look_ahead.bonus(LinkYield())


def test_only_the_best_of_many_servers_are_ranked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long queue costs no more than a short one; servers far behind keep their old expectation."""
    monkeypatch.setattr(server_queue, "MAX_RANKED", 10)
    frontier = Frontier(BestPrefix(), NO_WAIT)
    keys = [f"http://{number:02}.example" for number in range(60)]
    frontier.push(Entry(f"{key}/{page}", 100.0 - number) for number, key in enumerate(keys) for page in range(20))
    for now in range(3):
        frontier.record(Measurement(keys[0], float(now), status=200, response_time=5.0, fetch_time=5.0))
        check(frontier)
    slow = {server.key for server in frontier.servers if server.estimates.response_time > 1.0}
    assert slow == set(keys[:10])


def test_servers_are_ranked_anew_when_the_gain_drifts() -> None:
    """Only then, and not before as many pages were fetched as servers wait."""
    look_ahead = LookAhead()
    look_ahead.learn_url(1.0, 0.0, 0.0)
    assert not look_ahead.is_outdated(servers=3)
    for _ in range(3):
        look_ahead.learn_page(LinkYield(), 1)
    assert look_ahead.is_outdated(servers=3)
    for _ in range(3):
        look_ahead.learn_page(LinkYield(), 1)
    assert not look_ahead.is_outdated(servers=3)
    for _ in range(5):
        look_ahead.learn_url(DRIFT * 1.5, 0.0, 0.0)
    assert look_ahead.is_outdated(servers=3)


def test_server_whose_pages_bring_much_goes_first() -> None:
    """a's pages showed good URLs, b's none: of equal URLs and times, a's is worth more."""
    frontier = Frontier(BestPrefix(), NO_WAIT)
    for key in (B, A):
        frontier.push([Entry(f"{key}/{i}", 1.0) for i in range(3)])
    for key, new in ((A, 3), (B, 0), (A, 3), (B, 0)):
        frontier.record(Measurement(key, 1.0, status=200, connect_time=0.1, response_time=0.2, fetch_time=0.2))
        frontier.push([Entry(f"http://far.example/{key[7]}{i}", 5.0) for i in range(new)], found_on=key)
        check(frontier)
    assert frontier.server(A).bonus > frontier.server(B).bonus
    ranks = {key: frontier.policy.rank(frontier.server(key)) for key in (A, B)}
    assert ranks[A] > ranks[B]
