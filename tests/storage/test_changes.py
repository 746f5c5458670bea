"""The changes that a commit records, against the store itself."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import BestPrefix, Entry, Frontier
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.fetched import DiskFetchedPages, FetchedPage
from crawlproject.storage.frontier_state import DiskFrontierStore
from crawlproject.storage.rocks import Changes
from crawlproject.storage.seen import DiskSeenStore

TABLES = ("urls", "servers", "lengths", "seen", "fetched", "state")

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 2), st.integers(1, 3)),
        st.tuples(st.just("fetch")),
        st.tuples(st.just("rise"), st.integers(0, 2), st.integers(0, 9)),
        st.tuples(st.just("forget"), st.integers(0, 2)),
        st.tuples(st.just("commit")),
    ),
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_a_copy_fed_with_the_changes_equals_the_store(steps: list[tuple]) -> None:
    """Table by table; ``places`` is not among them."""
    copy: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
    with TemporaryDirectory() as folder, DiskStore(Path(folder), StoreLabel("web", "quality")) as store:
        frontier = Frontier(BestPrefix())
        DiskFrontierStore(store, 0.0, indexed=True).load(frontier, 0.0)
        seen, pages = DiskSeenStore(store), DiskFetchedPages(store)
        serial = 0
        for name, *args in [*steps, ("commit",)]:
            match name:
                case "push":
                    frontier.push(Entry(f"http://{args[0]}.example/{serial + n}") for n in range(args[1]))
                    seen.add_new(range(serial, serial + args[1]))
                    serial += args[1]
                case "fetch" if (session := frontier.open_session(float(serial))) is not None:
                    entry = frontier.next_url(session, float(serial))
                    assert entry is not None
                    frontier.acknowledge(entry)
                    frontier.close_session(session, float(serial))
                    pages.put(0, entry.url, FetchedPage(1))
                case "rise":
                    frontier.raise_quality([(f"http://{args[0]}.example/{args[1]}", 0.5)])
                case "forget":
                    pages.delete(0, f"http://{args[0]}.example/0")
                case "commit":
                    changes: Changes = {}
                    assert store.commit(changes) == (len(changes) > 0)
                    assert changes.keys() <= set(TABLES)
                    for table, rows in changes.items():
                        for key, value in rows.items():
                            if value is None:
                                copy[table].pop(key, None)
                            else:
                                copy[table][key] = value
        assert copy == {table: dict(store.rocks.rows(table)) for table in TABLES}
