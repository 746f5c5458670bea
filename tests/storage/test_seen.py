"""The seen-set on disk against a set."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.seen import DiskSeenStore

LABEL = StoreLabel("web", "quality")
STEPS = ["add_new", "contains", "commit", "load", "drop", "reopen"]
KEYS = st.lists(st.integers(0, 20) | st.integers((1 << 96) - 20, (1 << 96) - 1), max_size=8)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), KEYS), max_size=20))
def test_seen_set_behaves_like_a_set(steps: list[tuple[str, list[int]]]) -> None:
    """Also over commits and restarts, its length included."""
    with TemporaryDirectory() as folder:
        store = DiskStore(Path(folder), LABEL)
        seen = DiskSeenStore(store)
        model: set[int] = set()
        committed: set[int] = set()
        for name, keys in steps:
            if name == "add_new":
                for key, is_new in zip(keys, seen.add_new(keys), strict=True):
                    assert is_new == (key not in model)
                    model.add(key)
            elif name == "contains":
                assert seen.contains(keys) == [key in model for key in keys]
            elif name == "commit":
                store.commit()
                committed = set(model)
            elif name == "load":
                seen.load(keys)
                model |= set(keys)
                committed |= set(keys)
            elif name == "drop":
                first, end = (min(keys), max(keys) + 1) if keys else (0, 1 << 96)
                for _ in seen.drop(first, end):
                    pass
                model = {key for key in model if not first <= key < end}
                committed = {key for key in committed if not first <= key < end}
            else:
                store.close()
                store = DiskStore(Path(folder), LABEL)
                seen = DiskSeenStore(store)
                model = set(committed)
            assert len(seen) == len(model)
        assert all(seen.contains(sorted(model)))
        store.close()


def test_a_key_that_is_too_long_raises(tmp_path: Path) -> None:
    """It is not cut off."""
    with DiskStore(tmp_path, LABEL) as store, pytest.raises(OverflowError):
        DiskSeenStore(store).add_new([1 << 96])
