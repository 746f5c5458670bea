"""What a page and a byte cost, and when a crawl may send no further request."""

from collections.abc import Callable
from math import inf

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement
from crawlproject.frontier.budgets import Budgets, Limits
from crawlproject.frontier.dispatch import Dispatcher

Quality = Callable[[int], float]

A, B = "http://a.example", "http://b.example"


def _equal(page: int) -> float:
    return 1.0


def answer(time: float = 1.0, size: int = 100, key: str = A, now: float = 0.0) -> Measurement:
    return Measurement(key, now, status=200, response_time=time, fetch_time=time, size=size)


def spend(
    budgets: Budgets, pages: int, *, each: float = 0.1, queued: int = 10**6, size: int = 100, quality: Quality = _equal
) -> None:
    """Fetch this many pages, one ``each`` seconds."""
    budgets.begin(0.0)
    for _ in range(pages):
        budgets.learn(answer(size=size))
        budgets.received(size)
        budgets.page_fetched((budgets.pages + 1) * each, queued, quality(budgets.pages))


def test_without_a_limit_of_pages_or_bytes_only_time_costs() -> None:
    """So a policy ranks as it does without budgets, whatever the limit of time."""
    for limits in (Limits(), Limits(seconds=60.0)):
        budgets = Budgets(limits)
        spend(budgets, 500)
        assert (budgets.prices.page, budgets.prices.byte) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("limits", "queued", "page", "byte"),
    [
        (Limits(pages=1000), 10**6, 10.0, 0.0),
        (Limits(size=10**6), 10**6, 0.0, 0.1),  # pages of 100 bytes
        (Limits(pages=1020), 100, 1.0, 0.0),  # a tenth of the pages that are left is queued: the web may be small
    ],
)
def test_a_page_costs_choosiness_times_its_mean_time(limits: Limits, queued: int, page: float, byte: float) -> None:
    """Mean time 1 s, choosiness 10."""
    budgets = Budgets(limits, choosiness=10.0)
    spend(budgets, 20, queued=queued)
    assert (budgets.prices.page, budgets.prices.byte) == (pytest.approx(page), pytest.approx(byte))


@pytest.mark.parametrize(("seconds", "is_dearer"), [(1000.0, True), (50.0, False)])
def test_pages_get_dearer_while_they_will_end_before_the_time(seconds: float, is_dearer: bool) -> None:
    """1,000 pages at 10 per second need 100 s."""
    budgets = Budgets(Limits(pages=1000, seconds=seconds), choosiness=10.0)
    spend(budgets, 300)
    assert (budgets.prices.page > 10.0) == is_dearer


def test_of_pages_and_bytes_the_scarcer_gets_the_higher_price() -> None:
    """Of a usual page's price; both together are ``choosiness`` times its time."""
    for limits, pages_are_scarcer in ((Limits(1000, size=10**6), True), (Limits(1000, size=50_000), False)):
        budgets = Budgets(limits, choosiness=10.0)
        spend(budgets, 300)
        of_bytes = budgets.prices.byte * budgets.prices.usual_size
        assert (budgets.prices.page > of_bytes) == pages_are_scarcer
        assert budgets.prices.page + of_bytes == pytest.approx(10.0)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(1),
        Limits(10**12),
        Limits(0, 0.0, 0),
        Limits(1, 0.0, 1),
        Limits(10**12, 1e12, 10**15),
        Limits(10**9, 9.0),
        Limits(seconds=9.0),
    ],
)
def test_prices_stay_finite_whatever_the_budget(limits: Limits) -> None:
    """Also when it is overspent, and with answers that take no time and have no bytes."""
    budgets = Budgets(limits)
    budgets.learn(answer(0.0, 0))
    spend(budgets, 2000, each=0.0, size=0)
    spend(budgets, 100)
    outlook = budgets.outlook(1.0, 1.0)
    assert outlook is not None
    assert outlook.twice is not None
    assert 1.0 <= outlook.twice <= 2.0 + 1e-9
    budgets.allow(Limits(10**6, size=10**9))
    assert 0.0 <= budgets.prices.page < inf
    assert 0.0 <= budgets.prices.byte < inf


def test_a_budget_may_be_raised_and_lowered() -> None:
    """What is spent stays spent."""
    budgets = Budgets(Limits(pages=100))
    spend(budgets, 100)
    assert not budgets.may_start(0)
    budgets.allow(Limits(pages=101))
    assert budgets.may_start(0)
    assert not budgets.may_start(1)
    budgets.allow(Limits(pages=50))
    assert not budgets.may_start(0)
    assert budgets.left(0.0).pages == 0


@pytest.mark.parametrize(
    ("quality", "twice"),
    [
        (_equal, 2.0),
        (lambda page: 1.0 / (page + 1), 1.09),  # H(2000) / H(1000)
        (lambda page: float(page < 50), 1.0),
        (lambda page: 0.0, 1.0),
    ],
)
def test_what_twice_the_budget_would_gather_follows_from_the_curve(quality: Quality, twice: float) -> None:
    """At the end of the budget and in its midst."""
    budgets = Budgets(Limits(pages=1000))
    assert budgets.outlook(0.0, 1.0) == ("pages", 1000, 1000, 0.0, 1.0, 0.0, None)
    for _ in range(2):
        spend(budgets, 500, quality=quality)
        outlook = budgets.outlook(0.0, 1.0)
        assert outlook is not None
        assert outlook.twice == pytest.approx(twice, abs=0.02)


def test_the_budget_that_ends_first_binds() -> None:
    """At the present rates: 10 pages and 1,000 bytes per second."""
    for limits, binding in (
        (Limits(1000, 200.0, 10**6), "pages"),
        (Limits(1000, 50.0, 10**6), "seconds"),
        (Limits(1000, 200.0, 50_000), "size"),
    ):
        budgets = Budgets(limits)
        spend(budgets, 100)
        outlook = budgets.outlook(10.0, 1.0)
        assert outlook is not None
        assert outlook.binding == binding
    assert Budgets(Limits()).outlook(0.0, 1.0) is None


def test_a_large_server_costs_more_of_a_byte_budget() -> None:
    """Its rank is lower; without a price of bytes both rank the same."""

    def ranks(limits: Limits) -> tuple[float, float]:
        frontier = Frontier(BestPrefix(), budgets=Budgets(limits))
        frontier.push([Entry(f"{key}/{page}") for key in (A, B) for page in range(5)])
        for key, size in ((A, 10_000), (B, 100)) * 5:
            frontier.record(answer(1.0, size, key))
        frontier.page_fetched(A, 0)
        first, second = (frontier.policy.rank(frontier.servers[key]) for key in (A, B))
        return first, second

    large, small = ranks(Limits(size=10**5))
    assert large < 0.5 * small
    large, small = ranks(Limits())
    assert large == pytest.approx(small, rel=0.05)


@pytest.mark.parametrize("waste", ["copies", "misfits"])
def test_a_server_that_wastes_pages_is_worth_less_of_a_page_budget(waste: str) -> None:
    """After three pages in vain 2 / 5; without a price of pages copies count less, and misfits not at all."""

    def worth(limits: Limits) -> float:
        frontier = Frontier(BestPrefix(), budgets=Budgets(limits))
        frontier.record(answer())
        frontier.push([Entry(f"{A}/{page}") for page in range(10)])
        for _ in range(3):
            frontier.page_fetched(A, 0)
            if waste == "copies":
                frontier.servers.learn_content(A, copy=True)
            else:
                frontier.servers.learn_misfit(A)
        return frontier.servers[A].worth

    assert worth(Limits(pages=10)) == pytest.approx(2 / 5)
    assert worth(Limits()) == pytest.approx(10 / 13 if waste == "copies" else 1.0)


def test_no_request_starts_beyond_the_page_budget() -> None:
    """Requests in flight may all bring a page; one that brought none leaves room for another."""
    frontier = Frontier(BestPrefix(), budgets=Budgets(Limits(pages=2)))
    frontier.push([Entry(f"http://{name}.example/") for name in "abcd"])
    dispatcher = Dispatcher(frontier, 4)
    starts = [dispatcher.next(0.0), dispatcher.next(0.0)]
    assert None not in starts
    assert dispatcher.next(0.0) is None
    assert dispatcher.wake_at() is None
    first, second = (start.session for start in starts if start is not None)
    dispatcher.ended(first)
    assert dispatcher.next(0.0) is not None
    frontier.page_fetched(second.server.key, 0)
    dispatcher.ended(second)
    assert dispatcher.next(0.0) is None
