"""The URL queue compared with a sorted list."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier.entry import Entry, path_of
from crawlproject.frontier.queues import url_queue
from crawlproject.frontier.queues.sort_key import DEMOTED, DEMOTION, OTHER_NAME
from crawlproject.frontier.queues.url_queue import SORTED_ITEMS, UrlQueue
from tests.frontier.queue_checks import check

SERVER = "http://a.example"


def entry(number: int, quality: float = 1.0, priority: int = 0) -> Entry:
    return Entry(f"{SERVER}/{number}", quality, priority)


def fill(queue: UrlQueue, entries: list[Entry], first: int = 1) -> None:
    for arrival, item in enumerate(entries, first):
        queue.push(item, path_of(item.url, SERVER), arrival)


def test_entry_comes_back_as_it_went_in() -> None:
    """URL, quality, priority, depth and payload are unchanged, also for URLs that do not start with the key."""
    urls = (f"{SERVER}/x?y=1", "http://A.example:80/x", "data:text/plain,hello", f"{SERVER}/ü?\udc80=\x00")
    extras = ((3, object()), (3, None), (254, None), (255, None), (10**9, None), (-1, None))
    for url, (depth, payload) in product(urls, extras):
        for by_quality in (True, False):
            queue = UrlQueue(by_quality=by_quality, window=3)
            given_entry = Entry(url, 0.25, -7, depth, payload)
            queue.push(given_entry, path_of(given_entry.url, SERVER), 12)
            assert queue.pop(SERVER) == given_entry


def test_payloads_leave_with_their_urls() -> None:
    """Whatever order they leave in, in a queue of URLs with and without; none is kept afterwards."""
    queue = UrlQueue(by_quality=True, window=3)
    entries = [Entry(f"{SERVER}/{i}", i * 7919 % 499, 0, i % 300, f"of {i}" if i % 3 else None) for i in range(500)]
    fill(queue, entries)
    for raised in (5, 100, 400):
        assert queue.raise_quality(f"/{raised}", 1000.0)
        entries[raised] = entries[raised]._replace(quality=entries[raised].quality + 1000.0)
    left = [queue.pop(SERVER) for _ in range(200)]
    fill(queue, again := [entry._replace(url=f"{entry.url}b") for entry in left], 1000)
    assert len(queue._extras) <= 400
    found = [*left, *queue.abandon(SERVER)]
    assert sorted(found, key=lambda e: e.url) == sorted([*entries, *again], key=lambda e: e.url)
    assert len(queue) == 0
    fill(queue, [Entry(f"{SERVER}/x", payload="of x")])
    assert queue.pop(SERVER).payload == "of x"
    assert queue._extras == {}


@given(
    by_quality=st.booleans(),
    window=st.integers(1, 100),
    steps=st.lists(
        st.one_of(
            st.tuples(st.floats(0, 1e6), st.integers(-3, 3) | st.just(OTHER_NAME)),  # push
            st.just("pop"),
            st.integers(1, 150).map(lambda n: ("window", n)),
            st.tuples(st.just("raise"), st.integers(0, 400), st.floats(0, 1e6)),
        ),
        max_size=400,
    ),
)
def test_queue_behaves_like_a_sorted_list(by_quality: bool, window: int, steps: list[object]) -> None:
    """Any pushes, pops, windows and raised qualities: same order as sorting, same sum as adding up."""
    queue = UrlQueue(by_quality=by_quality, window=window)
    model: list[tuple[tuple[float, ...], Entry]] = []

    def sort_key(item: Entry) -> tuple[float, ...]:
        arrival = int(item.url.rpartition("/")[2])
        return (-item.quality, -item.priority, arrival) if by_quality else (-item.priority, arrival)

    for arrival, step in enumerate(steps, 1):
        if step == "pop":
            if model:
                assert queue.first(SERVER, 1) == [model[0][1]]
                assert queue.pop(SERVER) == model.pop(0)[1]
        elif step[0] == "window":
            queue.set_window(step[1])
        elif step[0] == "raise":
            url = f"{SERVER}/{step[1]}"
            found = [i for i, (_, item) in enumerate(model) if item.url == url]
            expected = None
            for i in found:
                gain = step[2] * (DEMOTION if model[i][1].priority in (DEMOTED, OTHER_NAME) else 1)
                item = model[i][1]._replace(quality=model[i][1].quality + gain)
                model[i] = (sort_key(item), item)
                expected = item.quality
            assert queue.raise_quality(path_of(url, SERVER), step[2]) == expected
            model.sort(key=lambda pair: pair[0])
        else:
            item = Entry(f"{SERVER}/{arrival}", *step)
            queue.push(item, path_of(item.url, SERVER), arrival)
            model.append((sort_key(item), item))
            model.sort(key=lambda pair: pair[0])
        check(queue)
        assert len(queue) == len(model)
        assert queue.best_quality == (model[0][1].quality if model else 0.0)
        expected = sum(item.quality for _, item in model[: queue._window])
        assert queue.window_sum == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_raised_qualities_of_many_urls() -> None:
    """URLs deep in the queue rise to the top, are handed out once, and leave nothing behind."""
    queue = UrlQueue(by_quality=True, window=5)
    count = 20 * SORTED_ITEMS
    qualities = {f"{SERVER}/{i}": (i * 7919) % 4093 / 4093 for i in range(count)}
    fill(queue, [Entry(url, quality) for url, quality in qualities.items()])
    for i in range(0, count, 3):
        for _ in range(2):
            url = f"{SERVER}/{i}"
            qualities[url] += 0.75
            assert queue.raise_quality(path_of(url, SERVER), 0.75) == qualities[url]
    check(queue)
    assert len(queue) == count
    popped = {e.url: e.quality for e in queue.abandon(SERVER)}
    assert popped == qualities
    assert list(popped.values()) == sorted(qualities.values(), reverse=True)
    assert queue.raise_quality("/1", 1.0) is None


def test_a_hash_across_two_others_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of one hash and the start of the next equal a third: its URL is elsewhere or not queued."""
    marks = {b"/0": b"00001111", b"/1": b"11110000", b"/2": b"11111111"}
    monkeypatch.setattr(url_queue, "_mark", marks.__getitem__)
    queue = UrlQueue(by_quality=True, window=5)
    fill(queue, [entry(0, 5.0), entry(1, 4.0)])
    assert queue.raise_quality("/2", 1.0) is None
    queue.push(entry(2, 3.0), "/2", 10)
    assert queue.raise_quality("/2", 3.0) == 6.0
    check(queue)
    assert [e.url for e in queue.abandon(SERVER)] == [f"{SERVER}/{number}" for number in (2, 0, 1)]


@pytest.mark.parametrize("others", [0, 10 * SORTED_ITEMS])
def test_the_same_url_twice(others: int) -> None:
    """As with ``dont_filter``: both are handed out, and a gain applies to one of them."""
    queue = UrlQueue(by_quality=True, window=5)
    fill(queue, [*(entry(number, 9.0) for number in range(others)), entry(-1, 1.0), entry(-1, 2.0)])
    assert queue.raise_quality("/-1", 0.5) in (1.5, 2.5)
    assert queue.raise_quality("/-1", 9.0) in (10.0, 10.5, 11.0, 11.5)
    check(queue)
    assert sum(e.quality for e in queue.abandon(SERVER) if e.url == f"{SERVER}/-1") == 12.5
    check(queue)
