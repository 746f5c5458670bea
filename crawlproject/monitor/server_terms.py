"""Describes one server: its rank with each term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.frontier.server import Server


def server_terms(frontier: Frontier, server: Server, now: float) -> dict[str, Any]:
    """The rank of ``server`` by the policy, and its terms; times in seconds. O(batch)."""
    estimates, urls = server.estimates, server.urls
    return {
        "server": server.key,
        "rank": frontier.policy.rank(server) if urls else 0.0,
        "last_error": server.last_error,
        "fetched": server.fetched,
        "wait": max(0.0, server.ready_at - now),
        "urls": len(urls),
        "batch": server.expected_pages,
        "best_quality": urls.best_quality,
        "batch_quality": urls.window_sum,
        "bonus": server.bonus,
        "urgency": server.urgency,
        "pages": server.pages,
        "copies": server.copies,
        "worth": server.worth,
        "connect_time": estimates.connect_time,
        "response_time": estimates.response_time,
        "page_time": server.page_time,
        "session_time": server.expected_time if urls else 0.0,
        "crawl_delay": server.crawl_delay,
        "failures": server.failures,
        "guarded": server.demoted_because,
        "refused": server.guard.refused if server.guard else 0,
        "traps": server.guard.spent if server.guard else [],
    }
