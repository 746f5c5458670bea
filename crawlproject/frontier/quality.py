"""Page quality as far as it is known while the page waits: the worth that policies collect.

A ``Quality`` maps a canonical URL and its depth to a float >= 0, higher is better; it must be cheap, as it is asked for
every link (O(1)).  A ``LinkQuality`` also says what each further link adds to the page it leads to; the sums are kept
where they are used, in the URL queues, so that no table of all URLs is needed.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable


@runtime_checkable
class Quality(Protocol):
    """Estimates the worth of pages: what a class given as ``FRONTIER_QUALITY`` must have."""

    def quality(self, url: str, depth: int) -> float:
        """Worth of the page at the canonical ``url``, ``depth`` links away from a seed. O(1)."""
        ...


@runtime_checkable
class LinkQuality(Quality, Protocol):
    """Values pages by the links found so far: their quality may rise while they wait.

    A page's quality is ``quality`` when it is discovered, plus ``gain`` of each page with a link to it.
    """

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        """What a page of ``page_quality`` adds to each of its ``links`` different links (``internal``: of its server).

        Asked once for each page, when it is fetched. O(1).
        """
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


class InLinks:
    """One more than the pages seen to link to a page, those of other servers counting twice (Cho et al. 1998).

    Pages found by other means than a link (seeds, requests of a spider) are worth 1.
    """

    EXTERNAL = 2.0

    def quality(self, url: str, depth: int) -> float:
        """1, before any link."""
        return 1.0

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        """1, or 2 from another server."""
        return 1.0 if internal else self.EXTERNAL


class Opic:
    """Cash: each page hands all it was given to its links when it is fetched (Abiteboul, Preda and Cobena 2003).

    Each seed starts with 1.  Cash handed to pages fetched before is lost, as they are not fetched again.
    """

    def quality(self, url: str, depth: int) -> float:
        """The seeds' cash."""
        return 0.0 if depth else 1.0

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        """An equal part of the page's cash."""
        return page_quality / links


class PartialPageRank:
    """PageRank as it flows through the pages fetched so far, each passing its own on once, when it is fetched.

    RankMass-like (Cho and Schonfeld 2007): a lower bound of the true rank.  Every page starts with the rank of random
    jumps, (1 - damping) / N, scaled here by N, so that an average page is worth 1.
    """

    DAMPING = 0.85

    def quality(self, url: str, depth: int) -> float:
        """The rank of random jumps."""
        return 1 - self.DAMPING

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        """An equal part of the page's damped rank."""
        return self.DAMPING * page_quality / links


class ZipfQuality:
    """1/rank, the ranks dealt to URLs by chance, always the same (Cao 2003, §5): for experiments."""

    PAGES = 1_000_000

    def quality(self, url: str, depth: int) -> float:
        """Between 1 and 1/PAGES, by the URL's checksum."""
        return 1.0 / (1 + crc32(url.encode("utf-8", "surrogatepass")) % self.PAGES)


#: Names of ``FRONTIER_QUALITY`` that need nothing further (``scores`` needs a file).
QUALITIES: dict[str, type[Quality]] = {
    "constant": ConstantQuality,
    "depth": DepthQuality,
    "in-links": InLinks,
    "opic": Opic,
    "partial-pagerank": PartialPageRank,
    "zipf": ZipfQuality,
}


def link_gains(quality: Quality, page_quality: float, links: int) -> tuple[float, float]:
    """What a page adds to each of its links: (those of its own server, others). O(1)."""
    if not links or not isinstance(quality, LinkQuality):
        return 0.0, 0.0
    return quality.gain(page_quality, links, internal=True), quality.gain(page_quality, links, internal=False)
