"""Parked connections, as the servers see them."""

from dataclasses import replace

import pytest

from testbed.web import (
    PolitenessRule,
    WebSpec,
    duplicates,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    running_web,
)
from tests.crawl.crawling import crawl
from tests.crawl.differential import run
from tests.crawl.scripted_site import page

#: A wait of 0.3 s between any two requests to a server: longer than a new connection takes.
WAITING = {"FRONTIER_POLITENESS": "request", "FRONTIER_MIN_DELAY": 0.3, "FRONTIER_MAX_DELAY": 0.3}


def test_parked_connections_are_used_again_within_the_limit() -> None:
    """By the servers' log: each page once, at most 3 sessions and 6 idle connections, most on a used connection."""
    spec = WebSpec(servers=9, pages=70, seed=3, time_scale=0)
    with running_web(spec) as web:
        settings = {**WAITING, "FRONTIER_MAX_SESSIONS": 3, "FRONTIER_MAX_PARKED": 6}
        result = crawl("crawlproject.spiders.web.WebSpider", settings=settings, seeds=",".join(web.seeds))
        web.keep_records()
    records = web.records()
    assert result.urls() == sorted(web.web.expected_urls())
    assert duplicates(records) == {}
    assert max_open_connections(records) <= 9
    assert max(parallel_connections(records).values()) == 1
    assert politeness_violations(records, PolitenessRule("request", 5.0, 0.3, 0.3)) == []
    assert result.stat("frontier/sessions/resumed") > 20
    assert result.stat("frontier/sessions/max_open") <= 3


@pytest.mark.parametrize(("parked", "connections"), [(0, 3), (2, 1)])
def test_connection_is_parked_only_if_allowed(parked: int, connections: int) -> None:
    """Three pages of one server, 2 s apart, take three connections or one."""
    script = {"1/0": page("/1"), "1/1": page("/2"), "1/2": page()}
    waits = {"FRONTIER_MIN_DELAY": 2, "FRONTIER_MAX_DELAY": 2}  # longer than opening takes, on a busy machine as well
    ours = run("StartUrlsSpider", script, settings={**WAITING, **waits, "FRONTIER_MAX_PARKED": parked}, start="1/0")
    assert ours.site.places() == ["1/0", "1/1", "1/2"]
    assert len({one.connection for one in ours.site.asked}) == connections
    assert min(ours.site.gaps(1)) >= 2


def test_server_that_closes_a_parked_connection_costs_nothing() -> None:
    """It closes without notice after each answer: each page arrives at the first try, and nothing fails."""
    script = {f"1/{number}": replace(page(f"/{number + 1}"), closes=True) for number in range(3)} | {"1/3": page()}
    ours = run("StartUrlsSpider", script, settings={**WAITING, "FRONTIER_MAX_PARKED": 2}, start="1/0")
    assert ours.site.places() == ["1/0", "1/1", "1/2", "1/3"]
    assert len({one.connection for one in ours.site.asked}) == 4
    assert ours.stat("retry/count") == 0
    assert not [name for name in ours.crawl.stats if name.startswith("frontier/failures")]
