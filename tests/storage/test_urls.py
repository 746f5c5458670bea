"""Rows of URLs against dicts."""

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.urls import ROWS_AT_ONCE, DiskUrlRows

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


@settings(max_examples=20, deadline=None)
@given(STEPS)
def test_rows_behave_like_a_dict(steps: list[tuple]) -> None:
    """Whatever has been committed and what not: the same answers; after reopening, those of the last commit."""
    with TemporaryDirectory() as folder:
        store = DiskStore(Path(folder), LABEL)
        rows = DiskUrlRows(store)
        model: dict[tuple[int, bytes], bytes] = {}
        committed = dict(model)
        for name, *args in steps:
            if args:  # no two URLs have one place: their arrival numbers differ
                args[1] = bytes([args[0]]) + args[1]
            match name:
                case "put":
                    if (args[0], args[1]) not in model:
                        rows.put(*args)
                        model[args[0], args[1]] = args[2]
                case "delete" if tuple(args) in model:
                    rows.delete(*args)
                    del model[args[0], args[1]]
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


NAMES = st.integers(0, 5)
FINDS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 2), NAMES),
        st.tuples(st.just("move"), st.integers(1, 2), NAMES),
        st.tuples(st.just("delete"), st.integers(1, 2), NAMES),
        st.tuples(st.just("read"), st.lists(st.tuples(st.integers(1, 2), NAMES), max_size=6)),
        st.just(("commit",)),
        st.just(("reopen",)),
    ),
    max_size=60,
)


def digest_of(name: int) -> bytes:
    return b"digest-%d" % name


@settings(max_examples=20, deadline=None)
@given(FINDS, st.integers(2, 8))
def test_urls_are_found_by_their_digest(steps: list[tuple], recent: int) -> None:
    """Where they wait now, whatever is remembered; one queued a second time is found there, until that is removed."""
    with TemporaryDirectory() as folder, patch("crawlproject.storage.urls.RECENT", recent):
        store = DiskStore(Path(folder), LABEL)
        rows = DiskUrlRows(store)
        model: dict[tuple[int, int], tuple[bytes, bytes]] = {}
        committed = dict(model)
        for serial, (name, *args) in enumerate(steps):
            place, row = serial.to_bytes(SORT_KEY_BYTES, "big"), b"row %d" % serial
            old = None if name == "read" else model.get(tuple(args))
            match name:
                case "put":
                    rows.put(args[0], place, row, digest_of(args[1]))
                    model[args[0], args[1]] = (place, row)
                    if old is not None:
                        rows.delete(args[0], old[0], digest_of(args[1]))
                case "move" if old is not None:
                    rows.move(args[0], digest_of(args[1]), old[0], place, old[1])
                    model[args[0], args[1]] = (place, old[1])
                case "delete" if old is not None:
                    rows.delete(args[0], old[0], digest_of(args[1]))
                    del model[args[0], args[1]]
                case "read":
                    rows.read_ahead([(server, digest_of(name)) for server, name in args[0]])
                case "commit":
                    store.commit()
                    committed = dict(model)
                case "reopen":
                    store.close()
                    store = DiskStore(Path(folder), LABEL)
                    rows = DiskUrlRows(store)
                    model = dict(committed)
            for server, name in [(server, name) for server in (1, 2) for name in range(6)][serial % 3 :: 3]:
                assert rows.find(server, digest_of(name)) == model.get((server, name))
        store.close()


def test_rows_are_counted(tmp_path: Path) -> None:
    """What a server has more or less since the last commit; a row that moved is neither."""
    with DiskStore(tmp_path, LABEL) as store:
        rows = DiskUrlRows(store)
        for server in (1, 2, 3):
            rows.put(server, b"a", b"row")
        rows.move(1, b"12345678", b"a", b"b", b"row")
        rows.delete(2, b"a")
        assert rows.resized() == {1: 1, 3: 1}
        store.commit()
        rows.delete(3, b"a")
        assert rows.resized() == {3: -1}


def test_rows_read_ahead_are_not_kept_without_end(tmp_path: Path) -> None:
    """While nothing changes, no commit forgets them: URLs of full servers are read and stay."""
    store = DiskStore(tmp_path, LABEL)
    rows = DiskUrlRows(store)
    places = [bytes(SORT_KEY_BYTES - 2) + number.to_bytes(2, "big") for number in range(500)]
    for place in places:
        rows.put(1, place, b"row")
    store.commit()
    with patch("crawlproject.storage.urls.MAX_AHEAD", 20):
        for place in places:
            assert rows.get(1, place) == b"row"
            assert len(rows._next) <= 20 + ROWS_AT_ONCE
    store.close()
