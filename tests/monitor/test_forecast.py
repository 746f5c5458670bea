"""When what is queued will be fetched, by the present rate and the waits that are known; the look at all servers."""

from math import inf

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.monitor.forecast import MIN_DONE, STEP, WINDOW, Counts, Forecast, Forecaster, Limits, Survey, Surveyor

DEAD = "http://dead.example"


def steady(seconds: int, *limits: float, queued: int = 1000, survey: Survey | None = None) -> Forecast:
    """After a crawl of 10 requests a second, half of which bring a page of 100 bytes and one item."""
    forecaster, found = Forecaster(), Forecast(None)
    for second in range(seconds + 1):
        done = 10 * second
        counts = Counts(float(second), done, done // 2, 50 * done, done // 2)
        found = forecaster.forecast(counts, queued, survey, Limits(*limits))
    return found


def frontier_of(*names: str, urls: int = 10, **values: int) -> Frontier:
    frontier = Frontier(BestPrefix(), Politeness(min_backoff=5.0), **values)
    frontier.push(Entry(f"http://{name}.example/{number}", 1.0) for name in names for number in range(urls))
    return frontier


def surveyed(frontier: Frontier, failures: int = 0, pages: int = 0) -> Survey:
    surveyor = Surveyor(frontier, failures, lambda: pages)
    assert surveyor.step(0.0)
    assert surveyor.survey is not None
    return surveyor.survey


def test_the_queue_at_the_present_rate() -> None:
    """1,000 URLs at 10 a second; an empty queue takes no time."""
    assert steady(100) == Forecast(pytest.approx(100.0))
    assert steady(100, queued=0).end == 0.0


def test_the_present_rate_is_that_of_the_last_minute() -> None:
    """What was fast an hour ago says nothing."""
    forecaster = Forecaster()
    forecaster.forecast(Counts(0.0, 0), 1000, None)
    forecaster.forecast(Counts(10.0, 100_000), 1000, None)
    forecaster.forecast(Counts(100.0, 100_000), 1000, None)
    assert forecaster.forecast(Counts(150.0, 100_050), 1000, None).end == pytest.approx(1000.0)
    assert len(forecaster._counts) == 2


def test_what_cannot_be_known_is_not_told() -> None:
    """Too few requests; a pause, which does not count for the rate."""
    assert steady(1).why_not == "too few pages yet"
    forecaster = Forecaster()
    forecaster.forecast(Counts(0.0, 0), 100, None)
    assert forecaster.halt(10.0, "the crawl is paused") == Forecast(None, "the crawl is paused")
    assert forecaster.forecast(Counts(1000.0, 0), 100, None).end is None
    assert forecaster.forecast(Counts(1010.0, MIN_DONE), 100, None).end == pytest.approx(100 * 10 / MIN_DONE)


@pytest.mark.parametrize(
    ("limits", "end"),
    [((130.0,), 30.0), ((inf, 550), 10.0), ((inf, inf, 55_000), 10.0), ((inf, inf, inf, 550), 10.0), ((50.0,), 0.0)],
)
def test_a_limit_comes_first(limits: tuple[float, ...], end: float) -> None:
    """Of time, pages, bytes or items."""
    found = steady(100, *limits)
    assert found.end == pytest.approx(end)
    assert getattr(Limits(*limits), found.limit) < inf
    assert steady(100, 10_000.0, 100_000) == Forecast(pytest.approx(100.0))
    assert steady(100, 130.0, queued=0) == Forecast(0.0)  # nothing is left to be limited


def test_known_waits_decide_where_the_rate_would_end_earlier() -> None:
    """The slowest server, and servers that must be given up, whose URLs are not fetched."""
    assert steady(100, survey=Survey(longest_time=612.0)).end == 612.0
    assert steady(100, survey=Survey(failing=1, failing_urls=500, failing_time=20.0)).end == pytest.approx(50.0)
    assert steady(100, survey=Survey(beyond_limits=900)).end == pytest.approx(10.0)
    assert steady(1, survey=Survey(longest_time=2 * WINDOW)).end == 2 * WINDOW  # known without a rate


def test_a_slow_server_takes_as_long_as_its_crawl_delay_says() -> None:
    """61 URLs with a Crawl-delay of 10 s take 10 minutes; a blocked server does not count."""
    frontier = frontier_of("slow", urls=61)
    slow = "http://slow.example"
    frontier.record(Measurement(slow, 0.0, 200, connect_time=0.1, response_time=0.1, fetch_time=0.2))
    frontier.servers.set_crawl_delay(slow, 10.0)
    found = surveyed(frontier)
    assert found.longest_time == pytest.approx(612, rel=0.05)
    assert found.longest is frontier.server(slow)
    for _ in frontier.block("slow.example", blocked=True):
        pass
    assert surveyed(frontier).longest is None


def test_servers_that_fail_are_expected_to_be_given_up() -> None:
    """After three of five failures: rests of 20 s and 40 s."""
    frontier = frontier_of("dead", max_failures=5)
    for _ in range(3):
        frontier.record(Measurement(DEAD, 0.0, failed=True))
    found = surveyed(frontier)
    assert (found.failing, found.failing_urls) == (1, 10)
    assert found.failing_time == pytest.approx(20 + 40)


def test_one_failure_is_enough_for_a_server_that_never_answered() -> None:
    """A server that has answered may fail once; one that has not is given up sooner."""
    frontier = frontier_of("dead", "alive", max_failures=9)
    frontier.page_fetched("http://alive.example", 0)
    for name in ("dead", "alive"):
        frontier.record(Measurement(f"http://{name}.example", 0.0, failed=True))
    found = surveyed(frontier, 3)
    assert found.failing_urls == 10
    assert found.failing_time == pytest.approx(5 + 10)


def test_urls_for_which_a_page_limit_leaves_no_room_are_not_expected() -> None:
    """Three of ten are fetched of one, none of the other."""
    frontier = frontier_of("one", "two")
    for _ in range(5):
        frontier.page_fetched("http://two.example", 0)
    assert surveyed(frontier, 0, 3).beyond_limits == 7 + 10


def test_a_large_frontier_is_surveyed_in_steps() -> None:
    """Each examines a bounded number of servers."""
    frontier = frontier_of(*(f"s{number}" for number in range(2 * STEP + 1)), urls=1)
    surveyor = Surveyor(frontier)
    assert [surveyor.step(0.0) for _ in range(4)] == [False, False, True, False]
    assert surveyor.survey is not None
    assert len(surveyor.survey.top) == 1000
