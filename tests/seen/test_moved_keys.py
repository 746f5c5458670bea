"""A seen-set whose store gains and loses keys in another way, against a set."""

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.seen.cache import ClockCache
from crawlproject.seen.seen_set import SeenSet
from tests.seen.stores import ListStore

STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "load", "drop"]), st.lists(st.integers(0, 20), max_size=6)), max_size=15
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.booleans())
def test_keys_loaded_and_dropped(steps: list[tuple[str, list[int]]], is_cached: bool) -> None:
    """No key that was dropped counts as seen, and none that was loaded as new."""
    store = ListStore()
    seen = SeenSet(store, cache=ClockCache(4) if is_cached else None)
    model: set[int] = set()
    for name, keys in steps:
        if name == "add":
            for key, is_new in zip(keys, seen.add_new(keys), strict=True):
                assert is_new == (key not in model)
                model.add(key)
        elif name == "load":
            store.keys += [key for key in dict.fromkeys(keys) if key not in model]
            model |= set(keys)
            seen.loaded(keys)
        else:
            store.keys = [key for key in store.keys if key not in keys]
            model -= set(keys)
            seen.dropped()
        assert len(seen) == len(model)
