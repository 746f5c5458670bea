"""What a partition remembers of its commits."""

from crawlproject.workers.control import Commit
from crawlproject.workers.part import Part


def commit(seq: int, size: int = 10) -> Commit:
    return Commit(7, 1, seq, bytes(size), 0, 0, [], {}, [])


def seqs(part: Part, after: int) -> list[int] | None:
    found = part.missing(after)
    return None if found is None else [each.seq for _, each in found]


def test_commits_that_redis_may_lose_are_kept() -> None:
    part = Part(7, 1, 0, "")
    for seq in (1, 2, 3):
        part.confirmed(commit(seq), float(seq))
    assert seqs(part, 0) == [1, 2, 3]
    assert seqs(part, 3) == seqs(part, 4) == []
    part.forget(2.0)
    assert seqs(part, 1) == [2, 3]
    assert seqs(part, 0) is None


def test_a_commit_confirmed_twice_counts_once() -> None:
    """Its first answer was lost."""
    part = Part(7, 1, 0, "")
    part.confirmed(commit(1), 1.0)
    part.confirmed(commit(1), 2.0)
    assert (seqs(part, 0), part.journal) == ([1], 10)


def test_changes_that_were_too_many_for_a_commit_are_missing() -> None:
    """They are in a snapshot only, which Redis may lose, too."""
    part = Part(7, 1, 0, "")
    part.confirmed(commit(1), 1.0)
    part.known = 2
    assert (seqs(part, 0), seqs(part, 1), seqs(part, 2)) == (None, None, [])
    part.confirmed(commit(3), 3.0)
    assert (seqs(part, 1), seqs(part, 2)) == (None, [3])
