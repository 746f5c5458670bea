"""Texts for tests, by number: any number of distinct words, with changes at chosen places."""

from __future__ import annotations

from hashlib import blake2b

from crawlproject.content.sketch import PageSketch, hashes_of


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
    sketch = PageSketch.of(title, body)
    assert sketch is not None
    return sketch


def jaccard(one: str, other: str) -> float:
    """Share of common shingles among all distinct shingles of both texts (resemblance); 1 if there are none."""
    left, right = shingles(one), shingles(other)
    return len(left & right) / len(left | right) if left | right else 1.0


def shingles(text: str) -> set[int]:
    """The hashes of all shingles of ``text``."""
    return {*hashes_of(text)}
