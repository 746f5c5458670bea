"""Rewriting a server's queue, and dropping it, in memory and on disk."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier
from crawlproject.frontier.frontier import REWRITE_STEP
from crawlproject.frontier.queues.stored_queue import StoredUrlQueue
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"


@pytest.fixture(params=["memory", "disk"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Frontier]]:
    """A frontier; on disk, each call closes and reopens it."""
    stores: list[DiskStore] = []
    frontier = Frontier(BestPrefix())

    def reopen() -> Frontier:
        if request.param == "memory":
            return frontier
        while stores:
            store = stores.pop()
            store.commit()
            store.close()
        stores.append(DiskStore(tmp_path, StoreLabel("web", "quality")))
        fresh = Frontier(BestPrefix())
        DiskFrontierStore(stores[0], 0.0, indexed=True).load(fresh, 0.0)
        return fresh

    yield reopen
    while stores:
        stores.pop().close()


def fetch_all(frontier: Frontier) -> list[tuple[str, float]]:
    """(URL, quality) in the order of fetching."""
    fetched = []
    now = 0.0
    while (session := frontier.open_session(now)) is not None:
        while (entry := frontier.next_url(session, now)) is not None:
            fetched.append((entry.url, entry.quality))
            frontier.acknowledge(entry)
        frontier.close_session(session, now)
        now += 1
    return fetched


def test_urls_are_dropped_replaced_and_kept(opened: Callable[[], Frontier]) -> None:
    """Odd ones are dropped, the fourth is replaced; URLs of other servers and those handed out are unchanged."""
    frontier = opened()
    frontier.push([Entry(f"{A}/{n}", 10.0 + n) for n in range(100)])
    frontier.push([Entry(f"{B}/1", 1.0)])
    session = frontier.open_session(0.0)
    out = frontier.next_url(session, 0.0)

    def judge(entry: Entry) -> Entry | None:
        number = int(entry.url.rpartition("/")[2])
        return None if number % 2 else entry._replace(url=f"{A}/four") if number == 4 else entry

    assert sum(frontier.rewrite_queue(frontier.server(A), judge)) == 49
    check(frontier)
    frontier.acknowledge(out)
    frontier.close_session(session, 0.0)
    assert len(frontier) == 51
    frontier = opened()
    assert len(frontier) == 51
    expected = [(f"{A}/{n}" if n != 4 else f"{A}/four", 10.0 + n) for n in range(98, -1, -2)]
    assert (out.url, fetch_all(frontier)) == (f"{A}/99", [*expected, (f"{B}/1", 1.0)])


def test_long_queue_is_gone_through_in_steps(opened: Callable[[], Frontier]) -> None:
    """100,000 URLs blocked the event loop for 2.8 s; between steps the server is usable, and no URL is lost."""
    frontier = opened()
    count = 2 * REWRITE_STEP + 9
    frontier.push([Entry(f"{A}/{n}", 10.0 + n) for n in range(count)])
    server = frontier.server(A)
    assert server is not None

    def odd(entry: Entry) -> Entry | None:
        name = entry.url.rpartition("/")[2]
        return entry if name == "new" or int(name) % 2 else None

    steps = frontier.rewrite_queue(server, odd)
    assert next(steps) == REWRITE_STEP / 2
    frontier.push([Entry(f"{A}/new", 1.0)])
    assert sum(steps) == count // 2 + 1 - REWRITE_STEP / 2
    check(frontier)
    urls = [url for url, _ in fetch_all(opened())]
    assert sorted(urls) == sorted([f"{A}/new", *(f"{A}/{n}" for n in range(1, count, 2))])


@pytest.fixture
def entries_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Number of entries read from queues so far."""
    read = 0

    def counting(made: Callable[..., Entry]) -> Callable[..., Entry]:
        def counted(*args: Any, **kwargs: Any) -> Entry:
            nonlocal read
            read += 1
            return made(*args, **kwargs)

        return counted

    monkeypatch.setattr(UrlQueue, "_entry", counting(UrlQueue._entry))
    monkeypatch.setattr(StoredUrlQueue, "_entry", counting(StoredUrlQueue._entry))
    return lambda: read


def test_a_step_reads_no_more_than_it_judges(opened: Callable[[], Frontier], entries_read: Callable[[], int]) -> None:
    """Reading all of 60,000 URLs in the first step blocked the event loop for 0.3 s."""
    frontier = opened()
    frontier.push([Entry(f"{A}/{n}", 10.0 + n) for n in range(5 * REWRITE_STEP)])
    server = frontier.server(A)
    assert server is not None
    steps = frontier.rewrite_queue(server, lambda entry: None)
    assert next(steps) == REWRITE_STEP
    assert REWRITE_STEP <= entries_read() <= REWRITE_STEP + 10
    frontier.push([Entry(f"{A}/new{n}", 1.0) for n in range(300)])
    session = frontier.open_session(0.0)
    for _ in range(100):
        frontier.next_url(session, 0.0)
    frontier.close_session(session, 0.0)
    for number, _ in enumerate(steps):
        assert number <= 5, "what is pushed in the meantime makes it endless"
        frontier.push([Entry(f"{A}/last{number}", 0.0)])
    assert len(server.urls) <= 306
    check(frontier)


def test_sifting_that_is_broken_off_loses_nothing(opened: Callable[[], Frontier]) -> None:
    """Kept URLs are queued again."""
    frontier = opened()
    frontier.push([Entry(f"{A}/{n}", 10.0 + n) for n in range(2 * REWRITE_STEP)])
    server = frontier.server(A)
    assert server is not None
    steps = frontier.rewrite_queue(server, lambda entry: entry)
    next(steps)
    steps.close()
    check(frontier)
    assert len(fetch_all(opened())) == 2 * REWRITE_STEP


@pytest.mark.parametrize("steps", [1, 2])
def test_a_server_may_be_removed_between_steps(opened: Callable[[], Frontier], steps: int) -> None:
    """The rest is forgotten, nothing is counted."""
    frontier = opened()
    frontier.push(Entry(f"{A}/{number}") for number in range(2 * REWRITE_STEP))
    rewriting = frontier.rewrite_queue(frontier.servers[A], lambda entry: entry)
    for _ in range(steps):
        next(rewriting)
    frontier.remove(A)
    assert list(rewriting) == []
    frontier.push([Entry(f"{A}/again")])
    assert fetch_all(frontier) == [(f"{A}/again", 1.0)]
    assert len(frontier) == 0
    check(frontier)


def test_a_url_that_becomes_better_is_still_judged(opened: Callable[[], Frontier]) -> None:
    """Between two steps its quality does not pass those judged already: the pages of a trap link to each other."""
    frontier = opened()
    frontier.push([Entry(f"{A}/{n}", 10.0) for n in range(2 * REWRITE_STEP)])
    steps = frontier.rewrite_queue(frontier.servers[A], lambda _: None)
    next(steps)
    frontier.raise_quality([(f"{A}/{2 * REWRITE_STEP - 1}", 5.0)])
    list(steps)
    assert len(frontier) == 0
    check(frontier)


@pytest.mark.parametrize("leave", [Frontier.give_up, Frontier.fill])
def test_a_server_may_be_given_up_between_steps(
    opened: Callable[[], Frontier], leave: Callable[[Frontier, str], None]
) -> None:
    """Then its URLs are dropped, judged or not."""
    frontier = opened()
    frontier.push([Entry(f"{A}/{n}") for n in range(3 * REWRITE_STEP)])
    steps = frontier.rewrite_queue(frontier.servers[A], lambda entry: entry)
    next(steps)
    leave(frontier, A)
    assert list(steps) == []
    assert (len(frontier), len(drop(frontier))) == (0, 3 * REWRITE_STEP)
    check(frontier)


def drop(frontier: Frontier, limit: int | None = None) -> list[str]:
    """The URLs dropped in a step, each acknowledged."""
    dropped = frontier.drops.take(limit)
    for entry in dropped:
        frontier.acknowledge(entry)
    return [entry.url for entry in dropped]


@pytest.mark.parametrize("leave", [Frontier.give_up, Frontier.fill])
def test_urls_of_a_server_are_dropped_in_steps(
    opened: Callable[[], Frontier], entries_read: Callable[[], int], leave: Callable[[Frontier, str], None]
) -> None:
    """50,000 URLs of a dead server blocked the event loop for 0.7 s; none of them is queued between two steps."""
    frontier = opened()
    urls = [f"{A}/{n}" for n in range(100)]
    frontier.push(Entry(url, 1000.0 - n) for n, url in enumerate(urls))
    frontier.push([Entry(f"{B}/")])
    leave(frontier, A)
    assert (len(frontier), entries_read()) == (1, 0)
    assert drop(frontier, 30) == urls[:30]
    assert entries_read() == 30
    frontier.push([Entry(f"{A}/late")])
    check(frontier)
    assert drop(frontier, 30) == [f"{A}/late", *urls[30:60]]
    assert frontier.drops.are_left
    assert drop(frontier) == urls[60:]
    assert not frontier.drops.are_left
    assert drop(frontier) == []
    assert [url for url, _ in fetch_all(opened())] == [f"{B}/"]


def test_what_was_not_dropped_yet_is_dropped_after_a_restart(tmp_path: Path) -> None:
    """Also if the process is killed between two steps: the last commit has the server's state, and the rest."""

    def resumed() -> tuple[DiskStore, Frontier]:
        store, frontier = DiskStore(tmp_path, StoreLabel("web", "quality")), Frontier(BestPrefix())
        DiskFrontierStore(store, 0.0, indexed=True).load(frontier, 0.0)
        return store, frontier

    urls = [f"{A}/{n}" for n in range(100)]
    store, frontier = resumed()
    frontier.push(Entry(url, 1000.0 - n) for n, url in enumerate(urls))
    store.commit()
    frontier.give_up(A)
    drop(frontier, 30)
    store.commit()
    drop(frontier, 30)  # not committed
    store.close()
    store, frontier = resumed()
    assert (len(frontier), frontier.given_up, frontier.drops.are_left) == (0, 1, True)
    assert drop(frontier, 50) + drop(frontier, 50) == urls[30:]
    store.commit()
    store.close()
    store, frontier = resumed()
    assert drop(frontier) == []
    store.close()


def test_a_server_may_be_removed_before_all_its_urls_are_dropped(opened: Callable[[], Frontier]) -> None:
    """Another worker drops the rest; the URLs of the next server follow."""
    frontier = opened()
    for server in (A, B):
        frontier.push(Entry(f"{server}/{n}") for n in range(9))
        frontier.give_up(server)
    drop(frontier, 3)
    frontier.remove(A)
    frontier.push([Entry(f"{A}/again")])
    assert drop(frontier, 5) == [f"{B}/{n}" for n in range(5)]
    assert len(drop(frontier)) == 4
    assert len(frontier) == 1
