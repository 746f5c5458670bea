"""Limits on the pages of a server and of a domain, also over restarts."""

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawlproject.discovery.page_limits import PageLimits
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.frontier.live_limits import LiveLimits
from crawlproject.options.limits import LimitOptions
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.frontier_state import DiskFrontierStore
from tests.frontier.invariants import check

A, B, C = "http://a.example.org", "https://b.example.org", "http://c.example.com"


def frontier_of(*urls: str) -> Frontier:
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push(Entry(url) for url in urls)
    return frontier


def dropped(frontier: Frontier) -> list[str]:
    return sorted(entry.url for entry in frontier.drops.take())


def test_full_domain_fills_all_its_servers() -> None:
    """Known servers in any state, and those found later."""
    frontier = frontier_of(f"{A}/1")
    limits = PageLimits(frontier, LiveLimits({"domain": 2}))
    assert not limits.refuses(f"{B}/1")
    frontier.push([Entry(f"{B}/1"), Entry(f"{C}/1")])
    limits.fetched(A)
    limits.fetched(B)
    assert dropped(frontier) == [f"{A}/1", f"{B}/1"]
    new = "http://new.example.org"
    assert [limits.refuses(f"{key}/x") for key in (A, B, new, C)] == [True, True, True, False]
    assert len(frontier) == 1
    check(frontier)


def test_servers_of_a_full_domain_stay_unknown() -> None:
    """Its pages may link to any number of them; a request to one is dropped as well."""
    frontier = frontier_of(f"{A}/1")
    limits = PageLimits(frontier, LiveLimits({"domain": 1}))
    limits.fetched(A)
    assert all(limits.refuses(f"http://{number}.example.org/") for number in range(9))
    assert [server.key for server in frontier.servers] == [A]
    assert limits.register(B)
    frontier.push([Entry(f"{B}/1")])
    assert dropped(frontier) == [f"{A}/1", f"{B}/1"]


def test_requests_to_a_full_server_are_kept_for_a_higher_limit(tmp_path: Path) -> None:
    """Those that a spider yields after the server was full, and one that was handed out but not sent."""

    def run(limit: int) -> tuple[Frontier, DiskStore]:
        store = DiskStore(tmp_path, StoreLabel("web", "quality"))
        frontier = Frontier(BestPrefix(), Politeness())
        DiskFrontierStore(store, 0.0).load(frontier, 0.0)
        PageLimits(frontier, LiveLimits({"server": limit}))
        return frontier, store

    frontier, store = run(2)
    frontier.push([Entry(f"{A}/1")])
    session = frontier.open_session(0.0)
    handed_out = frontier.next_url(session, 0.0)
    for _ in range(2):
        frontier.page_fetched(A, 2)
    frontier.give_back(session, handed_out)
    frontier.close_session(session, 0.0)
    frontier.push([Entry(f"{A}/2")])
    check(frontier)
    assert dropped(frontier) == [f"{A}/1", f"{A}/2"]
    assert len(frontier) == 0
    store.commit()
    store.close()
    frontier, store = run(3)
    frontier.fill(A)
    assert dropped(frontier) == [f"{A}/1", f"{A}/2"]
    store.close()


def test_deny_file_is_read_and_checked(tmp_path: Path) -> None:
    """A host or domain per line; the error names an invalid line."""
    path = tmp_path / "deny.txt"
    path.write_text("\ufeff# not these\nexample.org  # asked us\n\nb.example:8080\n", encoding="utf-8")
    options = LimitOptions.from_settings(Settings({"FRONTIER_DENY_FILE": str(path)}))
    assert options.denied == {"example.org", "b.example:8080"}
    path.write_text("no domain!")
    with pytest.raises(ValueError, match=r"^FRONTIER_DENY_FILE=.*'no domain!'"):
        LimitOptions.from_settings(Settings({"FRONTIER_DENY_FILE": str(path)}))
