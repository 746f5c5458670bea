"""The Bloom filter: always right about seen keys, rarely wrong about new ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.seen.bloom import BloomSeenSet

from .conftest import BATCHES, PROPERTY, hashed


@PROPERTY
@given(batches=BATCHES, capacity=st.integers(1, 50), error_rate=st.sampled_from([0.001, 0.3, 0.99]))
def test_added_keys_are_never_new(batches: list[list[int]], capacity: int, error_rate: float) -> None:
    """At any size and error rate."""
    bloom = BloomSeenSet(capacity, error_rate)
    added: set[int] = set()
    for batch in batches:
        for key, is_new in zip(batch, bloom.add_new(batch), strict=True):
            assert not (is_new and key in added)
            added.add(key)
    assert all(key in bloom for key in added)


def test_error_rate_is_kept_when_it_grows() -> None:
    """At ten times its capacity still below the given rate; its own estimate equals the measured rate."""
    bloom = BloomSeenSet(2_000, 0.02)
    bloom.add_new([hashed(number) for number in range(20_000)])
    wrong = sum(hashed(number) in bloom for number in range(100_000, 120_000)) / 20_000
    assert wrong < 0.02
    assert bloom.false_positive_rate == pytest.approx(wrong, rel=0.3, abs=0.0003)
    assert len(bloom) == pytest.approx(20_000, rel=0.02)
