"""The memory for marks of patterns, over all servers."""

from array import array

from crawlproject.frontier import Server, UrlQueue
from crawlproject.frontier.guard.judge import Guard
from crawlproject.frontier.guard.patterns import PER_PATTERN, GuardLimits, MarkBudget, Pattern
from crawlproject.frontier.guard.server_guard import ServerGuard

#: Marks of a pattern that takes 100 with what is beside them.
SIZE = 100 - PER_PATTERN


def pattern(name: str, size: int, *, same: int = 0) -> Pattern:
    """A pattern with so many marks."""
    return Pattern(name, listed=1, same=same, dry=same, first=array("I", range(0, 2 * size, 2)))


def test_patterns_that_show_something_new_are_forgotten_first() -> None:
    """Suspicious ones after all of these; the marks of all kept patterns are counted."""
    budget = MarkBudget(1000)
    suspected = [pattern(f"/s{number}/#", SIZE, same=3) for number in range(5)]
    fresh = [pattern(f"/f{number}/#", SIZE) for number in range(50)]
    for each in [*suspected, *fresh]:
        budget.keep(each)
        budget.keep(each)
    assert [len(each.first) for each in suspected] == [SIZE] * 5
    assert (sum(len(each.first) for each in fresh), budget.held, budget.forgotten) == (5 * SIZE, 1000, 45)
    more = [pattern(f"/m{number}/#", SIZE, same=2) for number in range(7)]
    for each in more:
        budget.keep(each)
    assert sum(len(each.first) for each in fresh) == 0
    assert sum(len(each.first) for each in [*suspected, *more]) == 10 * SIZE
    assert budget.held == 1000


def test_a_pattern_that_grows_or_begins_again_is_counted_once() -> None:
    """By its current marks."""
    budget, one = MarkBudget(1000), pattern("/a/#", 100)
    budget.keep(one)
    one.unseen(frozenset(range(1000, 1100, 2)))
    budget.keep(one)
    assert budget.held - PER_PATTERN == one.size == 150
    one.forget()
    budget.keep(one)
    assert budget.held == 0


def test_what_was_stored_is_counted() -> None:
    """After a restart, at once."""
    rows = [pattern(f"/{name}/#", SIZE, same=same).to_state() for name, same in (("a", 3), ("b", 1), ("c", 2))]
    server = Server("http://a.example", UrlQueue(by_quality=True, window=1), 1)
    server.guard = ServerGuard.from_state({"patterns": rows})
    guard = Guard(GuardLimits(), lambda _: None, lambda _: False)
    guard.restored(server)
    assert guard.budget.held == 300
    assert sum(each.size for each in server.guard.patterns.values()) == 3 * SIZE
