"""Who owns what: equal shares, one answer, few moves."""

import random
from collections import Counter

import pytest

from crawlproject.workers.partitions import assign

SIZES = [(256, 1), (256, 2), (256, 3), (256, 4), (256, 7), (256, 8), (256, 16), (1024, 30), (1024, 64), (4, 7), (1, 1)]


def ids(count: int, seed: int = 0) -> list[str]:
    return [f"worker-{seed}-{number}" for number in range(count)]


@pytest.mark.parametrize(("partitions", "workers"), SIZES)
def test_shares_are_equal(partitions: int, workers: int) -> None:
    owners = assign(partitions, ids(workers))
    assert len(owners) == partitions
    shares = Counter(dict.fromkeys(ids(workers), 0))
    shares.update(owners)
    assert len(shares) == workers
    assert max(shares.values()) - min(shares.values()) <= 1


def test_order_does_not_matter() -> None:
    workers = ids(9)
    owners = assign(256, workers)
    random.Random(1).shuffle(workers)
    assert assign(256, workers) == assign(256, set(workers)) == assign(256, [*workers, workers[0]]) == owners


def test_known_owners() -> None:
    """Workers of different versions must agree."""
    assert assign(8, ["a", "b", "c"]) == ["b", "c", "b", "c", "a", "a", "b", "c"]


def test_answer_is_the_callers_own() -> None:
    assign(8, ["a"]).clear()
    assert assign(8, ["a"]) == ["a"] * 8


@pytest.mark.parametrize(
    ("partitions", "workers", "limit"),
    [(256, 1, 1.01), (256, 2, 1.3), (256, 3, 1.3), (256, 4, 1.3), (256, 8, 1.6), (256, 16, 2.1), (1024, 63, 4.0)],
)
def test_few_move_when_a_worker_joins_or_leaves(partitions: int, workers: int, limit: float) -> None:
    """Moved partitions relative to the share of one worker, which must move; the limits are measured."""
    for seed in range(5):
        more = ids(workers + 1, seed)
        before, after = assign(partitions, more[:-1]), assign(partitions, more)
        moved = sum(one != other for one, other in zip(before, after, strict=True))
        assert moved <= limit * -(-partitions // (workers + 1))


def test_no_workers() -> None:
    with pytest.raises(ValueError, match="no workers"):
        assign(8, [])
