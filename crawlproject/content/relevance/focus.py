"""The state of a focused crawl: its topic, the links it has rated, and the relevance of their pages.

The features of a link are the relevance of its page, its text, the words around it and those of its URL.

``LinkModel`` learns online: logistic regression by AdaGrad (Duchi, Hazan and Singer 2011) on a few numbers that any
topic has in common, and on the hashed words of the link (Weinberger et al. 2009), whose weights start at 0.  It is
compared with other models in docs/research/topic.md.

``anchors`` puts markers into the document around each link, so that one pass over its text, in C, gives the
surroundings of all links: linear, whatever the nesting.
"""

from __future__ import annotations

import base64
import re
import zlib
from array import array
from math import exp, isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from crawlproject.content.relevance.topic import weights_of
from crawlproject.content.relevance.words import terms_of
from crawlproject.urls.canonical import MAX_REFERENCE
from crawlproject.urls.extract import open_shadow_roots
from crawlproject.urls.parse_budget import affordable_length

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from crawlproject.content.relevance.topic import Relevance, Topic

#: Weights of hashed words: 2 MB with their sums of squares.
BUCKETS = 1 << 18
#: Step sizes of the numbers and of the words: small, because faster learning made crawls worse where few links had been
#: followed yet (docs/research/topic.md).
RATE_OF_NUMBERS, RATE_OF_WORDS = 0.01, 0.02
#: Weights before anything is learned: bias, page, link's text, words around it, its URL.
PRIOR = (-3.5, 1.0, 8.0, 3.0, 8.0)
#: Sum of squares before anything is learned.
_START = 1.0

#: Links whose features are remembered until their page comes: 30 MB, however long their URLs are, as only hashes of
#: these are kept. The oldest are forgotten: nothing is learned.
MAX_REMEMBERED = 50_000

#: Links of a page whose own features are computed.
MAX_RATED = 2_000
#: Characters read of a URL, and words of each kind that count.
_MAX_URL = 200
_MAX_TERMS = 12
#: Relevance of a page in thresholds, at most.
_MAX_RELEVANCE = 3.0

_is_camel = re.compile(r"(?<=[a-z])(?=[A-Z])").sub

#: Factor of a link's quality for each step below the threshold, and the least quality.
DISCOUNT, MIN_QUALITY = 0.5, 1e-6

#: Characters of a page that are read, and links.
MAX_PAGE = 1_000_000
MAX_ANCHORS = 2_000
#: Characters kept of a link's text, and on each side of it.
MAX_ANCHOR = 200
MAX_AROUND = 100

_OPEN, _CLOSE = "\x02", "\x03"
_links = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}").finditer
_HTML_WHITESPACE = " \t\n\f\r"


def discounted(probability: float, steps: int) -> float:
    """The quality of a link ``steps`` below the threshold."""
    return max(MIN_QUALITY, probability * DISCOUNT**steps)


class Focus:
    """Judges pages by ``topic``, rates their links by ``model``, which learns from the pages that they lead to."""

    def __init__(self, topic: Topic, model: LinkModel) -> None:
        self.topic = topic
        self.model = model
        #: Hash of the URL of a rated link -> its features, when it was rated first.
        self._rated: dict[int, Features] = {}

    def judge(self, url: str, title: str, text: str, declared: str) -> Relevance:
        """The relevance of a fetched page; ``url``: as its link was rated. See ``Topic.relevance``."""
        judged = self.topic.relevance(title, text, declared)
        features = self._rated.pop(hash(url), None)
        if features is not None:
            self.model.learn(features, float(self.is_relevant(judged)))
        return judged

    def is_relevant(self, judged: Relevance) -> bool:
        """Whether a page is at or above the threshold."""
        return judged.value >= self.topic.threshold

    def rate(self, judged: Relevance, links: Iterable[tuple[str, Anchor | None]]) -> Iterator[float]:
        """The probability that a link leads to a relevant page, for each canonical URL and what its page shows of it.

        0.1 ms each, 1 ms if all its words are new.  ``judged``: its page.
        """
        for url, anchor in links:
            features = self.features(url, anchor, judged.value, judged.language)
            if hash(url) not in self._rated:
                if len(self._rated) >= MAX_REMEMBERED:
                    del self._rated[next(iter(self._rated))]
                self._rated[hash(url)] = features
            yield self.model.predict(features)

    def rate_any(self, url: str, judged: Relevance) -> float:
        """The same for a link of the page at ``url`` of which nothing else is known."""
        return self.model.predict(self.features(url, None, judged.value, judged.language))

    def features(self, url: str, anchor: Anchor | None, relevance: float, language: str) -> Features:
        """The features of a link to the canonical ``url`` on a page of this ``relevance`` and ``language``. 30 us."""
        server, path = _split(url)
        of_text = self._terms(anchor.text if anchor is not None else "", language)
        around = self._terms(anchor.around if anchor is not None else "", language)
        of_url = self._terms(_is_camel(" ", unquote(path)[-_MAX_URL:]), language)
        numbers = (
            1.0,
            min(_MAX_RELEVANCE, relevance / self.topic.threshold),
            self._cosine(of_text, language),
            self._cosine(around, language),
            self._cosine(of_url, language),
        )
        folder = path[: path.rfind("/") + 1]
        words = [bucket("s", server), bucket("f", server + folder)]
        words += [bucket("t", term) for term in of_text]
        words += [bucket("u", term) for term in of_url]
        words += [bucket("a", term) for term in around]
        return Features(numbers, array("I", words))

    def _terms(self, text: str, language: str) -> dict[str, int]:
        terms = terms_of(text, language) if text else {}
        return terms if len(terms) <= _MAX_TERMS else dict([*terms.items()][:_MAX_TERMS])

    def _cosine(self, terms: Mapping[str, int], language: str) -> float:
        vector = self.topic.vector(language)
        if vector.keys().isdisjoint(terms):
            return 0.0
        return self.topic.cosine(weights_of(terms, language), language)


def _split(url: str) -> tuple[str, str]:
    start = url.find("/", url.find("://") + 3)
    return (url, "/") if start < 0 else (url[:start], url[start:])


class Anchor(NamedTuple):
    """A link as its page shows it."""

    #: What is between the start tag and the end tag, without markup.
    text: str
    #: The text before and after it, without that of other links.
    around: str


def anchors(html: str) -> dict[str, Anchor]:
    """Reference as written, without its fragment -> its first link that has a text, or its first one.

    Only the first ``MAX_ANCHORS`` links of the first ``MAX_PAGE`` characters.  O(length): 0.2 ms for 19 kB.
    """
    html = html[:MAX_PAGE]
    tree = LexborHTMLParser(html[: affordable_length(html)])
    open_shadow_roots(tree)
    if tree.body is None:
        return {}
    for node in tree.css("script,style"):
        node.decompose()
    hrefs: list[str] = []
    for node in tree.body.css("a[href]")[:MAX_ANCHORS]:
        href = (node.attributes.get("href") or "").strip(_HTML_WHITESPACE)
        hrefs.append(href.partition("#")[0][: MAX_REFERENCE + 1])
        node.insert_before(_OPEN)
        node.insert_after(_CLOSE)
    if not hrefs:
        return {}
    return _between(tree.body.text(separator=" "), hrefs)


def _between(text: str, hrefs: list[str]) -> dict[str, Anchor]:
    """The anchors of ``hrefs``, which ``text`` has between markers, in their order."""
    found: dict[str, Anchor] = {}
    links = list(_links(text))
    if len(links) != len(hrefs):  # the page itself has such characters, or nests links
        return {}
    ends = [0, *(link.end() for link in links)]
    starts = [*(link.start() for link in links), len(text)]
    for number, (href, link) in enumerate(zip(hrefs, links, strict=True)):
        inner = link[1][:MAX_ANCHOR].strip()
        if href in found and (found[href].text or not inner):
            continue
        before = text[max(ends[number], link.start() - MAX_AROUND) : link.start()]
        after = text[link.end() : min(starts[number + 1], link.end() + MAX_AROUND)]
        found[href] = Anchor(inner, f"{before} {after}".strip())
    return found


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
