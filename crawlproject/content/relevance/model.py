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

#: Version of ``LinkModel.to_state``.
VERSION = 1
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
            "version": VERSION,
            "learned": self.learned,
            "numbers": self._numbers,
            "numbers_squares": self._numbers_squares,
            "words": _packed(self._words),
            "words_squares": _packed(self._words_squares),
        }

    @classmethod
    def from_state(cls, state: Any) -> LinkModel:
        """Inverse of ``to_state``. Raises ValueError for a damaged state, or another version's."""
        if not isinstance(state, dict) or state.get("version") != VERSION:
            raise ValueError(f"not of version {VERSION}")
        model = cls()
        try:
            model.learned = int(state["learned"])
            model._numbers = [float(value) for value in state["numbers"]]
            model._numbers_squares = [float(value) for value in state["numbers_squares"]]
            model._words, model._words_squares = _unpacked(state["words"]), _unpacked(state["words_squares"])
        except (KeyError, TypeError, OverflowError, zlib.error) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error
        squares = [*model._numbers_squares, *model._words_squares]
        if {len(model._numbers), len(model._numbers_squares)} != {len(PRIOR)} or model.learned < 0:
            raise ValueError("wrong number of weights")
        if not all(map(isfinite, [*model._numbers, *model._words])) or not all(0.0 <= one < 1e30 for one in squares):
            raise ValueError("a weight is not finite")
        return model


def _packed(values: array[float]) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 1)).decode()


def _unpacked(text: str) -> array[float]:
    size = 4 * BUCKETS
    unpacker = zlib.decompressobj()
    data = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(data) != size:
        raise ValueError("wrong number of weights")
    values = array("f")
    values.frombytes(data)
    return values
