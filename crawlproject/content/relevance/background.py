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


@cache
def _documents(language: str) -> dict[str, int]:
    """Term -> number of documents with it, from the table of one of ``TABLES``; "" -> that of all. 10 ms."""
    data = files(__package__).joinpath(f"documents.{language}.tsv.gz").read_bytes()
    rows = (line.split("\t") for line in gzip.decompress(data).decode().splitlines())
    return {term: int(count) for term, count in rows}


class Idf(dict[str, float]):
    """Term -> inverse document frequency on pages of one language, on which Chinese may occur, too."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, term: str) -> float:
        """log((documents + 1) / (documents with the term + 1)). O(1)."""
        make_room(self)
        language = "zh" if has_han(term) else self._language
        if language in TABLES:
            documents = _documents(language)
            self[term] = value = max(0.0, log((documents[""] + 1) / (documents.get(term, 0) + 1)))
        else:
            self[term] = value = _FREQUENT if term in FUNCTION_WORDS else _USUAL
        return value


@cache
def idf_of(language: str) -> Idf:
    """The inverse document frequencies of terms on pages of a language."""
    return Idf(language)
