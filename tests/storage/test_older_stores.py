"""Stores of earlier formats are upgraded: what was learned is known, what was queued is fetched in the same order.

``tests/data/stores`` holds them, with what the code that wrote them finds when it opens them (``expected.json``).
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from crawlproject.frontier import BestPrefix, BreadthFirst, Entry, Frontier, Measurement, Politeness, Server
from crawlproject.seen import url_fingerprint, url_key
from crawlproject.storage.content_file import ContentFile
from crawlproject.storage.directory import FORMAT, StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.fetched import DiskFetchedPages
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.storage.seen_file import SeenFile
from tests.frontier.invariants import check

if TYPE_CHECKING:
    from crawlproject.frontier import Policy

ARCHIVE = Path(__file__).parents[1] / "data" / "stores" / "format-4.tar.gz"
#: From Python 3.11.4 on.
FILTER = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
PLAIN, COPIES, FORUM, NEW = (f"http://{name}.example" for name in ("plain", "copies", "forum", "new"))
POLITENESS = Politeness(mode="request", factor=10, min_delay=0.5, max_delay=60)
#: The frontier's clock when the stores are opened, and what the wall clock shows more.
NOW, EPOCH = 60.0, 1_700_000_000.0

#: Folder of the archive -> policy, name in ``expected.json``.
STORES: dict[str, tuple[type[Policy], str]] = {
    "quality/frontier": (BestPrefix, "quality"),
    "arrival/frontier": (BreadthFirst, "arrival"),
    "format-2": (BestPrefix, "quality"),
}


def test_stores_of_the_format_before_are_kept() -> None:
    """A new format begins with an archive of the one before, written by the code that knew no other."""
    assert ARCHIVE.name == f"format-{FORMAT - 1}.tar.gz"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stores, unpacked; not to be changed."""
    folder = tmp_path_factory.mktemp("stores")
    with tarfile.open(ARCHIVE) as file:
        file.extractall(folder, **FILTER)  # type: ignore[arg-type]
    return folder


class Opened:
    """A store and the frontier that was filled from it."""

    def __init__(self, folder: Path, policy: type[Policy], *, read_only: bool = False) -> None:
        label = StoreLabel("web", "quality" if policy.by_quality else "arrival")
        self.store = DiskStore.read_only(folder) if read_only else DiskStore(folder, label)
        self.frontier = Frontier(policy(), POLITENESS, max_batch=20, max_failures=5)
        self.servers = DiskFrontierStore(self.store, EPOCH, indexed=policy.by_quality)
        try:
            self.servers.load(self.frontier, NOW)
        except StoreError:
            self.store.close()
            raise

    def found(self) -> dict[str, Any]:
        """All that ``expected.json`` has; it fetches every URL, in memory."""
        frontier = self.frontier
        found: dict[str, Any] = {"servers": {server.key: learned(frontier, server) for server in frontier.servers}}
        found["order"] = order(frontier)
        frontier.push([Entry(f"{NEW}/", 1.0)])
        new = frontier.server(NEW)
        assert new is not None
        found["new"] = {"page_time": new.page_time, "setup_time": new.setup_time, "bonus": new.bonus}
        found["sitemap"] = frontier._expectations.sitemaps.worth
        seen = DiskSeenStore(self.store)
        found["seen"] = [len(seen), *seen.contains([url_key(f"{PLAIN}/unstored"), url_key(f"{PLAIN}/1")])]
        found["fetched"] = self.fetched()
        return found

    def fetched(self) -> list[list[str]]:
        """Server, path and what is known of the pages fetched."""
        pages = DiskFetchedPages(self.store).stored()
        named = [(self.servers.server(number), path, page) for number, path, page in pages]
        return [[server.key, path, repr(page)] for server, path, page in named if server is not None]


def learned(frontier: Frontier, server: Server) -> dict[str, Any]:
    """What was learned of ``server`` and decides about it."""
    guard, kinds, shared, run = server.guard, server.file_kinds, server.shared, server.copy_run
    return {
        "urls": len(server.urls),
        "state": server.state.value,
        "rank": frontier.policy.rank(server) if server.urls else 0.0,
        "limit": server.limit,
        "expected_time": server.expected_time if server.urls else 0.0,
        "setup_time": server.setup_time,
        "page_time": server.page_time,
        "persistent": server.estimates.persistent,
        "keep_alive_time": server.estimates.keep_alive_time,
        "requests_per_connection": server.estimates.requests_per_connection,
        "away_wait": server.away_wait,
        "bonus": server.bonus,
        "urgency": server.urgency,
        "worth": server.worth,
        "ready_at": server.ready_at,
        "crawl_delay": server.crawl_delay,
        "failures": server.failures,
        "last_error": server.last_error,
        "given_up": server.given_up,
        "fetched": server.fetched,
        "pages": server.pages,
        "copies": server.copies,
        "demoted": server.demoted_because,
        "shared": [shared.is_mirror, shared.count(PLAIN), shared.count(FORUM)] if shared else None,
        "refused": guard.refused if guard else 0,
        "listed": guard.listed if guard else 0,
        "spent": guard.spent if guard else [],
        "patterns": [pattern.to_state() for pattern in guard.patterns.values()] if guard else [],
        "visit_ids": [guard.visit_ids.learned, guard.visit_ids.cleared] if guard else None,
        "files": [kinds.answers(kind) for kind in ("png images", "jpg wiki", "zip a", "gif x")] if kinds else None,
        "copy_run": [run.add(7), run.add(7 + 2**60)] if run else None,
    }


def order(frontier: Frontier, count: int = 10_000) -> list[list[Any]]:
    """All that is queued, or the first ``count``, fetched in order, each page in a quarter of a second."""
    fetched: list[list[Any]] = []
    now = NOW
    while len(frontier) and len(fetched) < count:
        session = frontier.open_session(now)
        if session is None:
            due = frontier.queue.first_due()
            assert due is not None
            now = max(now, due)
            continue
        while (entry := frontier.next_url(session, now)) is not None:
            frontier.acknowledge(entry)
            payload = None if entry.payload is None else entry.payload.decode()
            fetched.append([entry.url, entry.quality, entry.priority, entry.depth, payload])
            now += 0.25
            times = {"connect_time": 0.125, "response_time": 0.25, "fetch_time": 0.25}
            frontier.record(Measurement(session.server.key, now, 200, connection_requests=session.requests, **times))
            if len(fetched) == count or not frontier.is_worth_more(session, now):
                break
        frontier.close_session(session, now)
    return fetched


def assert_as_expected(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Part by part, so that a failure shows what differs."""
    assert found.keys() == expected.keys()
    for key, server in expected["servers"].items():
        assert found["servers"][key] == server, key
    assert found == expected


def copied(store: Path, tmp_path: Path) -> Path:
    """A copy of the ``store``, which may be changed."""
    folder = tmp_path / "frontier"
    shutil.copytree(store, folder)
    return folder


@pytest.mark.parametrize("name", STORES)
def test_an_older_store_is_upgraded(archive: Path, tmp_path: Path, name: str) -> None:
    """It is of this format then; what was learned, what is queued and its order are as the older version had them."""
    policy, expected_name = STORES[name]
    expected = json.loads((archive / "expected.json").read_text())[expected_name]
    folder = copied(archive / name, tmp_path)
    opened = Opened(folder, policy)
    assert_as_expected(opened.found(), expected)
    opened.store.close()
    assert json.loads((folder / "store.json").read_text())["format"] == FORMAT


@pytest.mark.parametrize("name", STORES)
def test_an_upgraded_store_is_written_as_this_version_does(archive: Path, tmp_path: Path, name: str) -> None:
    """Every record is rewritten and read again: nothing is lost by that either."""
    policy, expected_name = STORES[name]
    expected = json.loads((archive / "expected.json").read_text())[expected_name]
    folder = copied(archive / name, tmp_path)
    opened = Opened(folder, policy)
    for server in opened.frontier.servers:
        opened.frontier.servers.changed(server)
    opened.store.commit()
    opened.store.close()
    opened = Opened(folder, policy)
    assert_as_expected(opened.found(), expected)
    opened.store.close()


@pytest.mark.parametrize("name", STORES)
def test_an_older_store_goes_on(archive: Path, tmp_path: Path, name: str) -> None:
    """Some URLs are fetched before a second restart, which has records of both versions: none comes twice."""
    policy, expected_name = STORES[name]
    queued = [row[0] for row in json.loads((archive / "expected.json").read_text())[expected_name]["order"]]
    folder = copied(archive / name, tmp_path)
    opened = Opened(folder, policy)
    fetched = [row[0] for row in order(opened.frontier, 50)]
    opened.store.commit()
    opened.store.close()
    opened = Opened(folder, policy)
    assert len(opened.frontier) == len(queued) - 50
    check(opened.frontier)
    fetched += [row[0] for row in order(opened.frontier)]
    opened.store.close()
    assert sorted(fetched) == sorted(queued)


def test_an_older_store_is_shown_without_being_changed(archive: Path, tmp_path: Path) -> None:
    """As by ``scrapy frontier``, while a crawl of the older version runs."""
    folder = copied(archive / "quality/frontier", tmp_path)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    opened = Opened(folder, BestPrefix, read_only=True)
    assert len(opened.frontier) == 357
    opened.store.close()
    assert {path: path.read_bytes() for path in before} == before


def test_files_beside_the_store(archive: Path, tmp_path: Path) -> None:
    """Contents and keys met."""
    shutil.copytree(archive / "quality", tmp_path / "job")
    contents = ContentFile(tmp_path / "job" / "contents.tsv")
    contents.open()
    assert [contents.first(i << 40, "x", 0) for i in range(1, 5)] == [*(f"{PLAIN}/{i}" for i in range(1, 4)), None]
    contents.close()
    keys = SeenFile(tmp_path / "job" / "seen.keys")
    assert [list(chunk) for chunk in keys.open()] == [[url_fingerprint(f"{PLAIN}/{i}") for i in range(3)]]
    keys.close()
