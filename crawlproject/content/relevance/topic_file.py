"""Reads a topic from a TOML file (docs/topic.md). Errors name the file and, where there is one, the line."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from math import inf
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
    """The topic in the file at ``path``. Raises ValueError, in one line with file and line number."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ValueError(f"topic={str(path)!r}: {error.strerror}") from error
    if len(data) > MAX_FILE:
        raise ValueError(f"topic={str(path)!r}: longer than {MAX_FILE} bytes")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"topic={str(path)!r}: {_placed(str(error), text)}") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"topic={str(path)!r}: line {line}: not UTF-8") from error
    except ValueError as error:  # a number of thousands of digits, which tomllib does not report as its own
        raise ValueError(f"topic={str(path)!r}: {error}") from error
    except RecursionError as error:
        raise ValueError(f"topic={str(path)!r}: line 1: nested too deeply") from error
    return _Checked(path, text, values).topic_file()


def _placed(reason: str, text: str) -> str:
    """``line N: reason`` from the parser's message."""
    found = re.search(r"\(at line (\d+)", reason)
    line = int(found[1]) if found else text.count("\n") + 1
    key = "".join(text.split("\n")[line - 1 : line]).partition("=")[0].strip()
    hint = "" if key.isascii() or key.startswith(("'", '"')) else f'; TOML wants quotes: "{key:.40}" = …'
    return f"line {line}: {reason.partition(' (at ')[0]}{hint}"


class _Checked:
    """The values of a file, checked; errors are raised as ValueError."""

    def __init__(self, path: Path, text: str, values: Mapping[str, Any]) -> None:
        self._path = path
        self._lines = text.splitlines()
        self._values = values

    def topic_file(self) -> TopicFile:
        for key in self._values:
            if key not in _KEYS:
                raise self._wrong(key, f"unknown key; known are {', '.join(_KEYS)}")
        threshold = self._number("threshold", None, 0.0, 1.0)
        title, text = self._number("title_weight", 0.3, 0.0, inf), self._number("text_weight", 0.7, 0.0, inf)
        assert title is not None
        assert text is not None
        if not 0.0 < title + text < inf:
            raise self._wrong("title_weight", "title_weight and text_weight must not both be 0")
        if threshold == 0.0:
            raise self._wrong("threshold", "must be above 0")
        terms, examples = self._terms(), self._examples()
        if is_empty(terms) and not examples:
            raise self._wrong("terms", "the topic is empty: it needs terms or examples")
        name = self._values.get("name", self._path.stem)
        if not isinstance(name, str):
            raise self._wrong("name", "must be a text")
        count = self._values.get("learned_terms", LEARNED_TERMS)
        if type(count) is not int or not 1 <= count <= MAX_TERMS:
            raise self._wrong("learned_terms", f"must be a whole number from 1 to {MAX_TERMS}")
        return TopicFile(self._path, name, terms, examples, count, threshold, title, text)

    def _number(self, key: str, default: float | None, least: float, most: float) -> float | None:
        value = self._values.get(key, default)
        if value is None:
            return None
        if type(value) not in (int, float) or not (least <= value <= most and value < 1e300):
            raise self._wrong(key, f"must be a number from {least:g}" + (f" to {most:g}" if most < inf else ""))
        return float(value)

    def _terms(self) -> dict[str, float]:
        terms = self._values.get("terms", {})
        if isinstance(terms, list) and all(isinstance(term, str) for term in terms):
            terms = dict.fromkeys(terms, 1.0)
        if not isinstance(terms, dict):
            raise self._wrong("terms", "must be a table of weights, or a list of words")
        if len(terms) > MAX_TERMS:
            raise self._wrong("terms", f"more than {MAX_TERMS}")
        for term, weight in terms.items():
            if type(weight) not in (int, float) or not 0 < weight < _MAX_WEIGHT:
                raise self._wrong(term, f"the weight of {term!r:.60} must be a number > 0 and < {_MAX_WEIGHT:,}")
            if len(term) > MAX_TERM:
                raise self._wrong(term, f"longer than {MAX_TERM} characters: {term!r:.60}")
        return {term: float(weight) for term, weight in terms.items()}

    def _examples(self) -> tuple[str, ...]:
        examples = self._values.get("examples", [])
        if not isinstance(examples, list) or not all(isinstance(one, str) and one.strip() for one in examples):
            raise self._wrong("examples", "must be a list of URLs and files")
        if len(examples) > MAX_EXAMPLES:
            raise self._wrong("examples", f"more than {MAX_EXAMPLES}")
        return tuple(examples)

    def _wrong(self, key: str, reason: str) -> ValueError:
        named = re.compile(rf"\s*(?:\[\s*)?[\"']?{re.escape(key)}[\"']?\s*[\]=]")
        line = next((number for number, line in enumerate(self._lines, 1) if named.match(line)), 1)
        return ValueError(f"topic={str(self._path)!r}: line {line}: {key}: {reason}")
