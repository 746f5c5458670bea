"""Servers that get the next sessions: a query without side effects."""

from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier import Entry, Frontier, Measurement, Politeness, QualityFirst
from crawlproject.frontier.queues.heap import HeapItem, LazyHeap
from crawlproject.frontier.server_queue import WOKEN_AT_ONCE
from tests.frontier.invariants import check

POLITE = Politeness(mode="session", factor=0, min_delay=5, max_delay=5)


class Thing:
    def __init__(self) -> None:
        self.heap_item: HeapItem | None = None


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["push", "rekey", "remove"])), max_size=60),
    st.integers(0, 70),
)
def test_a_heap_gives_its_values_in_order(steps: list[tuple[int, str]], count: int) -> None:
    """Stale items are skipped, ties are in order of arrival; its top has values, each of them once."""
    heap: LazyHeap[Thing] = LazyHeap()
    inside: list[Thing] = []
    for key, step in steps:
        if step == "push" or not inside:
            inside.append(Thing())
            heap.push(inside[-1], float(key))
        elif step == "rekey":
            heap.rekey(inside[key % len(inside)], float(key))
        else:
            heap.remove(inside.pop(key % len(inside)))
    about_first = heap.about_first(count)
    assert len(set(about_first)) == len(about_first) == min(count, len(inside))
    assert set(heap.about_first(len(inside))) == set(heap.values()) == set(inside)
    in_order = sorted(inside, key=lambda thing: thing.heap_item or ())
    assert about_first[:1] == in_order[: min(count, 1)]
    assert [heap.pop() for _ in inside] == in_order
    assert heap.pop() is None


@given(st.lists(st.integers(1, 1000), unique=True, max_size=40), st.integers(0, 50))
def test_upcoming_servers_are_those_that_get_the_next_sessions(qualities: list[int], count: int) -> None:
    """All of them if so many are asked for; else roughly, but for the first one. The query changes nothing."""
    frontier = Frontier(QualityFirst(), POLITE)
    frontier.push(Entry(f"http://s{quality}.test/", float(quality)) for quality in qualities)
    upcoming = frontier.queue.upcoming(count, 0.0)
    check(frontier)
    opened = [frontier.open_session(0.0) for _ in range(min(count, len(qualities)))]
    keys = [session.server.key for session in opened]
    assert upcoming[:1] == keys[:1]
    assert len(set(upcoming)) == len(keys)
    assert count < len(qualities) or set(upcoming) == set(keys)


def rest(frontier: Frontier, key: str, now: float) -> None:
    """Fetch a page of ``key``, so that it rests from ``now`` on."""
    session = frontier.open_session(now)
    assert session is not None
    assert session.server.key == key
    frontier.next_url(session, now)
    frontier.record(Measurement(key, now, status=200, response_time=0.1, fetch_time=0.1, connection_requests=1))
    frontier.close_session(session, now)


def test_servers_that_rest_come_after_those_that_are_ready() -> None:
    """By the end of their rest, and only if that is soon."""
    frontier = Frontier(QualityFirst(), POLITE)
    for name, quality in (("a", 3.0), ("b", 2.0), ("c", 1.0)):
        frontier.push([Entry(f"http://{name}.test/{page}", quality) for page in (1, 2)])
    rest(frontier, "http://a.test", 1.0)
    rest(frontier, "http://b.test", 2.0)
    assert frontier.queue.upcoming(9, 10.0) == ["http://c.test", "http://a.test", "http://b.test"]
    assert frontier.queue.upcoming(2, 10.0) == ["http://c.test", "http://a.test"]
    assert frontier.queue.upcoming(9, 6.5) == ["http://c.test", "http://a.test"]
    check(frontier)


def test_best_server_of_a_group_that_rests_stands_for_it() -> None:
    """Servers of a busy group are set aside; when the group is free, its best server is next."""
    frontier = Frontier(QualityFirst(), POLITE, group_of=lambda _: "all")
    frontier.push([Entry("http://a.test/", 3.0), Entry("http://b.test/", 1.0), Entry("http://c.test/", 2.0)])
    rest(frontier, "http://a.test", 1.0)
    assert frontier.open_session(1.0) is None
    assert frontier.queue.upcoming(9, 10.0) == ["http://c.test"]


def test_servers_that_are_due_at_once_are_made_ready_a_few_at_a_time() -> None:
    """After a pause 100,000 of them held the event loop for 0.8 s. Each gets its session, at the same time."""
    count = 2 * WOKEN_AT_ONCE + 50
    frontier = Frontier(QualityFirst(), POLITE)
    frontier.push(Entry(f"http://{number}.example/{page}") for number in range(count) for page in range(2))
    for _ in range(count):
        session = frontier.open_session(0.0)
        assert session is not None
        frontier.next_url(session, 0.0)
        frontier.record(Measurement(session.server.key, 0.0, 200))
        frontier.close_session(session, 0.0)
    assert frontier.counts()["resting"] == count
    later = 1000.0
    assert frontier.open_session(later) is not None
    assert frontier.counts()["resting"] == count - WOKEN_AT_ONCE
    assert frontier.queue.first_due() == later
    assert all(frontier.open_session(later) is not None for _ in range(count - 1))
    check(frontier)
