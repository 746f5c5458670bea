"""The memory for marks of patterns, over all servers."""

from __future__ import annotations

from array import array

from crawlproject.frontier import Entry, Frontier, QualityFirst
from crawlproject.frontier.guard.judge import Guard, Visit
from crawlproject.frontier.guard.mark_budget import PER_PATTERN, MarkBudget
from crawlproject.frontier.guard.watched_patterns import GuardLimits, Pattern, ServerGuard
from crawlproject.frontier.state import StateReader

PAGES = 6
#: Marks of a pattern that takes 100 with what is beside them.
SIZE = 100 - PER_PATTERN
MARKS = frozenset(range(0, 200, 2))


def pattern(name: str, size: int, *, same: int = 1) -> Pattern:
    """A pattern with so many marks."""
    return Pattern(name, listed=1, same=same, dry=same, marks=array("I", range(0, 2 * size, 2)))


def servers(count: int, budget: MarkBudget) -> list[list[str]]:
    """Patterns dropped on servers with a chain of equal pages, read one page of each in turn."""
    frontier = Frontier(QualityFirst())
    keys = [f"http://{number}.example" for number in range(count)]
    frontier.push([Entry(f"{key}/p/0") for key in keys])
    guard = Guard(GuardLimits(max_same=PAGES), frontier.server, budget=budget)
    dropped: list[list[str]] = [[] for _ in keys]
    last: set[str] = set()
    for number in range(20 * PAGES):
        for server, key in enumerate(keys):
            url = f"{key}/p/{number}"
            page = guard.page(url, lambda: MARKS, Visit(was_last=url in last))
            assert page is not None
            last |= page.learn([f"{key}/p/{number + 1}"])
            dropped[server] += page.spent
            assert budget.held <= budget.max_marks
    return dropped


def test_the_sum_of_all_servers_is_bounded() -> None:
    """The marks of 50 servers fit into the memory for 20; at least half of the servers are detected."""
    budget = MarkBudget(20 * (len(MARKS) + PER_PATTERN))
    dropped = servers(50, budget)
    assert budget.forgotten > 100
    assert sum(map(bool, dropped)) >= 10


def test_every_chain_ends_where_there_is_room() -> None:
    """Nothing is forgotten, and each server is detected."""
    budget = MarkBudget(50 * (len(MARKS) + PER_PATTERN))
    assert servers(50, budget) == [["/p/#"]] * 50
    assert budget.forgotten == 0


def test_patterns_that_show_something_new_are_forgotten_first() -> None:
    """Suspicious ones after all of these; the marks of all kept patterns are counted."""
    budget = MarkBudget(1000)
    suspected = [pattern(f"/s{number}/#", SIZE, same=3) for number in range(5)]
    fresh = [pattern(f"/f{number}/#", SIZE) for number in range(50)]
    for each in [*suspected, *fresh]:
        budget.keep(each)
        budget.keep(each)
    assert [len(each.marks) for each in suspected] == [SIZE] * 5
    assert (sum(len(each.marks) for each in fresh), budget.held, budget.forgotten) == (5 * SIZE, 1000, 45)
    more = [pattern(f"/m{number}/#", SIZE, same=2) for number in range(7)]
    for each in more:
        budget.keep(each)
    assert sum(len(each.marks) for each in fresh) == 0
    assert sum(len(each.marks) for each in [*suspected, *more]) == 10 * SIZE
    assert budget.held == 1000


def test_a_pattern_that_grows_or_begins_again_is_counted_once() -> None:
    """By its current marks."""
    budget, one = MarkBudget(1000), pattern("/a/#", 100)
    budget.keep(one)
    one.shows_new(frozenset(range(1000, 1100, 2)))
    budget.keep(one)
    assert budget.held - PER_PATTERN == len(one.marks) == 150
    one.forget()
    budget.keep(one)
    assert budget.held == 0


def test_what_was_stored_is_counted() -> None:
    """After a restart, at once."""
    rows = [pattern(f"/{name}/#", SIZE, same=same).to_state() for name, same in (("a", 3), ("b", 1), ("c", 2))]
    stored = ServerGuard.from_state(StateReader("guard", {"patterns": rows}))
    guard = Guard(GuardLimits(), lambda _: None, budget=MarkBudget(100))
    guard.restored(stored)
    assert guard.budget.held == 100
    assert sum(len(each.marks) for each in stored.patterns.values()) == SIZE
    assert guard.budget.forgotten == 1
