"""Scouts: sessions ahead of their servers' turn, for what must be known before the first page (robots.txt)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst, Scouts, Start
from crawlproject.frontier.estimate import NEW_RESPONSE_TIME

POLITE = Politeness(mode="session", factor=5, min_delay=0, max_delay=60)


def key_of(quality: int) -> str:
    return f"http://s{quality}.example"


def scouting(servers: int, *, sessions: int = 8, most: int = 1, **kwargs: object) -> tuple[Dispatcher, set[str]]:
    """A dispatcher of so many servers, the best is the last; and the keys of those that are still to be scouted."""
    wanted = {key_of(quality) for quality in range(1, servers + 1)}
    dispatcher = Dispatcher(Frontier(QualityFirst(), POLITE, **kwargs), sessions)
    dispatcher.frontier.push(Entry(f"{key_of(quality)}/", float(quality)) for quality in range(1, servers + 1))
    dispatcher.scouts = Scouts(wanted.__contains__, most)
    return dispatcher, wanted


def started(dispatcher: Dispatcher, now: float) -> list[Start]:
    found = []
    while (start := dispatcher.next(now)) is not None:
        found.append(start)
    return found


def end(dispatcher: Dispatcher, start: Start, now: float) -> None:
    key = start.session.server.key
    measurement = Measurement(key, now, status=200, connect_time=0.1, response_time=0.1, fetch_time=0.1)
    dispatcher.frontier.record(measurement)
    dispatcher.ended(start.session)


def test_the_next_in_turn_are_scouted_and_not_those_that_have_it_now() -> None:
    """Of 20 servers and 8 sessions: the ninth is scouted, in the place of the eighth."""
    dispatcher, _ = scouting(20)
    starts = started(dispatcher, 0.0)
    assert [start.entry.url for start in starts if start.is_scout] == [f"{key_of(12)}/"]
    assert [start.session.server.key for start in starts if not start.is_scout] == list(map(key_of, range(20, 13, -1)))
    assert dispatcher.open_sessions == 8


def test_nobody_is_scouted_where_there_is_a_place_for_all() -> None:
    """Their sessions begin with that request."""
    dispatcher, _ = scouting(8)
    assert not any(start.is_scout for start in started(dispatcher, 0.0))


def test_server_that_was_scouted_rests_and_has_lost_nothing() -> None:
    """Five times as long as the scout took, like after any session; then its turn comes."""
    dispatcher, wanted = scouting(9)
    scout = next(start for start in started(dispatcher, 0.0) if start.is_scout)
    wanted.clear()
    end(dispatcher, scout, 0.2)
    last = started(dispatcher, 0.2)
    assert [start.entry.url for start in last] == [f"{key_of(2)}/"], "its place is free"
    assert dispatcher.take_closed() == [scout.session]
    dispatcher.frontier.check()
    server = scout.session.server
    assert server.ready_at == pytest.approx(0.2 + 5 * 0.2)
    assert server.estimates.response_time < NEW_RESPONSE_TIME, "the scout has told how fast it is"
    end(dispatcher, last[0], 0.3)
    assert started(dispatcher, server.ready_at - 0.01) == []
    assert [start.entry.url for start in started(dispatcher, server.ready_at)] == [f"{server.key}/"]


def test_scout_that_may_not_be_sent_costs_nothing() -> None:
    """As a page would not: another server on its address has a connection. No rest, no URL lost, no second scout."""
    dispatcher, wanted = scouting(9)
    starts = started(dispatcher, 0.0)
    scout = next(start for start in starts if start.is_scout)
    urls = len(dispatcher.frontier)
    dispatcher.give_back(scout)
    dispatcher.ended(scout.session)
    wanted.intersection_update({scout.session.server.key})
    assert len(dispatcher.frontier) == urls
    assert [start.is_scout for start in started(dispatcher, 0.1)] == [False]
    assert dispatcher.take_closed() == [scout.session]
    assert scout.session.server.ready_at == 0.0
    dispatcher.frontier.check()


def test_scout_names_the_best_url_of_its_server() -> None:
    """With all that belongs to it: whatever the page would be asked for with."""
    dispatcher, _ = scouting(9)
    dispatcher.frontier.push([Entry(f"{key_of(1)}/best", 2.0, depth=7, payload="payload")])
    starts = started(dispatcher, 0.0)
    scouts = [start.entry for start in starts if start.is_scout]
    assert scouts == [Entry(f"{key_of(1)}/best", 2.0, depth=7, payload="payload")]


@pytest.mark.parametrize("lower", [False, True])
def test_scout_ends_with_its_request_whatever_happens(lower: bool) -> None:
    """The limit is lowered meanwhile, or the crawl ends; its connection is not parked."""
    dispatcher, _ = scouting(9)
    dispatcher.max_parked = 8
    scout = next(start for start in started(dispatcher, 0.0) if start.is_scout)
    if lower:
        dispatcher.max_sessions = 1
        end(dispatcher, scout, 0.2)
        assert dispatcher.next(0.2) is None
    else:
        dispatcher.close_all(0.1)
        dispatcher.ended(scout.session)
    assert scout.session in dispatcher.take_closed()
    assert scout.session.server.session is None
    assert scout.session.server.parked is None
    dispatcher.frontier.check()


def test_scouts_do_not_take_the_place_of_sessions() -> None:
    """One of eight sessions at most, however many are allowed."""
    dispatcher, _ = scouting(100, sessions=16, most=50)
    assert sum(start.is_scout for start in started(dispatcher, 0.0)) == 2
    dispatcher, _ = scouting(100, sessions=7, most=50)
    assert not any(start.is_scout for start in started(dispatcher, 0.0))


def test_no_server_of_a_busy_group_is_scouted() -> None:
    """One connection to a group at a time."""
    dispatcher, _ = scouting(40, group_of=lambda key: "odd" if int(key[8:-8]) % 2 else key)
    starts = started(dispatcher, 0.0)
    assert sum(int(start.session.server.key[8:-8]) % 2 for start in starts) == 1
    assert sum(start.is_scout for start in starts) == 1


@given(
    servers=st.integers(1, 30),
    sessions=st.integers(1, 24),
    most=st.integers(0, 4),
    skipped=st.sets(st.integers(1, 30)),
)
@settings(max_examples=80, deadline=None)
def test_every_url_comes_once_whoever_is_scouted(servers: int, sessions: int, most: int, skipped: set[int]) -> None:
    """Nobody is asked twice at a time or without its rest, limits hold, and each is scouted once at most."""
    dispatcher, wanted = scouting(servers, sessions=sessions, most=most)
    wanted -= set(map(key_of, skipped))
    free_at = dict.fromkeys(map(key_of, range(1, servers + 1)), 0.0)
    now, fetched, scouted = 0.0, [], []
    while len(fetched) < servers:
        starts = started(dispatcher, now)
        for start in starts:
            key = start.session.server.key
            assert now >= free_at[key] - 1e-9
            free_at[key] = now + 0.6
            wanted.discard(key)
            (scouted if start.is_scout else fetched).append(start.entry.url)
        assert dispatcher.open_sessions <= sessions
        assert sum(start.is_scout for start in starts) <= min(most, sessions // 8)
        for start in starts:
            end(dispatcher, start, now + 0.1)
        dispatcher.frontier.check()
        now = max(now + 0.1, dispatcher.wake_at() or now)
    assert len(set(fetched)) == servers
    assert len(set(scouted)) == len(scouted)
