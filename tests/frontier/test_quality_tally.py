"""Sums of quality: queued and gathered, through every way that a URL enters and leaves a frontier."""

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness

A, B = "http://a.example", "http://b.example"


def filled() -> Frontier:
    frontier = Frontier(BestPrefix(), Politeness(), max_failures=1)
    frontier.push([Entry(f"{A}/{number}", float(number)) for number in range(1, 5)], B)
    frontier.push([Entry(f"{B}/1", 8.0)], A)
    return frontier


def queued(frontier: Frontier) -> float | None:
    return frontier.quality.queued(len(frontier))


def test_urls_come_rise_leave_and_come_back() -> None:
    """Each changes the sum by its quality; raising an unknown URL does not."""
    frontier = filled()
    assert queued(frontier) == 18.0
    frontier.raise_quality([(f"{A}/1", 0.5), (f"{A}/unknown", 9.0)])
    assert queued(frontier) == pytest.approx(18.5)
    session = frontier.open_session(0.0)
    assert session is not None
    entry = frontier.next_url(session, 0.0)
    assert entry is not None
    assert queued(frontier) == pytest.approx(18.5 - entry.quality)
    frontier.give_back(session, entry)
    assert queued(frontier) == pytest.approx(18.5)
    assert frontier.quality.gathered == 0.0


def test_a_server_given_up_takes_its_quality_along() -> None:
    """When its URLs are taken, which may be in steps; and is counted."""
    frontier = filled()
    frontier.give_up(A)
    frontier.give_up(A)
    while frontier.drops.are_left:
        frontier.drops.take(1)
    assert (queued(frontier), frontier.given_up) == (8.0, 1)
    frontier.give_up(B)
    assert (queued(frontier), frontier.given_up) == (0.0, 2)


@pytest.mark.parametrize("closed_early", [False, True])
def test_a_rewritten_queue(closed_early: bool) -> None:
    """Dropped URLs leave, kept ones have their new quality; those not judged keep theirs."""
    frontier = filled()
    steps = frontier.rewrite_queue(
        frontier.servers[A], lambda entry: None if entry.quality == 4.0 else entry._replace(quality=1.0)
    )
    if closed_early:
        next(steps)
        steps.close()
    else:
        list(steps)
    assert queued(frontier) == 8.0 + 3 * 1.0


def test_a_server_that_is_removed_leaves_the_mean() -> None:
    """What its URLs were worth is not known any more."""
    frontier = filled()
    frontier.remove(B)
    assert queued(frontier) == pytest.approx(18.0 / 5 * 4)
