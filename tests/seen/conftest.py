"""Shared by the tests of the seen-set."""

from hashlib import blake2b

from hypothesis import settings
from hypothesis import strategies as st

PROPERTY = settings(deadline=None)  # for @given: a busy machine is no failure

#: Few different keys, so that they come again, and the ends of the range.
KEYS = st.one_of(st.integers(0, 30), st.integers(2**64 - 3, 2**64 - 1), st.integers(0, 2**64 - 1))

#: Batches as pages bring them.
BATCHES = st.lists(st.lists(KEYS, max_size=20), max_size=30)


def hashed(number: int) -> int:
    return int.from_bytes(blake2b(number.to_bytes(8, "big"), digest_size=8).digest(), "big")


def model_answers(batches: list[list[int]]) -> list[list[bool]]:
    """The answers of an exact seen-set, computed with a Python set."""
    seen: set[int] = set()
    answers = []
    for batch in batches:
        answers.append([])
        for key in batch:
            answers[-1].append(key not in seen)
            seen.add(key)
    return answers
