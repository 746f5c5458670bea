"""The invariants of a server's URL queue."""

from crawlproject.frontier.queues import url_queue
from crawlproject.frontier.queues.packed_url import ItemHeap, path_in
from crawlproject.frontier.queues.protocols import ServerUrls
from crawlproject.frontier.queues.stored_queue import SIZE, SPARE, StoredUrlQueue
from crawlproject.frontier.queues.url_queue import UrlQueue


def check(queue: ServerUrls) -> None:
    """Assert every invariant. O(n log n)."""
    if isinstance(queue, StoredUrlQueue):
        _check_stored(queue)
    else:
        assert isinstance(queue, UrlQueue)
        _check_in_memory(queue)


def _check_in_memory(queue: UrlQueue) -> None:
    items = list(map(queue._with_loss, queue._top, queue._losses))
    assert items == sorted(items)
    if queue._rest:
        assert len(items) >= queue._window, "the window must be covered"
        _check_heap(queue._rest, items[-1])
    if queue._marks is not None:
        assert queue._marks == b"".join(url_queue._mark(path_in(item)) for item in queue._top)


def _check_heap(rest: ItemHeap, before: bytes) -> None:
    """All items come after ``before``."""
    heap = rest._heap
    valid = [item for item in heap if item not in rest._stale]
    assert len(valid) == len(rest)
    assert all(before < item for item in valid)
    assert all(heap[(i - 1) // 2] < heap[i] for i in range(1, len(heap))), "not a heap"
    if rest._by_path is not None:
        assert {id(item) for item in rest._by_path.values()} <= {id(item) for item in valid}
        assert all(key == rest._key(item) for key, item in rest._by_path.items())


def _check_stored(queue: StoredUrlQueue) -> None:
    head = queue._head
    sort_keys = [head[at : at + SIZE] for at in range(0, len(head), SIZE)]
    assert sort_keys == sorted(set(sort_keys))
    assert not queue._leased & set(sort_keys)
    assert min(queue._window, queue._length) <= len(sort_keys) <= min(queue._length, queue._window + 2 * SPARE)
