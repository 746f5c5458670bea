"""The paper's policies, each traced by hand (Cao 2003, §4)."""

import re
from pathlib import Path
from typing import Any

import pytest

from crawlproject.frontier import POLICIES, BestPrefix, CapacityBased, Entry, Frontier, Policy, QualityFirst, Server
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


def test_times_of_the_paper() -> None:
    """T = 2·0.2 + 3·0.6/1.2 = 1.9 s, with two waits between three pages 0.5 more; p = 1: 2·0.2 + 0.6 = 1.0 s."""
    estimates = Estimates()
    assert estimates.requests_per_connection == 50
    estimates.connect_time, estimates.response_time = 0.2, 0.6
    assert estimates.session_time(3) == pytest.approx(1.9)
    assert estimates.session_time(3, wait=0.25) == pytest.approx(2.4)
    estimates.persistent = False
    assert estimates.session_time(1) == pytest.approx(1.0)
    assert smooth(0.5, 1.0) == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("policy", "popped", "bonus", "rank"),
    [
        ("breadth-first", "", 0.0, 0.0),
        ("performance", "", 0.0, 3 / 1.9),  # R = P/T
        ("performance", "123", 0.0, 1 / 0.9),  # P = min(3, 1), T = 0.4 + 0.6/1.2
        ("quality", "", 0.0, 0.9),
        ("capacity", "", 0.0, 1.7 / 1.9),  # (0.9 + 0.5 + 0.3)/T: the fourth URL does not fit on the connection
        ("capacity", "2", 0.0, 0.9 / 1.9),  # (0.5 + 0.3 + 0.1)/T
        ("prefix", "", 0.0, 0.9),  # 0.9/(0.4 + 0.6) for one page, 1.4/1.6 = 0.875 for two
        ("prefix", "", 0.4, 1.375),  # with the bonus 1.3/1.0, 2.2/1.6 = 1.375, 2.9/2.2 = 1.318
    ],
)
def test_ranks_of_the_paper_and_of_prefix(policy: str, popped: str, bonus: float, rank: float) -> None:
    """And the order of URLs: by quality, or as they were found."""
    server = server_for(POLICIES[policy]())
    server.bonus = bonus
    assert [server.urls.pop(server.key).url[-1] for _ in popped] == list(popped)
    assert POLICIES[policy]().rank(server) == pytest.approx(rank)


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
