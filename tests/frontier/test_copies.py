"""The effect of a server's copies on its rank."""

import pytest

from crawlproject.frontier import (
    BestPrefix,
    BreadthFirst,
    CapacityBased,
    Entry,
    Frontier,
    PerformanceFirst,
    Policy,
    Politeness,
    QualityFirst,
)
from crawlproject.frontier.server import PRIOR_PAGES
from tests.frontier.invariants import check

A, B = "http://a.example", "http://b.example"
AT_ONCE = Politeness(factor=0, min_delay=0, max_delay=0)


def two_servers(policy: type[Policy], best: float = 1.1) -> Frontier:
    """``a`` has the better URL, ``b`` one of quality 1."""
    frontier = Frontier(policy(), AT_ONCE)
    frontier.push([Entry(f"{A}/1", best), Entry(f"{B}/1", 1.0)])
    return frontier


def first_server(frontier: Frontier) -> str:
    check(frontier)
    session = frontier.open_session(0.0)
    assert session is not None
    return session.server.key


@pytest.mark.parametrize("policy", [BestPrefix, CapacityBased, QualityFirst])
def test_copies_cost_rank(policy: type[Policy]) -> None:
    """2 copies among 2 pages: worth (0 + 10) / (2 + 10) = 0.83, so 1.1 counts 0.92; distinct pages cost nothing."""
    assert first_server(two_servers(policy)) == A
    frontier = two_servers(policy)
    for copy in (True, True):
        frontier.servers.learn_content(A, copy=copy)
    assert frontier.server(A).worth == pytest.approx(PRIOR_PAGES / (PRIOR_PAGES + 2))
    assert first_server(frontier) == B
    frontier = two_servers(policy)
    for copy in (True, *[False] * 50):
        frontier.servers.learn_content(A, copy=copy)
    assert first_server(frontier) == A


@pytest.mark.parametrize("policy", [BreadthFirst, PerformanceFirst])
def test_policies_that_do_not_look_at_quality_do_not_look_at_copies(policy: type[Policy]) -> None:
    """The rank does not change."""
    frontier = two_servers(policy)
    before = frontier.policy.rank(frontier.server(A))
    frontier.servers.learn_content(A, copy=True)
    assert frontier.policy.rank(frontier.server(A)) == before


def test_a_demoted_server_comes_last() -> None:
    """Whatever its URLs are worth; copies lower its rank further."""
    frontier = two_servers(BestPrefix, best=9.0)
    frontier.servers.demote(A, 0.1)
    assert first_server(frontier) == B
    frontier.servers.learn_content(A, copy=True)
    assert frontier.server(A).worth == pytest.approx(0.1 * 10 / 11)


def test_an_open_session_goes_on_for_what_its_urls_are_worth() -> None:
    """The next URL must reach 0.6 × the best waiting rank; copies lower its worth."""
    frontier = Frontier(BestPrefix(), AT_ONCE)
    frontier.push([Entry(f"{A}/{n}", 1.0) for n in range(3)] + [Entry(f"{B}/1", 0.9)])
    session = frontier.open_session(0.0)
    assert session.server.key == A
    assert frontier.is_worth_more(session, 0.0)
    for _ in range(90):
        frontier.servers.learn_content(A, copy=True)
    assert not frontier.is_worth_more(session, 0.0)


def test_a_new_url_moves_a_server_of_little_worth() -> None:
    """``rerank_above`` is correct for a scaled rank, too."""
    frontier = two_servers(BestPrefix)
    for _ in range(30):
        frontier.servers.learn_content(A, copy=True)
    frontier.push([Entry(f"{A}/2", 1.05)])
    check(frontier)
    frontier.push([Entry(f"{A}/3", 50.0)])
    assert first_server(frontier) == A
