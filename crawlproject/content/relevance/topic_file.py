"""Reads a topic from a TOML file (docs/topic.md)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.content.relevance.topic import LEARNED_TERMS, THRESHOLD, Example, Topic, learned, learned_threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_KEYS = ("threshold", "title_weight", "text_weight", "terms", "examples", "learned_terms")


@dataclass(frozen=True)
class TopicFile:
    """The content of a topic file, which has terms or examples."""

    path: Path
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
        terms = {**(learned or {}), **self.terms}
        return Topic(terms, self.title_weight, self.text_weight, self.threshold or threshold or THRESHOLD)

    def learned(self, examples: Sequence[Example]) -> tuple[dict[str, float], float] | None:
        """Terms and threshold of ``examples``; None if they have no words. O(length): 0.1 s for each at most."""
        terms = learned(examples, self.learned_terms)
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
    title = _number("title_weight", values.get("title_weight", 0.3))
    text = _number("text_weight", values.get("text_weight", 0.7))
    if not title + text:
        raise ValueError("title_weight: title_weight and text_weight must not both be 0")
    terms, examples = _terms(values.get("terms", {})), values.get("examples", [])
    if not isinstance(examples, list) or not all(isinstance(one, str) and one.strip() for one in examples):
        raise ValueError("examples: must be a list of URLs and files")
    if not examples and not Topic(terms).vector("en"):
        raise ValueError("terms: the topic is empty: it needs terms or examples")
    count = values.get("learned_terms", LEARNED_TERMS)
    if type(count) is not int or count < 1:
        raise ValueError("learned_terms: must be a whole number >= 1")
    return TopicFile(path, terms, tuple(examples), count, threshold, title, text)


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
