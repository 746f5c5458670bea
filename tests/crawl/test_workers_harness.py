"""The tools that judge a crawl by many workers: several independent crawls of one web are what they must find.

A web that gives no more pages for now (``limit``) keeps a crawl from ending before it is killed, paused or interrupted.
"""

import math
from pathlib import Path

from testbed.web import (
    PolitenessRule,
    WebSpec,
    missing,
    overlaps,
    politeness_violations,
    repeats,
    running_web,
    unexplained_overlaps,
    unexplained_repeats,
)
from tests.crawl.workers import Workers, workers

SPEC = WebSpec(servers=20, pages=200, seed=4, time_scale=0.05)


def test_independent_crawls_of_one_web_are_found_out(tmp_path: Path) -> None:
    """Two crawls with a frontier each: pages twice, connections at once, waits too short, and by whom."""
    spec = WebSpec(servers=6, pages=80, seed=4, time_scale=0.2)
    rule = PolitenessRule("session", 1, 0.1, 1)
    polite = {"FRONTIER_DELAY_FACTOR": 1, "FRONTIER_MIN_DELAY": 0.1, "FRONTIER_MAX_DELAY": 1}
    with running_web(spec) as web, workers(tmp_path, web, **polite) as crew:
        web.limit(0)
        crew.add()
        crew.add()
        crew.until(lambda: len(opened(crew)) == 2 * spec.seed_count, "both had reached the first servers")
        web.limit(math.inf)
        crew.wait_all()
        records = crew.records()
    assert missing(web.web, records) == []
    assert len(repeats(records)) == 80
    found = overlaps(records)
    assert found
    assert {each.first.client for each in found} | {each.second.client for each in found} == {"127.9.0.1", "127.9.0.2"}
    assert all(each.first.client != each.second.client and each.seconds > 0 for each in found)
    assert politeness_violations(records, rule)
    assert unexplained_overlaps(records, []) == found
    assert unexplained_repeats(records, [], before=3) == repeats(records)


def opened(crew: Workers) -> set[tuple[str, str]]:
    """The servers to which workers have had a connection, with the worker's address."""
    return {(each.server, each.target.partition(":")[0]) for each in crew.records() if each.kind == "open"}


def test_killed_worker(tmp_path: Path) -> None:
    """Its pages are missing; another one, which begins from the start, repeats what is near the kill and what is not.

    Only what it had in flight or less than a second old is explained.
    """
    with running_web(SPEC) as web, workers(tmp_path, web, FRONTIER_MAX_SESSIONS=2) as crew:
        web.limit(60)
        crew.add()
        crew.wait_for_pages(60)
        crew.kill(0)
        web.limit(math.inf)
        assert crew.running() == []
        assert missing(web.web, crew.records())
        crew.add()
        assert crew.wait_all() == [-9, 0]
        records = crew.records()
    assert missing(web.web, records) == []
    again = repeats(records)
    assert unexplained_repeats(records, crew.faults, before=1e6) == []
    assert unexplained_repeats(records, crew.faults, before=0) == [
        each for each in again if each.before.end < crew.faults[0].start
    ]
    assert overlaps(records) == []
