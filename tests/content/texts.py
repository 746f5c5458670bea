"""Texts for tests, by number: any number of distinct words, with changes at chosen places."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from crawlproject.content import PageSketch
from crawlproject.content.plain_shingles import pieces
from crawlproject.content.shingles import Hashes, _piece_hashes


def words(count: int, seed: int = 0) -> list[str]:
    """``count`` mostly distinct words, always the same for a seed."""
    return [blake2b(f"{seed} {number}".encode(), digest_size=4).hexdigest() for number in range(count)]


def text(count: int = 400, seed: int = 0, changed: tuple[int, ...] = ()) -> str:
    """A text with other words at the places ``changed``."""
    result = words(count, seed)
    for place in changed:
        result[place] = f"other{place}"
    return " ".join(result)


def page_sketch(body: str, title: str | None = "A page") -> PageSketch:
    """The sketch of a text long enough to have one."""
    sketch = PageSketch.of(title, body)
    assert sketch is not None
    return sketch


def word_hashes(text: str) -> Hashes:
    """A 32-bit hash for each word of ``text``, in order; for a word above 64 kB, of its end."""
    return np.concatenate([_piece_hashes(piece) for piece in pieces(text)]).astype(np.uint64)


def jaccard(one: Hashes, other: Hashes) -> float:
    """Share of common shingles among all distinct shingles of both (resemblance); 1 if there are none."""
    together = len(np.union1d(one, other))
    return len(np.intersect1d(one, other)) / together if together else 1.0
