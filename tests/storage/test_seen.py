"""The seen-set on disk against a set."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.seen.fingerprint import key_bytes
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.seen import DiskSeenStore

LABEL = StoreLabel("web", "quality")
STEPS = ["add_new", "add", "contains", "commit", "load", "drop", "mark", "reopen"]
KEYS = st.lists(st.integers(0, 20) | st.integers((1 << 96) - 20, (1 << 96) - 1), max_size=8)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), KEYS), max_size=20))
def test_seen_set_behaves_like_a_set(steps: list[tuple[str, list[int]]]) -> None:
    """Also over commits and restarts, its length included; a mark is kept from the next commit on, if its key is."""
    with TemporaryDirectory() as folder:
        store = DiskStore(Path(folder), LABEL)
        seen = DiskSeenStore(store)
        model: set[int] = set()
        committed: set[int] = set()
        waiting: set[int] = set()
        marked: set[int] = set()
        for name, keys in steps:
            if name == "add_new":
                for key, is_new in zip(keys, seen.add_new(keys), strict=True):
                    assert is_new == (key not in model)
                    model.add(key)
            elif name == "add":
                new = set(keys) - model
                seen.add(sorted(new))
                model |= new
            elif name == "contains":
                assert seen.contains(keys) == [key in model for key in keys]
            elif name == "commit":
                store.commit()
                committed = set(model)
                marked |= waiting & model
                waiting = set()
            elif name == "mark":
                for key in keys:
                    seen.mark(key, 255)
                waiting |= set(keys)
            elif name == "load":
                seen.load((key_bytes(key), b"") for key in keys)
                model |= set(keys)
                committed |= set(keys)
            elif name == "drop":
                first, end = (min(keys), max(keys) + 1) if keys else (0, 1 << 96)
                for _ in seen.drop(first, end):
                    pass
                model = {key for key in model if not first <= key < end}
                committed = {key for key in committed if not first <= key < end}
                waiting, marked = ({key for key in some if not first <= key < end} for some in (waiting, marked))
            else:
                store.close()
                store = DiskStore(Path(folder), LABEL)
                seen = DiskSeenStore(store)
                model = set(committed)
                waiting = set()
            assert len(seen) == len(model)
        assert sorted(seen) == sorted(model)
        assert {key for key in committed if seen.marked(key)} == marked
        counts = {255: len(marked), 0: len(committed - marked)}
        assert seen.count_marks() == {number: count for number, count in counts.items() if count}
        store.close()


def test_a_key_that_is_too_long_raises(tmp_path: Path) -> None:
    """It is not cut off."""
    with DiskStore(tmp_path, LABEL) as store, pytest.raises(OverflowError):
        DiskSeenStore(store).add_new([1 << 96])
