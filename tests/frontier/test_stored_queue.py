"""The queue over a store compared with the queue in memory."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawlproject.frontier import Entry, QueueRows, StoredUrlQueue, UrlQueue
from crawlproject.frontier.entry import path_of
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES, decode_sort_key
from crawlproject.frontier.queues.stored_queue import READ_AT_ONCE, SPARE
from tests.frontier.queue_checks import check

SERVER = "http://a.example"


class DictRows:
    """``UrlRows`` in a dict."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.places: dict[bytes, bytes] = {}
        self.reads = 0

    def put(self, server: int, place: bytes, row: bytes, digest: bytes | None) -> None:
        self.rows[place] = row
        if digest is not None:
            self.places[digest] = place

    def move(self, server: int, digest: bytes, old: bytes, place: bytes, row: bytes) -> None:
        assert self.rows.pop(old) == row
        self.put(server, place, row, digest)

    def delete(self, server: int, place: bytes, digest: bytes | None) -> None:
        del self.rows[place]
        if digest is not None and self.places.get(digest) == place:
            del self.places[digest]

    def get(self, server: int, place: bytes) -> bytes | None:
        return self.rows.get(place)

    def after(self, server: int, place: bytes, count: int) -> list[bytes]:
        self.reads += 1
        places = sorted(self.rows)
        start = bisect_right(places, place)
        return places[start : start + count]

    def find(self, server: int, digest: bytes) -> tuple[bytes, bytes] | None:
        place = self.places.get(digest)
        return None if place is None else (place, self.rows[place])


def queue_over(rows: DictRows, *, by_quality: bool = True, window: int = 1) -> StoredUrlQueue:
    return StoredUrlQueue(QueueRows(rows, by_quality, indexed=True), 7, window)


def reopened(rows: DictRows, length: int, window: int = 1, *, by_quality: bool = True) -> StoredUrlQueue:
    queue = queue_over(rows, by_quality=by_quality)
    queue.restore(length)
    queue.set_window(window)
    return queue


def unplaced(entry: Entry) -> Entry:
    return entry._replace(place=None)


def url(number: int) -> str:
    return f"{SERVER}/{number}"


def popped(queue: StoredUrlQueue) -> list[Entry]:
    return [queue.pop(SERVER) for _ in range(len(queue))]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.floats(0, 4), st.integers(-2, 2), st.sampled_from([None, b"", b"xyz"])),
        st.tuples(st.just("push"), st.sampled_from([0.0, 1.0]), st.just(0), st.none()),
        st.tuples(st.just("pop")),
        st.tuples(st.just("window"), st.integers(1, 60)),
        st.tuples(st.just("raise"), st.integers(1, 60), st.floats(0.1, 4)),
        st.tuples(st.just("fill"), st.integers(1, 80)),
        st.tuples(st.just("acknowledge")),
        st.tuples(st.just("rewrite"), st.integers(1, 9)),
        st.tuples(st.just("reopen")),
    ),
    max_size=80,
)


class Pair:
    """Both queues, with the same operations."""

    def __init__(self, *, by_quality: bool) -> None:
        self.by_quality = by_quality
        self.rows = DictRows()
        self.stored = queue_over(self.rows, by_quality=by_quality)
        self.memory = UrlQueue(by_quality=by_quality, window=1)
        self.leased: list[Entry] = []
        self.arrival = 0

    def push(self, quality: float, priority: int, payload: bytes | None) -> None:
        self.arrival += 1
        entry = Entry(url(self.arrival), quality, priority, self.arrival % 3, payload)
        for queue in (self.stored, self.memory):
            queue.push(entry, path_of(entry.url, SERVER), self.arrival)

    def fill(self, count: int) -> None:
        for number in range(count):
            self.push(number * 7919 % 101 / 50, 0, None)

    def pop(self) -> None:
        if len(self.memory):
            (best,) = self.stored.first(SERVER, 1)
            entry = self.stored.pop(SERVER)
            assert best == unplaced(entry)
            assert unplaced(entry) == self.memory.pop(SERVER)
            self.leased.append(entry)

    def window(self, window: int) -> None:
        for queue in (self.stored, self.memory):
            queue.set_window(window)

    def raise_(self, number: int, gain: float) -> None:
        answers = [queue.raise_quality(path_of(url(number), SERVER), gain) for queue in (self.stored, self.memory)]
        assert answers[0] == answers[1]

    def rewrite(self, count: int) -> None:
        """Every third is dropped, every third demoted."""

        def judge(entry: Entry) -> Entry | None:
            rest = int(entry.url.rpartition("/")[2]) % 3
            if rest == 1 and entry.priority != -9:
                return entry._replace(quality=entry.quality / 8, priority=-9)
            return entry if rest else None

        changes = [chain.from_iterable(queue.rewrite(SERVER, judge, count)) for queue in (self.stored, self.memory)]
        ours, theirs = ([(unplaced(before), after and unplaced(after)) for before, after in each] for each in changes)
        assert sorted(ours) == sorted(theirs)

    def acknowledge(self) -> None:
        if self.leased:
            self.stored.acknowledge(self.leased.pop(0), SERVER)

    def reopen(self) -> None:
        """As after a crash: URLs handed out and not acknowledged are queued again."""
        length = self.stored.stored
        assert length == len(self.rows.rows)
        stored = reopened(self.rows, length, self.stored._window, by_quality=self.by_quality)
        self.stored = stored
        self.memory = UrlQueue(by_quality=self.by_quality, window=stored._window)
        check = reopened(self.rows, length, by_quality=self.by_quality)
        for entry in popped(check):
            assert entry.place is not None
            arrival = decode_sort_key(entry.place, by_quality=self.by_quality).arrival
            self.memory.push(entry, path_of(entry.url, SERVER), arrival)
        self.leased.clear()

    def check(self) -> None:
        stored, memory = self.stored, self.memory
        check(stored)
        assert len(stored) == len(memory)
        assert stored.best_quality == memory.best_quality
        assert stored.window_sum == pytest.approx(memory.window_sum, rel=1e-9, abs=1e-9)
        assert stored.best_rate(0.2, 0.5, 0.1) == pytest.approx(memory.best_rate(0.2, 0.5, 0.1))
        assert len(self.rows.rows) == len(stored) + len(self.leased)
        assert len(self.rows.places) == len(self.rows.rows)


@example(by_quality=False, steps=[("push", 0.0, 0, None), ("rewrite", 1), ("fill", 3), ("reopen",), ("rewrite", 1)])
@given(by_quality=st.booleans(), steps=STEPS)
def test_stored_queue_behaves_like_the_one_in_memory(by_quality: bool, steps: list[tuple]) -> None:
    """Any pushes, pops, windows, raises, acknowledgements and restarts."""
    pair = Pair(by_quality=by_quality)
    for name, *args in steps:
        step: Callable[..., None] = getattr(pair, "raise_" if name == "raise" else name)
        step(*args)
        pair.check()
    assert list(map(unplaced, popped(pair.stored))) == list(map(unplaced, pair.memory.abandon(SERVER)))


def test_what_cannot_be_stored_waits_in_memory() -> None:
    """It keeps its position among the others, and is lost after a restart."""
    rows = DictRows()
    queue = queue_over(rows)
    for number in range(200):
        payload = object() if number % 10 == 0 else None
        queue.push(Entry(url(number), number % 7, payload=payload), path_of(url(number), SERVER), number)
        check(queue)
    assert len(rows.rows) == 180
    again = reopened(rows, queue.stored)
    order = sorted(range(200), key=lambda number: (-(number % 7), number))
    assert [e.url for e in popped(queue)] == [url(number) for number in order]
    assert [e.url for e in popped(again)] == [url(number) for number in order if number % 10]


def test_the_store_is_read_once_for_many_pops() -> None:
    """And the head stays short."""
    rows = DictRows()
    queue = queue_over(rows, window=10)
    for number in range(1000):
        queue.push(Entry(url(number)), path_of(url(number), SERVER), number)
    assert len(queue._head) <= (10 + 2 * SPARE) * SORT_KEY_BYTES
    for number in range(900):
        assert queue.pop(SERVER).url == url(number)
    assert rows.reads <= 900 / SPARE + 1


def many(count: int) -> tuple[StoredUrlQueue, DictRows]:
    rows = DictRows()
    queue = queue_over(rows)
    for number in range(count):
        queue.push(Entry(url(number)), f"/{number}", number + 10)
    return queue, rows


def test_abandoned_urls_are_read_when_they_are_taken() -> None:
    """A server that is given up or full may have millions; those of a full one stay stored, and take no memory."""
    queue, rows = many(3 * READ_AT_ONCE)
    handed_out = queue.pop(SERVER)
    rows.reads = 0
    left = queue.abandon(SERVER)
    assert (rows.reads, len(queue), queue.stored) == (0, 0, 3 * READ_AT_ONCE)
    entries = [next(left)]
    assert rows.reads == 1
    queue.acknowledge(handed_out, SERVER)
    entries += left
    assert [entry.url for entry in entries] == [url(number) for number in range(1, 3 * READ_AT_ONCE)]
    assert (len(queue._leased), queue.stored) == (0, 3 * READ_AT_ONCE - 1)
    for entry in (entries[0], *entries[:10]):
        queue.acknowledge(entry, SERVER)
    assert queue.stored == len(rows.rows) == 3 * READ_AT_ONCE - 11


def test_what_comes_after_the_end_of_a_queue_is_not_taken_twice() -> None:
    """A page in progress may show URLs of its full server, and may itself be given back."""
    queue, rows = many(3 * READ_AT_ONCE)
    left = queue.abandon(SERVER)
    entries = [next(left)]
    for number in (-1, 10**6):  # in the store before and after all others
        queue.push(Entry(url(number)), f"/{number}", number + 1)
        assert queue.pop(SERVER).url == url(number)
    assert queue.raise_quality(f"/{READ_AT_ONCE}", 1.0) is None
    entries += left
    assert [entry.url for entry in entries] == [url(number) for number in range(3 * READ_AT_ONCE)]
    assert (popped(queue), queue.stored) == ([], len(rows.rows))
    check(queue)


def test_a_url_that_was_handed_out_does_not_come_again() -> None:
    """Even if better URLs have moved the head's end before its position."""
    queue = queue_over(DictRows())
    queue.push(Entry(url(0), 0.5), path_of(url(0), SERVER), 1)
    leased = queue.pop(SERVER)
    for number in range(1, 200):
        queue.push(Entry(url(number), 0.9), path_of(url(number), SERVER), number + 1)
    assert url(0) not in {entry.url for entry in popped(queue)}
    queue.acknowledge(leased, SERVER)
    queue.acknowledge(leased, SERVER)
    assert queue.stored == 199


def test_a_store_that_lost_rows_is_an_error() -> None:
    """Instead of a crawl that never ends."""
    rows = DictRows()
    queue = queue_over(rows)
    queue.push(Entry(url(1)), path_of(url(1), SERVER), 1)
    rows.rows.clear()
    with pytest.raises(LookupError, match="lost"):
        queue.pop(SERVER)
    with pytest.raises(LookupError, match="has lost URLs of the server number 7"):
        next(queue.abandon(SERVER))
    with pytest.raises(LookupError, match="lost"):
        reopened(rows, 5)
