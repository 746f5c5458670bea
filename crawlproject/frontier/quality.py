"""Estimates the quality of pages before they are fetched: the worth that policies maximize.

A ``Quality`` maps a canonical URL and its depth to a float >= 0, higher is better; it must be O(1) and cheap, because
it is called for every link.  A ``LinkQuality`` also returns what each further link adds to its target; the URL queues
keep the sums, so no table of all URLs is needed.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from zlib import crc32

from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlproject.frontier.entry import Entry

#: Greatest quality of a page: stores keep that of fetched pages as a 32-bit float.
MAX_QUALITY = 3.4e38


@runtime_checkable
class Quality(Protocol):
    """Estimates the worth of pages: the interface of a class given as ``FRONTIER_QUALITY``."""

    def quality(self, url: str, depth: int) -> float:
        """Worth of the page at the canonical ``url``, ``depth`` links away from a seed. O(1)."""


@runtime_checkable
class LinkQuality(Quality, Protocol):
    """Rates pages by the links found so far: the quality of queued pages may rise.

    A page's quality is ``quality`` at discovery, plus the ``gain`` of each page that links to it.
    """

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        """The quality that a page of ``page_quality`` adds to each target of its ``links`` distinct links. O(1).

        ``internal``: the target is on the page's server.  Called when the page is fetched.
        """


class ConstantQuality:
    """All pages are worth 1: only speed ranks servers, and Scrapy's priority orders URLs."""

    def quality(self, url: str, depth: int) -> float:
        return 1.0


class DepthQuality:
    """Quality halves with each link away from the seeds."""

    def quality(self, url: str, depth: int) -> float:
        return 0.5 ** min(depth, 1000)


class Deepest:
    """The more links away from the seeds, the better: for the policy ``depth-first``."""

    def quality(self, url: str, depth: int) -> float:
        return 1.0 + depth


class ScoredQuality:
    """Given scores per URL (e.g. a PageRank computed elsewhere); other URLs get 0."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> ScoredQuality:
        """Read lines ``URL<TAB>score``; the URLs must be canonical.

        Raises ValueError naming the first line that does not have this form or has a negative score.
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
        return self._scores.get(url, 0.0)


class InLinks:
    """1 plus the number of pages known to link to a page; pages of other servers count twice (Cho et al. 1998).

    Pages not found on a page (seeds) are worth 1.
    """

    EXTERNAL = 2.0

    def quality(self, url: str, depth: int) -> float:
        return 1.0

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return 1.0 if internal else self.EXTERNAL


class Opic:
    """Cash: a fetched page distributes all its cash over its links (Abiteboul, Preda and Cobena 2003).

    Each seed starts with 1.  Cash given to fetched pages is lost, because they are not fetched again.
    """

    def quality(self, url: str, depth: int) -> float:
        return 0.0 if depth else 1.0

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return page_quality / links


class PartialPageRank:
    """PageRank over the pages fetched so far; each page passes its rank on once, when it is fetched.

    Similar to RankMass (Cho and Schonfeld 2007): a lower bound of the true rank.  Every page starts with the rank of
    random jumps, (1 - damping) / N, scaled by N, so that an average page is worth 1.
    """

    DAMPING = 0.85

    def quality(self, url: str, depth: int) -> float:
        return 1 - self.DAMPING

    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return self.DAMPING * page_quality / links


class ZipfQuality:
    """1/rank with pseudo-random but fixed ranks (Cao 2003, §5): for experiments."""

    PAGES = 1_000_000

    def quality(self, url: str, depth: int) -> float:
        """Between 1/PAGES and 1, by the URL's checksum."""
        return 1.0 / (1 + crc32(url.encode("utf-8", "surrogatepass")) % self.PAGES)


#: Names of ``FRONTIER_QUALITY`` that take no argument (``scores`` takes a file).
QUALITIES: dict[str, type[Quality]] = {
    "constant": ConstantQuality,
    "depth": DepthQuality,
    "in-links": InLinks,
    "opic": Opic,
    "partial-pagerank": PartialPageRank,
    "zipf": ZipfQuality,
}


def link_gains(quality: Quality, page_quality: float, links: int) -> tuple[float, float]:
    """The quality that a page adds to the target of each link: (on its own server, on other servers). O(1)."""
    gain = getattr(quality, "gain", None) if links else None  # isinstance of a protocol: 20 us
    if gain is None:
        return 0.0, 0.0
    return gain(page_quality, links, internal=True), gain(page_quality, links, internal=False)


class QualityTally(Stored):
    """Sums of estimated qualities; O(1) each.

    ``gathered``: of the pages fetched, each as it was when its page was handed out; earlier runs included.  ``pages``:
    their number.

    The sum of queued URLs is kept for those that came one by one; servers that come from a store or leave with their
    queues are assumed to have URLs of mean quality.
    """

    __slots__ = ("_sum", "_urls", "gathered", "pages")
    STATE = __slots__

    def __init__(self) -> None:
        self.gathered = 0.0
        self.pages = 0
        self._sum = 0.0
        self._urls = 0

    def add(self, urls: int, quality: float) -> None:
        """Count queued URLs by the sum of their quality."""
        self._sum += quality
        self._urls += urls

    def left(self, entry: Entry) -> None:
        """Count a URL that is no longer queued."""
        if self._urls > 1:
            self._sum -= entry.quality
            self._urls -= 1
        else:  # the last one, or one that a store brought back: no rounding errors remain
            self._sum, self._urls = 0.0, 0

    def raised(self, gain: float) -> None:
        """Count a rise of the quality of a queued URL."""
        self._sum += gain

    def fetched(self, quality: float) -> None:
        """Count a page fetched."""
        self.gathered += quality
        self.pages += 1

    def unfetched(self, quality: float) -> None:
        """Forget a page fetched earlier: it will be fetched again."""
        self.gathered = max(0.0, self.gathered - quality)
        self.pages = max(0, self.pages - 1)

    def queued(self, urls: int) -> float | None:
        """Quality of the ``urls`` that are queued; None if it is not known."""
        if not urls:
            return 0.0
        return max(0.0, self._sum / self._urls * urls) if self._urls > 0 else None
