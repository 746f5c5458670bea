"""Page qualities of the paper's experiments: PageRank over the links, or Zipf dealt at random (Cao 2003, §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import igraph
import numpy as np

if TYPE_CHECKING:
    from crawlproject.simulation.web import FloatArray, IntArray

DAMPING = 0.85  # Page & Brin 1998; Cao 2003, §5


def pagerank(indptr: IntArray, targets: IntArray, damping: float = DAMPING) -> FloatArray:
    """PageRank of each page, by igraph (PRPACK); sums to 1. 0.5 s for 400,000 links.

    The links of page p are ``targets[indptr[p]:indptr[p + 1]]``.  A page without links gives its rank to all alike.
    """
    pages = len(indptr) - 1
    sources = np.repeat(np.arange(pages, dtype=np.int64), np.diff(indptr))
    graph = igraph.Graph(n=pages, edges=np.stack((sources, targets), axis=1), directed=True)
    return np.array(graph.pagerank(damping=damping), dtype=np.float64)


def zipf(pages: int, seed: int, exponent: float = 1.0) -> FloatArray:
    """1/rank^exponent, scaled to sum to 1 and dealt to the pages at random. O(pages)."""
    values = np.arange(1, pages + 1) ** -exponent
    dealt: FloatArray = np.random.default_rng([seed, 0x21BF]).permutation(values) / values.sum()
    return dealt


def top_share(quality: FloatArray, share: float) -> float:
    """Share of the total that the best ``share`` of the pages hold."""
    count = round(share * len(quality))
    return float(np.sort(quality)[::-1][:count].sum() / quality.sum())
