"""Predicts how likely a link leads to a relevant page; learns online from the links that were followed.

Logistic regression by AdaGrad (Duchi, Hazan and Singer 2011) on a few numbers that any topic has in common, and on the
hashed words of the link (Weinberger et al. 2009), whose weights start at 0.  Compared with other models in
docs/research/topic.md.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from math import exp, isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Weights of hashed words: 2 MB with their sums of squares.
BUCKETS = 1 << 18
#: Step sizes of the numbers and of the words: small, because faster learning made crawls worse where few links had been
#: followed yet (docs/research/topic.md).
RATE_OF_NUMBERS, RATE_OF_WORDS = 0.01, 0.02
#: Weights before anything is learned: bias, page, link's text, words around it, its URL.
PRIOR = (-3.5, 1.0, 8.0, 3.0, 8.0)
#: Sum of squares before anything is learned.
_START = 1.0


class Features(NamedTuple):
    """Features of a link, known before it is followed."""

    #: One for each of ``PRIOR``.
    numbers: tuple[float, ...]
    #: Buckets of its words.
    words: Sequence[int]


def bucket(kind: str, word: str) -> int:
    """The bucket of a word in this kind of place. O(length)."""
    return zlib.crc32(f"{kind}{word}".encode("utf-8", "surrogatepass")) & (BUCKETS - 1)


class LinkModel:
    """Weights of features. Each operation is O(features of one link)."""

    def __init__(self) -> None:
        self._numbers = [*PRIOR]
        self._numbers_squares = [_START] * len(PRIOR)
        self._words = array("f", bytes(4 * BUCKETS))
        self._words_squares = array("f", bytes(4 * BUCKETS))
        #: Links learned from.
        self.learned = 0

    def predict(self, features: Features) -> float:
        """The probability that the link leads to a relevant page."""
        weights = self._words
        total = sum(map(float.__mul__, features.numbers, self._numbers))
        total += sum([weights[word] for word in features.words])
        return 1.0 / (1.0 + exp(-total)) if total > -30.0 else 1e-13

    def learn(self, features: Features, outcome: float) -> None:
        """``outcome``: 1 if the page was relevant, else 0."""
        error = self.predict(features) - outcome
        square = error * error
        for number, value in enumerate(features.numbers):
            self._numbers_squares[number] += square * value * value
            self._numbers[number] -= RATE_OF_NUMBERS * error * value / sqrt(self._numbers_squares[number])
        weights, squares = self._words, self._words_squares
        for word in features.words:
            squares[word] += square
            weights[word] -= RATE_OF_WORDS * error / sqrt(_START + squares[word])
        self.learned += 1

    def to_state(self) -> dict[str, Any]:
        """A JSON object with all that was learned. 20 ms."""
        return {
            "learned": self.learned,
            "numbers": self._numbers,
            "numbers_squares": self._numbers_squares,
            "words": _packed(self._words),
            "words_squares": _packed(self._words_squares),
        }

    @classmethod
    def from_state(cls, state: Any) -> LinkModel:
        """Inverse of ``to_state``. Raises ValueError, KeyError or TypeError for a damaged state."""
        model = cls()
        model.learned = int(state["learned"])
        model._numbers, model._numbers_squares = state["numbers"], state["numbers_squares"]
        model._words, model._words_squares = _unpacked(state["words"]), _unpacked(state["words_squares"])
        numbers = [*model._numbers, *model._numbers_squares]
        if len(numbers) != 2 * len(PRIOR) or not all(map(isfinite, numbers)):
            raise ValueError("wrong numbers")
        return model


def _packed(values: array[float]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 1)).decode()


def _unpacked(text: str) -> array[float]:
    try:
        values = array("f", zlib.decompress(base64.b64decode(text)))
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(values) != BUCKETS:
        raise ValueError("wrong number of weights")
    return values
