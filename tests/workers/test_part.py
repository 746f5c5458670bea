"""What a partition remembers of its commits."""

from __future__ import annotations

from crawlproject.workers.control import Commit
from crawlproject.workers.part import KEPT, KEPT_BYTES, Part


def commit(seq: int, size: int = 10) -> Commit:
    return Commit(7, 1, seq, bytes(size), 0, 0, [], {}, [])


def seqs(part: Part, after: int) -> list[int] | None:
    found = part.missing(after)
    return None if found is None else [each.seq for _, each in found]


def test_commits_that_redis_may_lose_are_kept() -> None:
    """As long as they are young, and not too large."""
    part = Part(7, 1, 0, "")
    for seq in (1, 2, 3):
        part.confirmed(commit(seq), float(seq))
    assert seqs(part, 1) == [2, 3]
    assert seqs(part, 0) == [1, 2, 3]
    part.confirmed(commit(4), 2.5 + KEPT)
    assert seqs(part, 2) == [3, 4]
    assert seqs(part, 1) is None
    part.confirmed(commit(5, KEPT_BYTES), 3.0 + KEPT)
    assert seqs(part, 3) is None


def test_a_commit_confirmed_twice_counts_once() -> None:
    """Its first answer was lost."""
    part = Part(7, 1, 0, "")
    part.confirmed(commit(1), 1.0)
    part.confirmed(commit(1), 2.0)
    assert (seqs(part, 0), part.journal) == ([1], 10)


def test_commits_of_an_earlier_epoch_are_of_no_use() -> None:
    """After a partition was taken again."""
    part = Part(7, 1, 0, "")
    part.confirmed(commit(1), 1.0)
    part.taken_again(3)
    assert (part.epoch, seqs(part, 0)) == (3, None)
    part.confirmed(commit(2, KEPT_BYTES), 1.0)
    assert seqs(part, 1) == [2]
