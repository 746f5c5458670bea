"""The store's directory: whose it is, who may write, and what a failure leaves."""

import json
import multiprocessing
import os
import resource
import signal
from pathlib import Path

import pytest

from crawlproject.storage.directory import FORMAT, StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.errors import StoreError
from crawlproject.storage.seen import DiskSeenStore
from crawlproject.storage.urls import DiskUrlRows

LABEL = StoreLabel("web", "quality")
KEYS = list(range(10))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with three keys, closed."""
    with DiskStore(tmp_path / "frontier", LABEL) as store:
        DiskSeenStore(store).add_new(KEYS[:3])
        store.commit()
    return tmp_path / "frontier"


def contents(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def seen_in(path: Path) -> list[int]:
    with DiskStore.read_only(path) as store:
        return [int.from_bytes(key, "big") for key, _ in store.rocks.rows("seen")]


def test_what_was_committed_is_there_again(path: Path) -> None:
    """And what was not is not."""
    with DiskStore(path, LABEL) as store:
        assert DiskSeenStore(store).add_new(KEYS[1:5]) == [False, False, True, True]
    assert seen_in(path) == KEYS[:3]


def test_a_second_writer_is_refused(path: Path) -> None:
    """The message names the process that holds it; afterwards it can be opened."""
    with DiskStore(path, LABEL), pytest.raises(StoreError, match=f"in use by pid {os.getpid()}$"):
        DiskStore(path, LABEL)
    DiskStore(path, LABEL).close()


def test_it_can_be_read_while_it_is_written(path: Path) -> None:
    """A reader sees what was committed when it opened, and disturbs nobody."""
    with DiskStore(path, LABEL) as store:
        seen = DiskSeenStore(store)
        seen.add_new(KEYS[3:5])
        assert seen_in(path) == KEYS[:3]
        store.commit()
        assert seen_in(path) == KEYS[:5]
        seen.add_new(KEYS[5:6])
        store.commit()
    assert seen_in(path) == KEYS[:6]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spider": "other"}, "belongs to the spider 'other', not to 'web'"),
        *(({"format": other}, f"has format {other}, this version reads format {FORMAT}") for other in (0, 2, 5)),
        ({"kind": "cookbook"}, "of another kind: 'cookbook'"),
        ({"order": "arrival"}, "sorted by arrival"),
        ({"spider": None, "format": "x"}, "damaged"),
    ],
)
def test_a_store_that_is_not_ours_is_left_alone(path: Path, change: dict[str, object], reason: str) -> None:
    """Another spider's, one of another format, something else: a clear error, and not a byte changes."""
    label = path / "store.json"
    label.write_text(json.dumps(json.loads(label.read_text()) | change))
    before = contents(path)
    with pytest.raises(StoreError, match=reason):
        DiskStore(path, LABEL)
    assert contents(path) == before


@pytest.mark.parametrize("text", ["{}", "[]", "not json", "\udcff", None])
def test_a_damaged_or_missing_label_is_an_error(path: Path, text: str | None) -> None:
    """It is not taken for a new store, and overwritten."""
    if text is None:
        (path / "store.json").unlink()
    else:
        (path / "store.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreError, match=r"store\.json"):
        DiskStore(path, LABEL)


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT", "*.sst"])
def test_a_damaged_database_is_an_error(path: Path, pattern: str) -> None:
    """A file overwritten in its middle: opening or reading says so, and the other files stay."""
    with DiskStore(path, LABEL) as store:
        store.rocks.flush()
    files = list((path / "db").glob(pattern))
    assert files
    for file in files:
        file.write_bytes(b"\0" * file.stat().st_size)
    tables = {file: file.read_bytes() for file in (path / "db").glob("*.sst")}
    with pytest.raises(StoreError, match="cannot be"), DiskStore(path, LABEL) as store:
        DiskSeenStore(store).add_new(KEYS)
    assert {file: file.read_bytes() for file in (path / "db").glob("*.sst")} == tables


def test_after_a_failed_read_nothing_is_written(path: Path) -> None:
    """Who met the error may have gone on without what could not be read; closing is quiet, and the store as it was."""
    with DiskStore(path, LABEL) as store:
        store.rocks.flush()
    tables = {file: file.read_bytes() for file in (path / "db").glob("*.sst") if file.stat().st_size > 40}
    for file, content in tables.items():
        file.write_bytes(bytes(30) + content[30:])  # the first block of data, which opening does not read
    with DiskStore(path, LABEL) as store:
        rows = DiskUrlRows(store)
        with pytest.raises(StoreError, match="cannot be read"):
            store.rocks.get_many("seen", [KEYS[0].to_bytes(12, "big")])
        rows.put(7, b"1", b"row")
        with pytest.raises(StoreError, match="cannot be read"):
            store.commit()
    for file, content in tables.items():
        file.write_bytes(content)
    assert seen_in(path) == KEYS[:3]


def test_read_only_needs_a_store(tmp_path: Path) -> None:
    """Looking does not make one."""
    with pytest.raises(StoreError, match="no frontier is stored here"):
        DiskStore.read_only(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def fill_a_full_disk(path: Path, answers: object) -> None:
    """In a process whose files may not grow beyond 300 kB: commit until that fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = DiskStore(path, LABEL)
    rows = DiskUrlRows(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    committed = 0
    try:
        for number in range(1000):
            rows.put(7, number.to_bytes(4, "big"), bytes(1000))
            store.commit()
            committed = number + 1
    except StoreError as error:
        answers.put((committed, str(error), rows.get(7, bytes(4)) == bytes(1000)))  # type: ignore[attr-defined]
        return
    answers.put((committed, "", True))  # type: ignore[attr-defined]


def test_full_disk_is_an_error_and_what_was_committed_stays(path: Path) -> None:
    """The commit raises, reads go on, and the next process finds exactly the committed rows."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=fill_a_full_disk, args=(path, answers))
    process.start()
    committed, error, readable = answers.get(timeout=60)
    process.join(60)
    assert 0 < committed < 1000
    assert "cannot be written" in error
    assert readable
    with DiskStore(path, LABEL) as store:
        stored = list(DiskUrlRows(store).rows(7))
    assert committed <= len(stored) <= committed + 1


def test_a_scratch_store_leaves_nothing(tmp_path: Path) -> None:
    """Nor does it sync; while it is open it works like any other, and has one writer."""
    path = tmp_path / "scratch"
    with DiskStore.scratch(path, LABEL) as store:
        seen = DiskSeenStore(store)
        assert seen.add_new(KEYS) == [True] * 10
        assert store.commit()
        assert seen.add_new([*KEYS, 11]) == [False] * 10 + [True]
        with pytest.raises(StoreError, match="in use by pid"):
            DiskStore(path, LABEL)
    assert not path.exists()
