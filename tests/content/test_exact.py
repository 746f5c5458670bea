"""The table of known contents: compared with a dict, and its memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.content import ContentTable
from crawlproject.seen import bytes_fingerprint

EMPTY = ContentTable().__sizeof__()


@settings(deadline=None)
@given(st.lists(st.integers(1, 40) | st.integers(2**64 - 3, 2**64 - 1) | st.integers(1, 2**64 - 1), max_size=300))
def test_the_first_value_stays(keys: list[int]) -> None:
    """As with ``dict.setdefault``."""
    table, model = ContentTable(), dict[int, int]()
    for value, key in enumerate(keys):
        assert table.first(key, value) == model.setdefault(key, value)
    assert len(table) == len(model)


@settings(deadline=None)
@given(st.lists(st.integers(1, 200), max_size=200), st.sampled_from([0, 2**64 - 256 * 201]))
def test_keys_that_all_want_one_place(numbers: list[int], start: int) -> None:
    """Slow but correct, also at the wrap-around."""
    table, model = ContentTable(), dict[int, int]()
    for value, number in enumerate(numbers):
        key = start + 256 * number
        assert table.first(key, value) == model.setdefault(key, value)


def test_bytes_per_key() -> None:
    """At most 16 bytes / (3/5) = 26.7, plus the size of an empty table."""
    table = ContentTable()
    for number in range(1, 60_000):
        table.first(bytes_fingerprint(number.to_bytes(8, "big")), number)
        if number % 7_000 == 0:
            assert table.__sizeof__() <= EMPTY + 26.7 * number
