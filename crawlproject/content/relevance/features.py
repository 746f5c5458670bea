"""The features of a page's links: relevance of the page, link text, words around it, words of the URL."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING
from urllib.parse import unquote

from crawlproject.content.relevance.model import Features, bucket
from crawlproject.content.relevance.topic import weights_of
from crawlproject.content.relevance.words import terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.content.relevance.anchors import Anchor
    from crawlproject.content.relevance.topic import Topic

#: Links of a page whose own features are computed.
MAX_RATED = 2_000
#: Characters read of a URL, and words of each kind that count.
_MAX_URL = 200
_MAX_TERMS = 12
#: Relevance of a page in thresholds, at most.
_MAX_RELEVANCE = 3.0

_is_camel = re.compile(r"(?<=[a-z])(?=[A-Z])").sub


class LinkReader:
    """Computes features for a topic. O(length of a link's text and URL), 30 us for one."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def features(self, url: str, anchor: Anchor | None, relevance: float, language: str) -> Features:
        """The features of a link to the canonical ``url`` on a page of this ``relevance`` and ``language``."""
        server, path = _split(url)
        of_text = self._terms(anchor.text if anchor is not None else "", language)
        around = self._terms(anchor.around if anchor is not None else "", language)
        of_url = self._terms(_is_camel(" ", unquote(path)[-_MAX_URL:]), language)
        numbers = (
            1.0,
            min(_MAX_RELEVANCE, relevance / self._topic.threshold),
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
        vector = self._topic.vector(language)
        if vector.keys().isdisjoint(terms):
            return 0.0
        return self._topic.cosine(weights_of(terms, language), language)


def _split(url: str) -> tuple[str, str]:
    start = url.find("/", url.find("://") + 3)
    return (url, "/") if start < 0 else (url[:start], url[start:])
