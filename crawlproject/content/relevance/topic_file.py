"""Reads a topic from a TOML file (docs/topic.md)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.content.relevance.topic import (
    LEARNED_TERMS,
    THRESHOLD,
    Example,
    Topic,
    is_empty,
    learned,
    learned_threshold,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_KEYS = ("name", "threshold", "title_weight", "text_weight", "terms", "examples", "learned_terms")
#: Bytes of a file, terms, and characters of a term.
MAX_FILE = 1_000_000
MAX_TERMS = 1_000
MAX_TERM = 100
MAX_EXAMPLES = 100
_MAX_WEIGHT = 1_000_000


@dataclass(frozen=True)
class TopicFile:
    """The content of a topic file, which has terms or examples."""

    path: Path
    name: str
    terms: Mapping[str, float]
    #: URLs, and files relative to the folder of this one.
    examples: tuple[str, ...]
    learned_terms: int
    #: None: not given.
    threshold: float | None
    title_weight: float
    text_weight: float

    def topic(self, learned: Mapping[str, float] | None = None, threshold: float | None = None) -> Topic:
        """The topic, with terms and ``threshold`` ``learned`` from examples; what the file says counts first."""
        threshold = threshold if self.threshold is None else self.threshold
        return Topic(
            {**(learned or {}), **self.terms},
            self.title_weight,
            self.text_weight,
            THRESHOLD if threshold is None else threshold,
        )

    def learned(self, examples: Sequence[Example]) -> tuple[dict[str, float], float] | None:
        """Terms and threshold of ``examples``; None if they have no words. O(length): 0.1 s for each at most."""
        terms = learned(examples, self.learned_terms)
        topic = self.topic(terms)
        if not topic.vector("en"):
            return None
        return terms, self.threshold or learned_threshold(topic, examples)

    def files(self) -> list[Path]:
        """The examples that are files."""
        return [self.path.parent / one for one in self.examples if not is_url(one)]

    def urls(self) -> list[str]:
        """The examples that are URLs."""
        return [one for one in self.examples if is_url(one)]


def is_url(example: str) -> bool:
    """Whether an example is a URL, else it is a file."""
    return example.startswith(("http://", "https://"))


def read_topic(path: Path) -> TopicFile:
    """The topic in the file at ``path``. Raises ValueError, in one line with the file, and the key or line."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise ValueError(f"longer than {MAX_FILE} bytes")
        return _topic_file(path, _values(data))
    except OSError as error:
        raise ValueError(f"topic={str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"topic={str(path)!r}: {error}") from error


def _values(data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line}: not UTF-8") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        hint = "" if text.isascii() else '; keys with other letters than a-z want quotes: "граф" = 1'
        raise ValueError(f"{error}{hint}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _topic_file(path: Path, values: Mapping[str, Any]) -> TopicFile:
    """The checked ``values`` of a file. Raises ValueError."""
    for key in values:
        if key not in _KEYS:
            raise ValueError(f"{key}: unknown key; known are {', '.join(_KEYS)}")
    threshold = None
    if "threshold" in values:
        threshold = _number(values, "threshold", 0.0, 1.0)
        if not threshold:
            raise ValueError("threshold: must be above 0")
    title, text = _number(values, "title_weight", 0.3), _number(values, "text_weight", 0.7)
    if not title + text:
        raise ValueError("title_weight: title_weight and text_weight must not both be 0")
    terms, examples = _terms(values.get("terms", {})), _examples(values.get("examples", []))
    if is_empty(terms) and not examples:
        raise ValueError("terms: the topic is empty: it needs terms or examples")
    name = values.get("name", path.stem)
    if not isinstance(name, str):
        raise ValueError("name: must be a text")
    count = values.get("learned_terms", LEARNED_TERMS)
    if type(count) is not int or not 1 <= count <= MAX_TERMS:
        raise ValueError(f"learned_terms: must be a whole number from 1 to {MAX_TERMS}")
    return TopicFile(path, name, terms, examples, count, threshold, title, text)


def _number(values: Mapping[str, Any], key: str, default: float, most: float = 1e300) -> float:
    value = values.get(key, default)
    if type(value) not in (int, float) or not 0 <= value <= most:
        raise ValueError(f"{key}: must be a number from 0 to {most:g}")
    return float(value)


def _terms(terms: Any) -> dict[str, float]:
    if isinstance(terms, list) and all(isinstance(term, str) for term in terms):
        terms = dict.fromkeys(terms, 1.0)
    if not isinstance(terms, dict):
        raise ValueError("terms: must be a table of weights, or a list of words")
    if len(terms) > MAX_TERMS:
        raise ValueError(f"terms: more than {MAX_TERMS}")
    for term, weight in terms.items():
        if type(weight) not in (int, float) or not 0 < weight < _MAX_WEIGHT:
            raise ValueError(f"terms: the weight of {term!r:.60} must be a number > 0 and < {_MAX_WEIGHT:,}")
        if len(term) > MAX_TERM:
            raise ValueError(f"terms: longer than {MAX_TERM} characters: {term!r:.60}")
    return {term: float(weight) for term, weight in terms.items()}


def _examples(examples: Any) -> tuple[str, ...]:
    if not isinstance(examples, list) or not all(isinstance(one, str) and one.strip() for one in examples):
        raise ValueError("examples: must be a list of URLs and files")
    if len(examples) > MAX_EXAMPLES:
        raise ValueError(f"examples: more than {MAX_EXAMPLES}")
    return tuple(examples)
