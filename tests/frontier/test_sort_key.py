"""Sort keys and rows as bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.frontier.queues.sort_key import (
    MAX_PRIORITY,
    SORT_KEY_BYTES,
    Row,
    SortKey,
    decode_row,
    decode_sort_key,
    encode_path,
    encode_row,
    encode_sort_key,
)

PLACES = st.builds(
    SortKey,
    st.floats(0, allow_infinity=False, allow_nan=False),
    st.integers(-MAX_PRIORITY, MAX_PRIORITY),
    st.integers(0, (1 << 40) - 1),
)


@given(st.booleans(), PLACES, PLACES)
def test_places_sort_as_urls_are_fetched(by_quality: bool, one: SortKey, other: SortKey) -> None:
    """By quality, priority, arrival; or by priority and arrival."""

    def order(sort_key: SortKey) -> tuple[float, ...]:
        late = (-sort_key.priority, sort_key.arrival)
        return (-sort_key.quality, *late) if by_quality else (*late, -sort_key.quality)

    codes = [encode_sort_key(*sort_key, by_quality=by_quality) for sort_key in (one, other)]
    assert (codes[0] < codes[1]) == (order(one) < order(other))


@given(st.booleans(), PLACES)
def test_a_place_comes_back(by_quality: bool, sort_key: SortKey) -> None:
    """Exactly, from 17 bytes."""
    code = encode_sort_key(*sort_key, by_quality=by_quality)
    assert len(code) == SORT_KEY_BYTES
    assert decode_sort_key(code, by_quality=by_quality) == sort_key


def test_minus_zero_is_zero() -> None:
    """It sorts like 0."""
    zero, minus = (encode_sort_key(q, 0, 1, by_quality=True) for q in (0.0, -0.0))
    assert zero == minus


def test_a_priority_that_does_not_fit_raises() -> None:
    """Instead of sorting incorrectly."""
    with pytest.raises(ValueError, match="priority=2147483648"):
        encode_sort_key(1.0, MAX_PRIORITY + 1, 0, by_quality=True)


@given(st.builds(Row, st.text(), st.integers(0, 1 << 40), st.none() | st.binary(max_size=300)))
def test_a_row_comes_back(row: Row) -> None:
    """Path, depth and payload; an empty payload differs from None."""
    assert decode_row(encode_row(encode_path(row.path), row.depth, row.payload)) == row


def test_a_plain_link_costs_two_bytes_more_than_its_path() -> None:
    """Depth, and no payload."""
    assert encode_row(b"/path", 3, None) == b"\x03\x00/path"
