"""Rows of URLs against dicts."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.storage import DiskStore, DiskUrlRows
from crawlproject.storage.directory import StoreLabel

LABEL = StoreLabel("web", "quality")

SERVERS = st.integers(0, 3)
PLACES = st.binary(min_size=2, max_size=2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), SERVERS, PLACES, st.binary(max_size=3)),
        st.tuples(st.just("delete"), SERVERS, PLACES),
        st.tuples(st.just("get"), SERVERS, PLACES),
        st.tuples(st.just("after"), SERVERS, PLACES, st.integers(0, 4)),
        st.just(("commit",)),
        st.just(("reopen",)),
    ),
    max_size=60,
)


@settings(max_examples=30, deadline=None)
@given(STEPS)
def test_rows_behave_like_a_dict(steps: list[tuple]) -> None:
    """Whatever has been committed and what not: the same answers; after reopening, those of the last commit."""
    with TemporaryDirectory() as folder:
        store = DiskStore(Path(folder), LABEL)
        rows = DiskUrlRows(store)
        model: dict[tuple[int, bytes], bytes] = {}
        committed = dict(model)
        for name, *args in steps:
            match name:
                case "put":
                    rows.put(*args)
                    model[args[0], args[1]] = args[2]
                case "delete":
                    rows.delete(*args)
                    model.pop((args[0], args[1]), None)
                case "get":
                    assert rows.get(*args) == model.get((args[0], args[1]))
                case "after":
                    server, place, count = args
                    expected = sorted(key for owner, key in model if owner == server and key > place)
                    assert rows.after(server, place, count) == expected[:count]
                case "commit":
                    store.commit()
                    committed = dict(model)
                case "reopen":
                    store.close()
                    store = DiskStore(Path(folder), LABEL)
                    rows = DiskUrlRows(store)
                    model = dict(committed)
        store.commit()
        for server in range(4):
            assert dict(rows.rows(server)) == {key: row for (owner, key), row in model.items() if owner == server}
        store.close()


def test_places_by_digest(tmp_path: Path) -> None:
    """Found before and after a commit, and gone when removed."""
    with DiskStore(tmp_path, LABEL) as store:
        rows = DiskUrlRows(store)
        for server in (1, 2):
            rows.put_place(server, b"12345678", bytes([server]))
        for _ in range(2):
            assert rows.get_place(1, b"12345678") == b"\1"
            store.commit()
        rows.delete_place(1, b"12345678")
        assert rows.get_place(1, b"12345678") is None
        store.commit()
        assert rows.get_place(1, b"12345678") is None
        assert rows.get_place(2, b"12345678") == b"\2"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_after_counts(tmp_path: Path, count: int) -> None:
    """No more than asked for."""
    with DiskStore(tmp_path, LABEL) as store:
        rows = DiskUrlRows(store)
        for place in b"abc":
            rows.put(1, bytes([place]), b"")
        assert len(rows.after(1, b"", count)) == min(3, count)
