"""The frontier: traced by hand, and compared with a model that sorts lists."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crawlproject.frontier import (
    POLICIES,
    BestPrefix,
    BreadthFirst,
    Dispatcher,
    Entry,
    Frontier,
    IllegalStepError,
    Measurement,
    Politeness,
    QualityFirst,
    Server,
    ServerState,
)
from crawlproject.frontier.guard.judge import demoted
from crawlproject.frontier.states import SERVER_STEPS
from tests.frontier.invariants import check
from tests.frontier.test_states import recorded_steps

A, B, C = "http://a.example", "http://b.example", "http://c.example"
NO_WAIT = Politeness(mode="session", factor=0, min_delay=0, max_delay=0)


def frontier_of(policy: object = None, politeness: Politeness = NO_WAIT, **kwargs: object) -> Frontier:
    return Frontier(policy or QualityFirst(), politeness, **kwargs)


def push(frontier: Frontier, *urls: str, quality: float = 1.0) -> None:
    frontier.push(Entry(url, quality) for url in urls)
    check(frontier)


def fetch(frontier: Frontier, session: object, now: float, **measured: object) -> str:
    """Take the session's next URL at ``now`` and record an answer that came 0.1 s later."""
    entry = frontier.next_url(session, now)
    assert entry is not None
    answer = {"status": 200, "response_time": 0.1, "fetch_time": 0.1} | measured
    frontier.record(Measurement(session.server.key, now + 0.1, **answer))
    check(frontier)
    return entry.url


def test_breadth_first_serves_servers_in_turn() -> None:
    """FIFO over servers: after its session a server moves to the end."""
    frontier = frontier_of(BreadthFirst())
    push(frontier, f"{A}/1", f"{A}/2", f"{B}/1", f"{B}/2")
    order = []
    for now in range(4):
        session = frontier.open_session(float(now))
        order.append(fetch(frontier, session, float(now)))
        frontier.close_session(session, now + 0.1)
    assert order == [f"{A}/1", f"{B}/1", f"{A}/2", f"{B}/2"]


def test_session_is_not_preempted_by_a_better_server() -> None:
    """An open session continues although another server now ranks higher."""
    frontier = frontier_of()
    push(frontier, f"{A}/1", f"{A}/2", quality=0.1)
    session = frontier.open_session(0.0)
    push(frontier, f"{B}/1", quality=9.0)
    assert fetch(frontier, session, 0.0) == f"{A}/1"
    assert fetch(frontier, session, 0.2) == f"{A}/2"


@pytest.mark.parametrize(
    ("answers", "requests", "is_spent"),
    [
        ([{}, {"server_closed": True}], 2, True),
        ([{}, {}, {}, {"connection_requests": 1, "connect_time": 0.05}], 3, False),  # closed without a word
        ([{}, {"requests_left": 98, "keep_alive_time": 5.0}], 100, False),  # ``Keep-Alive: timeout=5, max=98``
        ([{}, {}, {}, {}], 50, True),  # ``max_batch``
    ],
)
def test_a_server_teaches_how_many_requests_a_connection_carries(
    answers: list[dict[str, object]], requests: int, is_spent: bool
) -> None:
    """And a session ends with its batch."""
    frontier = frontier_of(max_batch=4 if is_spent else 1000)
    push(frontier, *(f"{A}/{i}" for i in range(9)))
    session = frontier.open_session(0.0)
    for number, measured in enumerate(answers, 1):
        fetch(frontier, session, number * 0.1, **{"connection_requests": number} | measured)
    assert session.is_spent is is_spent
    assert not is_spent or frontier.next_url(session, 9.0) is None
    assert frontier.server(A).estimates.requests_per_connection == requests


def test_request_mode_rests_between_requests() -> None:
    """Fetch 0.1 s, factor 10: no request before 0.1 + 1.0 = 1.1 s, and the connection is not worth holding."""
    frontier = frontier_of(politeness=Politeness(mode="request", factor=10, min_delay=0, max_delay=60))
    push(frontier, f"{A}/1", f"{A}/2")
    session = frontier.open_session(0.0)
    assert session.limit == 1
    fetch(frontier, session, 0.0)
    frontier.close_session(session, 0.1)
    assert frontier.queue.first_due() == pytest.approx(1.1)
    assert frontier.open_session(1.09) is None
    assert frontier.open_session(1.1 + 1e-9) is not None


def test_crawl_delay_holds_after_a_request_without_a_session() -> None:
    """Its robots.txt was fetched after another server's redirect: its first page waits as well."""
    frontier = frontier_of()
    push(frontier, f"{A}/1")
    frontier.servers.rest(A, 5.0, 0.1)
    frontier.servers.set_crawl_delay(A, 10.0)
    assert frontier.open_session(14.9) is None
    assert frontier.open_session(15.0) is not None


def test_crawl_delay_holds_in_session_mode() -> None:
    """robots.txt asks for 10 s: one request per session, ten seconds apart."""
    frontier = frontier_of()
    push(frontier, f"{A}/1", f"{A}/2")
    frontier.servers.set_crawl_delay(A, 10.0)
    session = frontier.open_session(0.0)
    assert session.limit == 1
    fetch(frontier, session, 0.0)
    frontier.close_session(session, 0.1)
    assert frontier.queue.first_due() == pytest.approx(10.1)


@pytest.mark.parametrize("status", [429, 503])
def test_busy_server_is_left_alone_as_long_as_it_asks(status: int) -> None:
    """Retry-After 30 s from the end of the response at 0.1 s; the next failure doubles our own 5 s."""
    frontier = frontier_of()
    push(frontier, f"{A}/1", f"{A}/2", f"{A}/3")
    session = frontier.open_session(0.0)
    fetch(frontier, session, 0.0, status=status, retry_after=30.0)
    assert session.is_spent
    frontier.close_session(session, 0.1)
    assert frontier.queue.first_due() == pytest.approx(30.1)
    session = frontier.open_session(40.0)
    fetch(frontier, session, 40.0, status=status)
    frontier.close_session(session, 40.1)
    assert frontier.queue.first_due() == pytest.approx(40.1 + 10.0)


def test_server_found_to_share_a_busy_address_goes_back() -> None:
    """Two names, one address: the second is not contacted during the first one's session."""
    frontier = frontier_of()
    push(frontier, f"{A}/1", f"{B}/1")
    first, second = frontier.open_session(0.0), frontier.open_session(0.0)
    entry = frontier.next_url(second, 0.0)
    assert frontier.queue.join(first.server, "192.0.2.1")
    assert not frontier.queue.join(second.server, "192.0.2.1")
    frontier.give_back(second, entry)
    frontier.close_session(second, 0.0)
    check(frontier)
    assert frontier.open_session(0.0) is None
    frontier.close_session(first, 0.1)
    check(frontier)
    assert {frontier.open_session(0.2).server.key for _ in range(1)} <= {A, B}


def test_bad_url_raises_and_keeps_the_others() -> None:
    """The URLs before it are queued."""
    frontier = frontier_of()
    with pytest.raises(ValueError, match="nonsense"):
        frontier.push([Entry(f"{A}/1"), Entry("nonsense")])
    check(frontier)
    assert len(frontier) == 1


def test_counts_name_every_state() -> None:
    """One server each ready, resting, waiting for its group, idle, and held; two are leased, one to be held later."""

    def group_of(key: str) -> str:
        return "pair" if key in (B, f"{B}:81") else key

    frontier = frontier_of(politeness=Politeness(factor=1, min_delay=10), max_batch=1, group_of=group_of)
    push(frontier, f"{C}/1")
    frontier.close_session(frontier.open_session(0.0), 0.0)
    resting = frontier.open_session(0.0)
    fetch(frontier, resting, 0.0)
    frontier.close_session(resting, 0.1)
    for quality, key in enumerate((C, "http://d.example", A, f"{B}:81", B)):
        push(frontier, f"{key}/2", quality=1.0 + quality)
    assert [frontier.open_session(0.2).server.key for _ in range(2)] == [B, A]
    frontier.record(Measurement("http://idle.example", 0.2, status=200))
    push(frontier, "http://held.example/")
    for key in ("http://held.example", A):
        frontier.hold(key)
    counts = frontier.counts()
    assert counts == {
        "ready": 1,
        "resting": 1,
        "waiting": 1,
        "leased": 2,
        "idle": 1,
        "held": 1,
        "servers": 7,
        "urls": 6,
        "blocked": 0,
    }
    assert counts.keys() - {"servers", "urls", "blocked"} == set(ServerState)


class FrontierModel(RuleBasedStateMachine):
    """Random operations on a frontier and on a model that scans everything each time."""

    policy_name = "capacity"

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.policy = POLICIES[self.policy_name]()
        self.frontier = Frontier(
            self.policy, Politeness(factor=2, min_delay=0.2, max_delay=3), max_batch=4, group_of=self.group_of
        )
        self.queued: dict[str, dict[str, float]] = {}
        self.sessions: list[object] = []
        self.held: set[str] = set()
        self.free_at: dict[str | None, float] = {}
        self.serial = 0

    def group_of(self, key: str) -> str:
        return "pair" if key in ("http://0.example", "http://1.example") else key

    @rule(
        links=st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.1, 0.25, 0.5, 1.0, 3.0])), max_size=4),
        source=st.none() | st.integers(0, 5),
    )
    def push(self, links: list[tuple[int, float]], source: int | None) -> None:
        entries = []
        for server, quality in links:
            self.serial += 1
            key = f"http://{server}.example"
            entries.append(Entry(f"{key}/{self.serial}", quality))
            self.queued.setdefault(key, {})[f"{key}/{self.serial}"] = quality
        self.frontier.push(entries, None if source is None else f"http://{source}.example")

    @precondition(lambda self: any(self.queued.values()))
    @rule(data=st.data(), gain=st.sampled_from([0.01, 0.5, 4.0]))
    def raise_quality(self, data: st.DataObject, gain: float) -> None:
        urls = [url for queue in self.queued.values() for url in queue]
        chosen = data.draw(st.lists(st.sampled_from(urls), max_size=5, unique=True))
        self.frontier.raise_quality([*((url, gain) for url in chosen), ("http://0.example/unknown", gain)])
        for queue in self.queued.values():
            for url in chosen:
                if url in queue:
                    queue[url] += gain

    @rule(number=st.integers(0, 5))
    def drop(self, number: int) -> None:
        server = self.frontier.server(f"http://{number}.example")
        if server is not None:
            dropped = sum(self.frontier.rewrite_queue(server, lambda _: None))
            assert dropped == len(self.queued.get(server.key, ()))
            self.queued.get(server.key, {}).clear()

    @rule(number=st.integers(0, 5))
    def rest(self, number: int) -> None:
        """Note a request for its robots.txt, made without a session."""
        key = f"http://{number}.example"
        if all(session.server.key != key for session in self.sessions):
            self.frontier.servers.rest(key, self.now, 0.0)
            self.free_at[key] = max(self.free_at.get(key, 0.0), self.now + 0.2)

    @rule(number=st.integers(0, 5))
    def hold(self, number: int) -> None:
        key = f"http://{number}.example"
        if self.frontier.server(key) is not None:
            self.frontier.hold(key)
            self.held.add(key)

    @rule(number=st.integers(0, 5))
    def remove(self, number: int) -> None:
        """Its URLs go, and so does its rest, with that of its group if it was the only server there."""
        key = f"http://{number}.example"
        if any(session.server.key == key for session in self.sessions):
            with pytest.raises(IllegalStepError, match="it has a session"):
                self.frontier.remove(key)
        elif self.frontier.server(key) is not None:
            self.frontier.remove(key)
            assert self.frontier.server(key) is None
            self.held.discard(key)
            self.queued.pop(key, None)
            self.free_at.pop(key, None)
            group = self.group_of(key)
            if group != "pair" or all(self.frontier.server(f"http://{other}.example") is None for other in (0, 1)):
                self.free_at.pop(group, None)

    @rule(seconds=st.sampled_from([0.05, 0.5, 2.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def open(self) -> None:
        busy = {self.group_of(s.server.key) for s in self.sessions}
        allowed = [
            self.frontier.server(key)
            for key, urls in self.queued.items()
            if urls
            and key not in self.held
            and self.group_of(key) not in busy
            and max(self.free_at.get(key, 0.0), self.free_at.get(self.group_of(key), 0.0)) <= self.now
        ]
        session = self.frontier.open_session(self.now)
        if not allowed:
            assert session is None
            return
        assert session is not None
        best = max(self.policy.rank(server) for server in allowed)
        assert self.policy.rank(session.server) == pytest.approx(best)
        self.sessions.append(session)

    @precondition(lambda self: self.sessions)
    @rule(pick=st.integers(0, 5), took=st.sampled_from([0.01, 0.3]))
    def fetch(self, pick: int, took: float) -> None:
        session = self.sessions[pick % len(self.sessions)]
        key = session.server.key
        entry = self.frontier.next_url(session, self.now)
        may = not session.ending and session.requests < 4 and self.queued[key]
        if entry is None:
            assert not may or self.now < session.ready_at
            return
        assert entry.quality == max(self.queued[key].values()) == self.queued[key].pop(entry.url)
        self.now += took
        self.frontier.record(
            Measurement(key, self.now, status=200, response_time=took, fetch_time=took, connection_requests=1)
        )

    @precondition(lambda self: self.sessions)
    @rule(pick=st.integers(0, 5))
    def close(self, pick: int) -> None:
        session = self.sessions.pop(pick % len(self.sessions))
        self.frontier.close_session(session, self.now)
        if session.busy_since is not None:
            rest = min(3.0, max(0.2, 2 * (session.last_end - session.busy_since)))
            for key in (session.server.key, self.group_of(session.server.key)):
                self.free_at[key] = max(self.free_at.get(key, 0.0), session.last_end + rest)

    @invariant()
    def holds(self) -> None:
        check(self.frontier)
        assert len(self.frontier) == sum(map(len, self.queued.values()))
        for server in self.frontier.servers:
            leased = any(s.server is server for s in self.sessions)
            assert (server.state is ServerState.LEASED) == leased
            assert (server.state is ServerState.HELD) == (server.key in self.held and not leased)


class PrefixModel(FrontierModel):
    """The same with a policy that learns, looks ahead and skips reranking."""

    policy_name = "prefix"


TestFrontierModel = FrontierModel.TestCase
TestPrefixModel = PrefixModel.TestCase
TestFrontierModel.settings = TestPrefixModel.settings = settings(max_examples=30, stateful_step_count=60, deadline=None)


def test_the_model_takes_every_step_of_a_server() -> None:
    """In addition to its random steps; the two servers of the pair are 0 and 1."""
    with recorded_steps(Server) as steps:
        model = FrontierModel()
        operations = [
            *[lambda: model.push([(0, 0.5), (1, 0.5), (2, 0.25)], None), model.open, model.open],  # 1 is set aside
            *[lambda: model.push([(1, 3.0)], None), lambda: model.rest(1)],
            *[lambda: model.wait(2.0), model.open, lambda: model.drop(1)],  # while it waits
            *[lambda: model.rest(1), lambda: model.push([(1, 1.0)], None), lambda: model.rest(1)],
            *[lambda: model.drop(1), lambda: model.push([(1, 1.0)], None), lambda: model.wait(2.0), model.open],
            *[lambda: model.close(0), model.open],  # 1 is recalled
            *[lambda: model.push([(3, 1.0), (4, 1.0)], None), lambda: model.drop(3), lambda: model.rest(4)],
            *[
                lambda: model.hold(3),
                lambda: model.hold(3),
                lambda: model.hold(4),
                lambda: model.push([(5, 1.0)], None),
            ],
            *[lambda: model.hold(5), lambda: model.push([(0, 1.0)], None), lambda: model.wait(9.0), model.open],
            *[lambda: model.hold(0), lambda: model.hold(1), lambda: model.hold(2)],
        ]
        for operation in operations:
            operation()
            model.holds()
    assert steps == set(SERVER_STEPS)


def test_connection_lost_ends_the_session_and_teaches() -> None:
    """Closed at once after two requests: the limit is two. Closed after 20 s idle: that is the keep-alive time."""
    frontier = frontier_of()
    push(frontier, *(f"{A}/{i}" for i in range(9)))
    session = frontier.open_session(0.0)
    fetch(frontier, session, 0.0, connection_requests=1)
    fetch(frontier, session, 0.2, connection_requests=2)
    frontier.servers.connection_lost(A, 0.31)
    assert session.is_spent
    assert frontier.server(A).estimates.requests_per_connection == 2
    frontier.close_session(session, 0.4)
    session = frontier.open_session(1.0)
    fetch(frontier, session, 1.0, keep_alive_time=60.0)
    frontier.servers.connection_lost(A, 21.1)
    assert frontier.server(A).estimates.keep_alive_time == pytest.approx(20.0)


def test_session_that_sent_nothing_leaves_no_rest() -> None:
    """A cache answered its requests: the server need not rest."""
    frontier = frontier_of(politeness=Politeness(factor=5, min_delay=10))
    push(frontier, f"{A}/1", f"{A}/2")
    session = frontier.open_session(0.0)
    frontier.next_url(session, 0.0)
    frontier.close_session(session, 0.1)
    assert frontier.open_session(0.1) is not None


def test_rest_begins_with_the_last_byte() -> None:
    """The polite wait applies before the answer is recorded."""
    frontier = frontier_of(politeness=Politeness(mode="request", factor=10, min_delay=0))
    push(frontier, f"{A}/1", f"{A}/2")
    session = frontier.open_session(0.0)
    frontier.next_url(session, 0.0)
    frontier.servers.rest(A, 0.2, fetch_time=0.2)
    assert session.ready_at == pytest.approx(2.2)
    frontier.close_session(session, 0.2)
    check(frontier)
    assert frontier.queue.first_due() == pytest.approx(2.2)


def test_session_ends_where_another_server_is_worth_more() -> None:
    """Policy ``prefix``, one connection: a's poor page must wait for b's pages."""
    dispatcher = Dispatcher(frontier_of(BestPrefix()), max_sessions=1)
    frontier = dispatcher.frontier
    push(frontier, f"{A}/good", quality=9.0)
    push(frontier, f"{A}/poor", quality=0.01)
    push(frontier, f"{B}/fair", quality=3.0)
    order = []
    for now in range(3):
        start = dispatcher.next(float(now))
        order.append(start.entry.url)
        frontier.record(Measurement(start.session.server.key, now + 0.1, status=200, response_time=0.1, fetch_time=0.1))
        dispatcher.ended(start.session)
    assert order == [f"{A}/good", f"{B}/fair", f"{A}/poor"]


def test_links_do_not_raise_a_demoted_url_above_others() -> None:
    """All pages of a trap link to the same URLs. Among demoted URLs, links count; quality in sum stays right."""
    frontier = frontier_of(BestPrefix())
    frontier.push([demoted(Entry(f"{A}/trap{number}")) for number in range(3)])
    push(frontier, f"{A}/1", quality=0.01)
    frontier.raise_quality([(f"{A}/trap1", 1.0)] * 99)
    check(frontier)
    session = frontier.open_session(0.0)
    order = [frontier.next_url(session, 0.0).url for _ in range(4)]
    assert order == [f"{A}/1", f"{A}/trap1", f"{A}/trap0", f"{A}/trap2"]
