"""A topic as a term vector, and the relevance of pages to it (vector space model, Salton, Wong and Yang 1975).

It is read from a TOML file (docs/topic.md), perhaps learned from example pages.

Weight of a term on a page: (1 + log of its frequency there) x its inverse document frequency.  Relevance: the mean of
the cosines between the topic's vector and those of title and visible text, weighted.

Document frequencies of English and Chinese are in gzip files of lines ``term<TAB>documents``; the first has an empty
term and the number of all documents.  They were made by ``1757b206:scripts/topic_background.py`` from documentation and
texts that Debian packages.
"""

from __future__ import annotations

import gzip
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from math import hypot, log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.content.relevance.visible import visible_lines
from crawlproject.content.relevance.words import (
    CACHED,
    FUNCTION_WORDS,
    LANGUAGES,
    SNOWBALL,
    folded,
    has_han,
    language_of,
    stemmed,
    stemmer_of,
    terms_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

#: Languages with a table.
TABLES = ("en", "zh")
#: Inverse document frequency of the words of other languages, where only frequent words are known.
_USUAL, _FREQUENT = 5.0, 0.5
#: Relevance at which a page is relevant, unless the topic says otherwise.
THRESHOLD = 0.1
#: Terms kept of example pages.
LEARNED_TERMS = 50
#: Weight of the title, the rest being the text's.
_TITLE = 0.3
#: Lowest threshold that is learned, and its part of the examples' mean relevance, if there are very many of them.
_MIN_THRESHOLD, _PART = 0.01, 0.75
#: What pages of a site have in common: not read for terms. So are lines that more than this share of examples have.
_MENUS = "a,nav,aside,footer"
_COMMON = 0.3
#: Characters of an example in which its own lines are looked for.
_MAX_EXAMPLE = 200_000
#: Letters from which a word counts fully in languages without a table: shorter ones are mostly function words.
_FULL_LENGTH = 6
_parts_of_title = re.compile(r"\s[-|:\u00ab\u00b7\u00bb\u2013\u2014\u2022]{1,2}\s").split
_is_particle = re.compile("[\u3041-\u3096]{1,3}").fullmatch


class Relevance(NamedTuple):
    """The relevance of a page, between 0 and 1, and its language."""

    value: float
    language: str


@cache
def _documents(language: str) -> dict[str, int]:
    """Term -> number of documents with it, from the table of one of ``TABLES``; "" -> that of all. 10 ms."""
    data = files(__package__).joinpath(f"documents.{language}.tsv.gz").read_bytes()
    rows = (line.split("\t") for line in gzip.decompress(data).decode().splitlines())
    return {term: int(count) for term, count in rows}


@lru_cache(LANGUAGES)
def idf_of(language: str) -> Callable[[str], float]:
    """Term -> its inverse document frequency on pages of a language, on which Chinese may occur, too."""

    def idf(term: str) -> float:
        place = "zh" if has_han(term) else language
        if place in TABLES:
            documents = _documents(place)
            return max(0.0, log((documents[""] + 1) / (documents.get(term, 0) + 1)))
        return _FREQUENT if term in FUNCTION_WORDS else _USUAL

    return lru_cache(CACHED)(idf)


def weights_of(terms: Mapping[str, int], language: str) -> dict[str, float]:
    """Term -> its weight, for the frequencies of terms on a page. O(terms)."""
    idf = idf_of(language)
    return {term: idf(term) if count == 1 else (1.0 + log(count)) * idf(term) for term, count in terms.items()}


@dataclass(frozen=True)
class Topic:
    """Words with weights > 0."""

    #: Words as the user wrote them, of one or several words each.
    terms: Mapping[str, float]
    threshold: float = THRESHOLD
    #: Language -> the unit vector of the terms as stemmed in it.
    _vectors: dict[str, dict[str, float]] = field(default_factory=dict, compare=False, repr=False)

    def relevance(self, title: str, text: str, declared: str = "") -> Relevance:
        """The relevance of a page; ``declared``: the language it says it is in.

        O(length), bounded as ``terms_of``: 0.9 ms for 16,000 characters, at most 0.15 s.
        """
        words = words_of(folded(text))
        language = language_of(words, declared)
        of_title, of_text = terms_of(title, language), stemmed(words, language)
        in_title = self.cosine(weights_of(of_title, language), language)
        in_text = self.cosine(weights_of(of_text, language), language)
        return Relevance(_TITLE * in_title + (1.0 - _TITLE) * in_text, language)

    def cosine(self, weights: Mapping[str, float], language: str) -> float:
        """The cosine between the topic's vector and that of ``weights``; 0 if that has no term. O(terms)."""
        dot = sum(weight * weights.get(term, 0.0) for term, weight in self.vector(language).items())
        if not dot:
            return 0.0
        return min(1.0, dot / hypot(*weights.values()))

    def vector(self, language: str) -> dict[str, float]:
        """The unit vector of the topic's terms, as stemmed in ``language``. O(1)."""
        known = self._vectors.get(language)
        if known is None:
            known = self._vectors[language] = self._vector(language)
        return known

    def _vector(self, language: str) -> dict[str, float]:
        """A term of several words gives each of them an equal part of its square."""
        vector: dict[str, float] = {}
        for term, weight in self.terms.items():
            parts = stemmed(words_of(folded(term)), language)
            for part in parts:
                vector[part] = max(vector.get(part, 0.0), weight / sqrt(len(parts)))
        length = hypot(*vector.values())
        return {term: weight / length for term, weight in vector.items()} if length else {}


class Example(NamedTuple):
    """A page that a topic is learned from."""

    title: str
    text: str
    declared: str = ""
    #: Lines of its text without links and menus.
    lines: Sequence[str] = ()


def own_lines(html: str) -> list[str]:
    """The lines of an example page without links and menus. O(length)."""
    return visible_lines(html[:_MAX_EXAMPLE], _MENUS)


def learned(examples: Sequence[Example], count: int = LEARNED_TERMS) -> dict[str, float]:
    """The ``count`` terms with the highest mean weight in the unit vectors of ``examples``. O(length).

    A term is represented by its most frequent word, which any stemmer can stem.
    """
    means: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for example, text in zip(examples, _own_texts(examples), strict=True):
        words = words_of(folded(text))
        language = language_of(words, example.declared)
        weights = weights_of(stemmed(words, language), language)
        weights = {term: weight * _telling(term, language) for term, weight in weights.items()}
        length = hypot(*weights.values()) or 1.0
        stem = stemmer_of(language)
        for word in words:
            forms.setdefault(stem(word), Counter())[word] += 1
        for term, weight in weights.items():
            means[term] += weight / length  # type: ignore[assignment]  # typed for whole numbers
    best = sorted(means, key=lambda term: (-means[term], term))[:count]
    return {forms[term].most_common(1)[0][0]: means[term] for term in best if means[term] > 0}


def _own_texts(examples: Sequence[Example]) -> Iterator[str]:
    """Title and text of each without lines that others have, too: names of sites, lists of months, notices."""
    pages = [[*_parts_of_title(example.title), *(example.lines or [example.text])] for example in examples]
    common = Counter(line for page in pages for line in set(page))
    most = max(1.0, _COMMON * len(pages))
    for page in pages:
        yield "\n".join([line for line in page if common[line] <= most] or page)


def _telling(term: str, language: str) -> float:
    """How much a term may say about a topic, where no table tells: little for short words and Japanese particles."""
    if _is_particle(term):
        return 0.1
    if language not in SNOWBALL or language in TABLES or has_han(term):
        return 1.0
    return min(1.0, (len(term) / _FULL_LENGTH) ** 2)


def learned_threshold(topic: Topic, examples: Sequence[Example]) -> float:
    """A part of the mean relevance of the examples: the smaller, the fewer there are, as the terms are their own."""
    values = [topic.relevance(one.title, one.text, one.declared).value for one in examples]
    part = _PART * len(values) / (len(values) + 1.5)
    return max(_MIN_THRESHOLD, part * sum(values) / max(1, len(values)))


def warm_up() -> None:
    """Load tables, dictionary and stemmer: 0.4 s, which no page should wait for."""
    Topic({"a": 1.0}).relevance("", "\u00e9 \u7684 a " + "\u0301" * 40)


_KEYS = ("threshold", "terms", "examples")


@dataclass(frozen=True)
class TopicFile:
    """The content of a topic file, which has terms or examples."""

    path: Path
    terms: Mapping[str, float]
    #: URLs, and files relative to the folder of this one.
    examples: tuple[str, ...]
    #: None: not given.
    threshold: float | None

    def topic(self, learned: Mapping[str, float] | None = None, threshold: float | None = None) -> Topic:
        """The topic, with terms and ``threshold`` ``learned`` from examples; what the file says counts first."""
        return Topic({**(learned or {}), **self.terms}, self.threshold or threshold or THRESHOLD)

    def learned(self, examples: Sequence[Example]) -> tuple[dict[str, float], float] | None:
        """Terms and threshold of ``examples``; None if they have no words. O(length): 0.1 s for each at most."""
        terms = learned(examples)
        topic = self.topic(terms)
        return (terms, self.threshold or learned_threshold(topic, examples)) if topic.vector("en") else None

    def files(self) -> list[Path]:
        """The examples that are files."""
        return [self.path.parent / one for one in self.examples if not _is_url(one)]

    def urls(self) -> list[str]:
        """The examples that are URLs."""
        return [one for one in self.examples if _is_url(one)]


def _is_url(example: str) -> bool:
    return example.startswith(("http://", "https://"))


def read_topic(path: Path) -> TopicFile:
    """The topic in the file at ``path``. Raises ValueError, in one line with the file, and the key or line."""
    try:
        return _topic_file(path, tomllib.loads(path.read_text("utf-8-sig")))
    except OSError as error:
        raise ValueError(f"topic={str(path)!r}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"topic={str(path)!r}: {error}") from error


def _topic_file(path: Path, values: Mapping[str, Any]) -> TopicFile:
    """The checked ``values`` of a file. Raises ValueError."""
    for key in values:
        if key not in _KEYS:
            raise ValueError(f"{key}: unknown key; known are {', '.join(_KEYS)}")
    threshold = _number("threshold", values["threshold"]) if "threshold" in values else None
    if threshold is not None and not 0 < threshold <= 1:
        raise ValueError("threshold: must be above 0, and at most 1")
    terms, examples = _terms(values.get("terms", {})), values.get("examples", [])
    if not isinstance(examples, list) or not all(isinstance(one, str) and one.strip() for one in examples):
        raise ValueError("examples: must be a list of URLs and files")
    if not examples and not Topic(terms).vector("en"):
        raise ValueError("terms: the topic is empty: it needs terms or examples")
    return TopicFile(path, terms, tuple(examples), threshold)


def _number(key: str, value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e300:
        raise ValueError(f"{key}: must be a number >= 0")
    return float(value)


def _terms(terms: Any) -> dict[str, float]:
    if isinstance(terms, list) and all(isinstance(term, str) for term in terms):
        return dict.fromkeys(terms, 1.0)
    if not isinstance(terms, dict):
        raise ValueError("terms: must be a table of weights, or a list of words")
    for term, weight in terms.items():
        if not _number(f"terms: the weight of {term!r:.60}", weight):
            raise ValueError(f"terms: the weight of {term!r:.60} must be above 0")
    return {term: float(weight) for term, weight in terms.items()}
