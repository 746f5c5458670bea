"""When a server may be requested again."""

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness, retry_after_seconds
from crawlproject.frontier.measurement import Measurement

NOON = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def test_request_mode_waits_a_multiple_of_the_last_fetch() -> None:
    """10 x 0.3 s = 3 s, within the bounds; the session itself adds no rest."""
    rules = Politeness(mode="request", factor=10, min_delay=1, max_delay=20)
    assert rules.request_wait(0.3) == pytest.approx(3.0)
    assert rules.request_wait(0.01) == 1
    assert rules.request_wait(9.0) == 20
    assert rules.session_rest(5.0) == 0.0


def test_session_mode_waits_a_multiple_of_the_session() -> None:
    """No wait inside the burst; 5 x 4 s = 20 s after it."""
    rules = Politeness(mode="session", factor=5, min_delay=1, max_delay=60)
    assert rules.request_wait(0.3) == 0.0
    assert rules.session_rest(4.0) == pytest.approx(20.0)
    assert rules.session_rest(0.1) == 1
    assert rules.session_rest(100.0) == 60


@pytest.mark.parametrize("mode", ["request", "session"])
def test_crawl_delay_wins_when_longer_in_both_modes(mode: str) -> None:
    """A Crawl-delay applies between any two requests, up to a maximum."""
    rules = Politeness(mode=mode, factor=1, min_delay=0, max_delay=5, max_crawl_delay=30)
    assert rules.request_wait(0.1, crawl_delay=10) == 10
    assert rules.session_rest(0.1, crawl_delay=10) == 10
    assert rules.request_wait(0.1, crawl_delay=86_400) == 30
    assert rules.session_rest(4.0, crawl_delay=2) == (4.0 if mode == "session" else 2)


def test_backoff_doubles_up_to_its_bound() -> None:
    """5, 10, 20, 40 s ..., never above the maximum after any number of failures."""
    rules = Politeness(min_backoff=5, max_backoff=300)
    assert [rules.backoff(n) for n in (1, 2, 3, 4)] == [5, 10, 20, 40]
    assert rules.backoff(7) == 300
    assert rules.backoff(10_000) == 300


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("Tue, 99 Nov 2023 99:99:99 GMT", None),
        ("\x00", None),
        ("9" * 400, 999999999999.0),
    ],
)
def test_retry_after_in_both_forms(value: str, expected: float | None) -> None:
    """Seconds or an HTTP date; anything else is ignored."""
    assert retry_after_seconds(value, NOON) == expected


@pytest.mark.parametrize("factor", [0.0, 5.0])
def test_a_host_may_have_a_delay_of_its_own(factor: float) -> None:
    """From start to start, instead of the general delay and the factor; a Crawl-delay still applies."""
    rules = Politeness(min_delay=0.0, factor=factor, request_delay=3.0, host_delays={"quick.example": 0.1, "::1": 2.0})
    frontier = Frontier(BestPrefix(), rules)
    waits = {"http://quick.example:8080": 0.0, "https://[::1]": 1.5, "http://other.example": 3.0}
    for key, wait in waits.items():
        frontier.push([Entry(f"{key}/")])
        frontier.servers.rest(key, 10.0, 0.5)
        assert frontier.server(key).ready_at == pytest.approx(10.0 + wait)
    frontier.servers.set_crawl_delay("http://quick.example:8080", 3.0)
    assert frontier.server("http://quick.example:8080").ready_at == pytest.approx(13.0)
    assert rules.longest_wait == 300.0
    assert Politeness(host_delays={"a": 1000.0}).longest_wait == 1000.0


def test_side_requests_have_several_connections_while_no_wait_is_due() -> None:
    """The number that the host is given; one during a session, after a failure, and with a delay of any kind."""
    rules = Politeness(
        host_delays={"api.example": 0.0, "b.example": 1.0}, host_connections={"api.example": 8, "b.example": 8}
    )
    servers = (frontier := Frontier(BestPrefix(), rules, max_failures=3)).servers
    key = "http://api.example"
    assert servers.side_connections(key) == 8
    assert servers.side_connections("http://b.example") == servers.side_connections("http://other.example") == 1
    frontier.push([Entry(f"{key}/")])
    session = frontier.open_session(0.0, 1)
    assert servers.side_connections(key) == 1
    frontier.close_session(session, 0.0)
    frontier.record(Measurement(key, 1.0, failed=True))
    assert servers.side_connections(key) == 1
    frontier.record(Measurement(key, 2.0, status=200))
    assert servers.side_connections(key) == 8
    servers.set_crawl_delay(key, 1.0)
    assert servers.side_connections(key) == 1


def test_requests_in_flight_together_fail_together() -> None:
    """They count as one failure; the server's rest is that of the first, or what any of them asks for."""
    frontier = Frontier(BestPrefix(), Politeness(min_backoff=5, max_backoff=300), max_failures=3)
    for number in range(8):
        frontier.record(Measurement("http://a", 10.0 + number / 10, failed=True, fetch_time=1.0))
    server = frontier.server("http://a")
    assert (server.failures, server.given_up) == (1, False)
    assert server.ready_at == pytest.approx(15.7)
    frontier.record(Measurement("http://a", 17.0, failed=True, fetch_time=1.0))
    assert server.failures == 2
