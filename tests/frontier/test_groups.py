"""Politeness groups: many servers that share one session at a time."""

import pytest

from crawlproject.frontier import BreadthFirst, Entry, Frontier, Measurement, Politeness, QualityFirst, Server
from tests.frontier.invariants import check

POLITENESS = Politeness(mode="session", factor=1, min_delay=1.0, max_delay=5.0)


def grouped(policy: BreadthFirst | QualityFirst) -> Frontier:
    return Frontier(policy, POLITENESS, max_batch=1, group_of=lambda key: "all")


def fetch_next(frontier: Frontier, now: float) -> str:
    """The server of the next session, which fetches one page."""
    session = frontier.open_session(now)
    assert session is not None
    key = session.server.key
    assert frontier.next_url(session, now) is not None
    frontier.record(Measurement(key, now + 0.1, status=200, connect_time=0.05, response_time=0.05, fetch_time=0.1))
    frontier.close_session(session, now + 0.1)
    assert frontier.open_session(now + 0.2) is None  # the group rests
    check(frontier)
    return key


def test_a_session_moves_a_few_servers_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all that wait: with 10,000 of them a session would take 0.1 s. Each is set aside once."""
    servers, sessions = 300, 40
    frontier = grouped(BreadthFirst())
    frontier.push(Entry(f"http://s{number}.example/{page}", 1.0) for number in range(servers) for page in range(2))
    steps = 0
    step = Server.step

    def counted(server: Server, event: str) -> None:
        nonlocal steps
        steps += 1
        step(server, event)

    monkeypatch.setattr(Server, "step", counted)
    for number in range(sessions):
        fetch_next(frontier, 10.0 * number)
    assert steps <= servers + 8 * sessions


def test_the_best_server_of_a_group_is_next() -> None:
    """Also one that rises while another server of the group has been recalled, and one that is new."""
    frontier = grouped(QualityFirst())
    frontier.push(Entry(f"http://s{quality}.example/", float(quality)) for quality in (1, 5, 3, 4))
    assert fetch_next(frontier, 0.0) == "http://s5.example"
    assert frontier.queue.first_due() == pytest.approx(1.1)
    frontier.push([Entry("http://s1.example/better", 9.0)])
    assert fetch_next(frontier, 10.0) == "http://s1.example"
    frontier.queue.upcoming(5, 30.0)
    assert frontier.open_session(10.5) is None
    frontier.push([Entry("http://s7.example/", 7.0), Entry("http://s3.example/better", 6.0)])
    assert [fetch_next(frontier, 20.0 + 10 * number) for number in range(4)] == [
        "http://s7.example",
        "http://s3.example",
        "http://s4.example",
        "http://s3.example",
    ]
    assert fetch_next(frontier, 60.0) == "http://s1.example"


def test_a_server_that_sinks_after_its_recall_gives_way() -> None:
    """The recalled server shows copies before a session opens: the next best of its group is recalled."""
    frontier = grouped(QualityFirst())
    frontier.push(Entry(f"http://s{quality}.example/", float(quality)) for quality in (2, 4, 3))
    assert fetch_next(frontier, 0.0) == "http://s4.example"
    blocked = frontier.servers["http://s3.example"]
    frontier.push([Entry("http://s4.example/other", 1.0)])
    assert frontier.counts()["waiting"] == 2
    frontier.queue.best(10.0)  # the group is free: its best server is recalled
    assert blocked.group is not None
    assert blocked.group.recalled is blocked
    for _ in range(30):
        frontier.servers.learn_content(blocked.key, copy=True)
    check(frontier)
    assert fetch_next(frontier, 10.0) == "http://s2.example"
