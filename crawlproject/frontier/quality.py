"""Page quality as known when a URL is discovered: the worth that policies collect.

An estimator maps a canonical URL and its depth to a float >= 0, higher is better; it must be cheap, as it is
asked for every link (O(1)).
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class Quality(Protocol):
    """Estimates the worth of pages."""

    def quality(self, url: str, depth: int) -> float:
        """Worth of the page at the canonical ``url``, ``depth`` links away from a seed. O(1)."""
        ...


class ConstantQuality:
    """All pages are worth 1: speed alone ranks servers, and Scrapy's priority orders URLs."""

    def quality(self, url: str, depth: int) -> float:
        """Always 1."""
        return 1.0


class DepthQuality:
    """Half as good with every link away from the seeds."""

    def quality(self, url: str, depth: int) -> float:
        """2 to the power of -depth."""
        return 0.5 ** min(depth, 1000)


class ScoredQuality:
    """Scores given per URL (a PageRank computed elsewhere, a list of one's own); others get ``default``."""

    def __init__(self, scores: dict[str, float], default: float = 0.0) -> None:
        self._scores = scores
        self._default = default

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> ScoredQuality:
        """Read lines ``URL<TAB>score``; the URLs must be canonical.

        Raises ValueError naming the first line that is not of that form or whose score is negative.
        """
        scores = {}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            url, _, score = line.rstrip("\r\n").partition("\t")
            try:
                value = float(score)
            except ValueError:
                value = -1.0
            if not (isfinite(value) and value >= 0):
                raise ValueError(f"line {number}: expected URL<TAB>score with a score >= 0, got {line[:100]!r}")
            scores[url] = value
        return cls(scores)

    def quality(self, url: str, depth: int) -> float:
        """The given score. O(1)."""
        return self._scores.get(url, self._default)
