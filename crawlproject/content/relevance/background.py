"""Document frequencies of English and Chinese, from which inverse document frequencies follow.

The tables are made by ``1757b206:scripts/topic_background.py`` from documentation and texts that Debian packages.
A table is a gzip file of lines ``term<TAB>documents``; the first has an empty term and the number of all documents.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.resources import files
from math import log

from crawlproject.content.relevance.language import FUNCTION_WORDS
from crawlproject.content.relevance.words import has_han, make_room

#: Languages with a table.
TABLES = ("en", "zh")
#: Inverse document frequency of the words of other languages, where only frequent words are known.
_USUAL, _FREQUENT = 5.0, 0.5


class Background:
    """Document frequencies of one language."""

    def __init__(self, documents: int, frequencies: dict[str, int]) -> None:
        self._documents = documents
        self._frequencies = frequencies

    def idf(self, term: str) -> float:
        """log((N + 1) / (documents with the term + 1)), >= 0. O(1)."""
        return max(0.0, log((self._documents + 1) / (self._frequencies.get(term, 0) + 1)))

    def __len__(self) -> int:
        """Number of terms."""
        return len(self._frequencies)


def read_table(data: bytes) -> Background:
    """A table from its bytes. O(size). Raises ValueError or OSError if they are damaged."""
    rows = (line.split("\t") for line in gzip.decompress(data).decode().splitlines())
    frequencies = {term: int(count) for term, count in rows}
    return Background(frequencies.pop(""), frequencies)


@cache
def background(language: str) -> Background:
    """The table of one of ``TABLES``; the first call takes 10 ms."""
    return read_table(files(__package__).joinpath(f"documents.{language}.tsv.gz").read_bytes())


class Idf(dict[str, float]):
    """Term -> inverse document frequency on pages of one language, on which Chinese may occur, too."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._own = background(language) if language in TABLES else None

    def __missing__(self, term: str) -> float:
        make_room(self)
        self[term] = value = self._idf(term)
        return value

    def _idf(self, term: str) -> float:
        if has_han(term):
            return background("zh").idf(term)
        if self._own is not None:
            return self._own.idf(term)
        return _FREQUENT if term in FUNCTION_WORDS else _USUAL


@cache
def idf_of(language: str) -> Idf:
    """The inverse document frequencies of terms on pages of a language."""
    return Idf(language)
