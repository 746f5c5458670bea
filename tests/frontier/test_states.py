"""States and steps of servers and sessions: the tables, the terms, and illegal steps."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import product
from typing import Any
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crawlproject.frontier import (
    Dispatcher,
    Entry,
    Frontier,
    IllegalStepError,
    Measurement,
    Politeness,
    QualityFirst,
    Server,
    ServerState,
    Session,
    SessionState,
    Start,
    UrlQueue,
)
from crawlproject.frontier.states import SERVER_STEPS, SESSION_STEPS, ServerEvent, SessionEvent
from tests.frontier.invariants import check

MACHINES = {"server": (ServerState, ServerEvent, SERVER_STEPS), "session": (SessionState, SessionEvent, SESSION_STEPS)}


@contextmanager
def recorded_steps(kind: type[Server] | type[Session]) -> Iterator[set[tuple[StrEnum, StrEnum]]]:
    """(state before, event) of all steps taken in the block."""
    taken: set[tuple[StrEnum, StrEnum]] = set()
    step = kind.step

    def record(one: Any, event: Any) -> None:
        before = one.state
        step(one, event)
        taken.add((before, event))

    with mock.patch.object(kind, "step", record):
        yield taken


def made(kind: str) -> Server | Session:
    """A server, or a session of it."""
    server = Server("http://a.example", UrlQueue(by_quality=True, window=1), 1)
    return server if kind == "server" else Session(server, 0.0, 1)


@pytest.mark.parametrize("kind", MACHINES)
def test_every_other_step_raises_and_changes_nothing(kind: str) -> None:
    """All states with all events."""
    known, events, steps = MACHINES[kind]
    for state, event in product(known, events):
        one: Any = made(kind)
        one.state = state
        if (state, event) in steps:
            one.step(event)
            assert one.state is steps[state, event]
        else:
            with pytest.raises(IllegalStepError, match=f"no step '{event.value}': .*{state.value}"):
                one.step(event)
            assert one.state is state


def test_a_session_is_closed_once() -> None:
    """By the frontier, which can be used without a dispatcher."""
    frontier = Frontier(QualityFirst(), Politeness(mode="request", factor=1, min_delay=1))
    frontier.push([Entry("http://a.example/1"), Entry("http://a.example/2")])
    session = frontier.open_session(0.0)
    assert session is not None
    frontier.next_url(session, 0.0)
    frontier.record(Measurement(session.server.key, 0.1, status=200, fetch_time=0.1))
    frontier.close_session(session, 0.1)
    with pytest.raises(IllegalStepError, match="closed"):
        frontier.close_session(session, 0.2)
    check(frontier)


class DispatcherModel(RuleBasedStateMachine):
    """Random operations on a dispatcher with few sessions; its results must match the sessions' states."""

    @initialize(delay=st.sampled_from([0.0, 0.05, 1.0]))
    def start(self, delay: float) -> None:
        rules = Politeness(mode="request", factor=0, min_delay=delay, max_delay=5)
        self.dispatcher = Dispatcher(Frontier(QualityFirst(), rules), max_sessions=2)
        self.frontier = self.dispatcher.frontier
        self.now = 0.0
        self.serial = 0
        self.under_way: list[Start] = []
        self.closed: set[Session] = set()

    @rule(server=st.integers(0, 2), urls=st.integers(1, 6))
    def push(self, server: int, urls: int) -> None:
        self.serial += urls
        self.frontier.push(Entry(f"http://{server}.example/{self.serial + number}") for number in range(urls))

    @rule(seconds=st.sampled_from([0.01, 0.2, 3.0]))
    def ask(self, seconds: float) -> None:
        self.now += seconds
        while (start := self.dispatcher.next(self.now)) is not None:
            self.under_way.append(start)

    @precondition(lambda self: self.under_way)
    @rule(pick=st.integers(0, 1), measured=st.booleans())
    def answer(self, pick: int, measured: bool) -> None:
        start = self.under_way.pop(pick % len(self.under_way))
        self.now += 0.01
        if measured:
            session = start.session
            connect_time = None if session.carried else 0.1
            answer = Measurement(session.server.key, self.now, status=200, connect_time=connect_time, fetch_time=0.01)
            self.frontier.record(answer)
        self.dispatcher.ended(start.session)

    @rule(server=st.integers(0, 19))
    def lose(self, server: int) -> None:
        self.frontier.servers.connection_lost(f"http://{server}.example", self.now)

    @precondition(lambda self: self.serial > 10)
    @rule(number=st.integers(0, 2))
    def hold(self, number: int) -> None:
        """Afterwards only a request in flight keeps a session open."""
        key = f"http://{number}.example"
        if self.frontier.server(key) is not None:
            self.dispatcher.hold(key, self.now)
            server = self.frontier.servers[key]
            assert server.session is None or server.session.state is SessionState.BUSY

    @precondition(lambda self: self.serial > 10)
    @rule(number=st.integers(0, 2))
    def abandon(self, number: int) -> None:
        server = self.frontier.server(f"http://{number}.example")
        session = None if server is None else server.session
        if session is not None:
            self.dispatcher.abandon(session, self.now)
            self.dispatcher.abandon(session, self.now)
            assert session.state is SessionState.CLOSED

    @precondition(lambda self: self.serial > 10)
    @rule(number=st.integers(0, 2))
    def remove(self, number: int) -> None:
        """Only a server without a session; its abandoned requests may still end."""
        key = f"http://{number}.example"
        if self.frontier.server(key) is None or self.dispatcher.connected([key]):
            return
        self.frontier.remove(key)
        assert self.frontier.server(key) is None

    @precondition(lambda self: self.serial > 30)
    @rule()
    def close_all(self) -> None:
        self.dispatcher.close_all(self.now)

    @invariant()
    def holds(self) -> None:
        self.closed |= set(self.dispatcher.take_closed())
        check(self.frontier)
        assert all(session.state is SessionState.CLOSED for session in self.closed)
        assert len(self.dispatcher.served()) == self.dispatcher.open_sessions == self.frontier.counts()["leased"]
        busy = {start.session for start in self.under_way} - self.closed
        assert all(session.state is SessionState.BUSY for session in busy)
        for server in self.frontier.servers:
            assert server.session is None or server.session.state is not SessionState.CLOSED


TestDispatcherModel = DispatcherModel.TestCase
TestDispatcherModel.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)


#: Polite wait, and what happens: pages found on a server, seconds until the next question, an answer, the end.
COURSES: list[tuple[float, list[object]]] = [
    (0.0, ["push", 0.01, "answer", 0.01, "push", 0.01, "close", "answer"]),  # lingers, goes on, is closed while busy
    (0.0, ["push", 0.01, "answer", 0.01, "close"]),
    (0.0, ["push", 0.01, "answer", 0.01, 0.2]),
    (0.05, ["push", "push", 0.01, "answer", 0.01, 0.2, "answer", "push", 0.01, "close"]),  # is held
]


def test_the_model_takes_every_step_of_a_session() -> None:
    """In addition to its random steps."""
    with recorded_steps(Session) as steps:
        for delay, course in COURSES:
            model = DispatcherModel()
            model.start(delay)
            operations = {
                "push": lambda m=model: m.push(0, 1),
                "answer": lambda m=model: m.answer(0, measured=True),
                "close": model.close_all,
            }
            for what in course:
                model.ask(what) if isinstance(what, float) else operations[what]()
                model.holds()
    assert steps == set(SESSION_STEPS)
