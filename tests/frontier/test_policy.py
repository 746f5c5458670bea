"""The paper's policies, each traced by hand (Cao 2003, §4)."""

import re
from pathlib import Path
from typing import Any

import pytest

from crawlproject.frontier import (
    POLICIES,
    BestPrefix,
    BreadthFirst,
    CapacityBased,
    Entry,
    Frontier,
    PerformanceFirst,
    Policy,
    QualityFirst,
    Server,
)
from crawlproject.frontier.learning.estimate import Estimates, smooth
from crawlproject.frontier.policy import checked_policy
from crawlproject.frontier.quality import Quality
from crawlproject.frontier.queues.url_queue import UrlQueue

# One server for all policies: four URLs of quality 0.9, 0.5, 0.3, 0.1; it carries 3 requests per connection.
# ConnectionTime 0.2 s, ResponseTime 0.6 s, persistent: P = min(3, 4) = 3,
# T = 2·0.2 + 3·0.6/1.2 = 0.4 + 1.5 = 1.9 s.
QUALITIES = (0.3, 0.9, 0.1, 0.5)


def server_for(policy: object, limit: int = 3) -> Server:
    queue = UrlQueue(by_quality=policy.by_quality, window=limit)
    server = Server("http://a.example", queue, limit)
    server.estimates.connect_time = 0.2
    server.estimates.response_time = server.page_time = 0.6
    for arrival, quality in enumerate(QUALITIES, 1):
        queue.push(Entry(f"http://a.example/{arrival}", quality), f"/{arrival}", arrival)
    return server


def test_smoothing_keeps_four_fifths_of_the_old_value() -> None:
    """0.8·0.5 + 0.2·1.0 = 0.6."""
    assert smooth(0.5, 1.0) == pytest.approx(0.6)


def test_session_time_of_a_persistent_server() -> None:
    """T = 2·0.2 + 3·0.6/1.2 = 1.9 s."""
    estimates = Estimates()
    estimates.connect_time, estimates.response_time = 0.2, 0.6
    assert estimates.session_time(3) == pytest.approx(1.9)


def test_session_time_of_a_server_without_persistent_connections() -> None:
    """p = 1: T = 2·0.2 + 1·0.6/1 = 1.0 s."""
    estimates = Estimates()
    estimates.connect_time, estimates.response_time, estimates.persistent = 0.2, 0.6, False
    assert estimates.session_time(1) == pytest.approx(1.0)


def test_session_time_counts_polite_waits_between_pages() -> None:
    """Two waits of 0.25 s lie between three pages: 1.9 + 0.5 = 2.4 s."""
    estimates = Estimates()
    estimates.connect_time, estimates.response_time = 0.2, 0.6
    assert estimates.session_time(3, wait=0.25) == pytest.approx(2.4)


def test_new_server_has_the_defaults() -> None:
    """50 requests per connection are expected of a new server (Cao 2003)."""
    assert Estimates().requests_per_connection == 50


def test_breadth_first_ranks_all_alike_and_takes_urls_in_order() -> None:
    """FIFO on both levels: the rank is constant, URLs are in order of discovery."""
    server = server_for(BreadthFirst())
    assert BreadthFirst().rank(server) == 0.0
    assert [server.urls.pop(server.key).url[-1] for _ in range(4)] == ["1", "2", "3", "4"]


def test_performance_first_ranks_by_pages_per_second() -> None:
    """R = P/T = 3/1.9 = 1.5789 pages/s; URLs in the order of discovery."""
    server = server_for(PerformanceFirst())
    assert PerformanceFirst().rank(server) == pytest.approx(3 / 1.9)
    assert server.urls.pop(server.key).url.endswith("/1")


def test_performance_first_of_a_short_queue() -> None:
    """With one URL left P = min(3, 1) = 1, T = 0.4 + 0.6/1.2 = 0.9 s, R = 1.1111."""
    server = server_for(PerformanceFirst())
    for _ in range(3):
        server.urls.pop(server.key)
    assert PerformanceFirst().rank(server) == pytest.approx(1 / 0.9)


def test_quality_first_ranks_by_the_best_url() -> None:
    """The best URL is worth 0.9, at any cost of the server."""
    server = server_for(QualityFirst())
    assert QualityFirst().rank(server) == 0.9
    assert server.urls.pop(server.key).quality == 0.9


def test_capacity_ranks_by_quality_per_second_of_the_next_session() -> None:
    """C = (0.9 + 0.5 + 0.3)/1.9 = 0.8947 per second: the fourth URL does not fit on the connection."""
    server = server_for(CapacityBased())
    assert CapacityBased().rank(server) == pytest.approx(1.7 / 1.9)


def test_capacity_after_the_best_has_gone() -> None:
    """Then P = min(3, 3): C = (0.5 + 0.3 + 0.1)/1.9 = 0.4737."""
    server = server_for(CapacityBased())
    server.urls.pop(server.key)
    assert CapacityBased().rank(server) == pytest.approx(0.9 / 1.9)


def test_policies_have_the_contract_names() -> None:
    """The names users write into FRONTIER_POLICY."""
    assert {"breadth-first", "performance", "quality", "capacity"} <= set(POLICIES)


def test_best_prefix_ranks_by_the_batch_that_is_worth_most_per_second() -> None:
    """0.9/(0.4 + 0.6) = 0.9 for one page, 1.4/1.6 = 0.875 for two: the best is 0.9."""
    server = server_for(BestPrefix())
    assert BestPrefix().rank(server) == pytest.approx(0.9)


def test_best_prefix_counts_what_links_are_expected_to_bring() -> None:
    """With a bonus of 0.4 per page 1.3/1.0, 2.2/1.6 = 1.375, 2.9/2.2 = 1.318: the best is 1.375."""
    server = server_for(BestPrefix())
    server.bonus = 0.4
    assert BestPrefix().rank(server) == pytest.approx(1.375)


def test_best_prefix_is_never_lowered_by_a_poor_url() -> None:
    """Capacity falls when a poor URL joins a short queue, the best prefix does not."""
    server = server_for(BestPrefix(), limit=10)
    before = BestPrefix().rank(server), CapacityBased().rank(server)
    server.urls.push(Entry("http://a.example/poor", 0.001), "/poor", 9)
    assert BestPrefix().rank(server) == before[0]
    assert CapacityBased().rank(server) < before[1]


def test_best_prefix_goes_on_while_the_next_url_is_worth_its_time() -> None:
    """0.9 in 0.6 s is 1.5 per second, a new connection would give 0.9: 1.5² is .75 x 0.9 x 3.33."""
    server = server_for(BestPrefix())
    assert BestPrefix().goes_on(server, 3.3)
    assert not BestPrefix().goes_on(server, 3.4)


def test_best_prefix_stays_longer_where_it_costs_more_to_come_back() -> None:
    """It leaves for the same offer if a connection takes a tenth of the time, and always for a better one."""
    near, far = server_for(BestPrefix()), server_for(BestPrefix())
    near.estimates.connect_time /= 10
    assert BestPrefix().goes_on(far, 2.5)
    assert not BestPrefix().goes_on(near, 2.5)
    assert BestPrefix().goes_on(near, 1.5)


def test_the_examples_in_the_documentation_work() -> None:
    """The custom policy and quality of docs/policies.md; the policy ranks in a frontier."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
    examples: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, examples)
    quality = examples["ShortPathsFirst"]()
    assert isinstance(quality, Quality)
    assert quality.quality("http://a.example/", 0) > quality.quality("http://a.example/b/c", 1)
    frontier = Frontier(checked_policy(examples["BigServersFirst"])())
    urls = ("http://a.example/1", "http://b.example/1", "http://b.example/2")
    frontier.push(Entry(url, quality.quality(url, 0)) for url in urls)
    session = frontier.open_session(0.0)
    assert session is not None
    assert session.server.key == "http://b.example"
    assert frontier.is_worth_more(session, 0.0)


@pytest.mark.parametrize("wrong", [Policy, QualityFirst(), object, "capacity", type("NoRank", (Policy,), {})])
def test_what_is_no_policy_is_refused(wrong: object) -> None:
    """The base itself, an object instead of a class, another class, a class without ``rank``."""
    with pytest.raises(ValueError, match="must be a class with rank"):
        checked_policy(wrong)


def test_a_class_with_rank_alone_is_a_policy() -> None:
    """It gets the defaults of the base for all else."""

    class Own:
        by_quality = False

        def rank(self, server: Server) -> float:
            return 2.0

    policy = checked_policy(Own)()
    assert isinstance(policy, Own)
    assert (policy.by_quality, policy.learns_prior, policy.looks_ahead) == (False, False, False)
    frontier = Frontier(policy)
    frontier.push([Entry("http://a.example/1", 1.0)])
    assert frontier.open_session(0.0) is not None
