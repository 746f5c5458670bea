"""Page qualities of the paper's experiments: PageRank over the links, or Zipf dealt at random (Cao 2003, §5)."""

from __future__ import annotations

import numpy as np

from crawlproject.simulation.web import FloatArray, IntArray

DAMPING = 0.85  # Page & Brin 1998; Cao 2003, §5
CONVERGED = 1e-9  # sum of changes of ranks that sum to 1
MAX_ROUNDS = 500


def pagerank(indptr: IntArray, targets: IntArray, damping: float = DAMPING) -> FloatArray:
    """PageRank of each page by power iteration; sums to 1. O(links) a round, about 100 rounds.

    A page without links gives its rank to all pages alike.
    """
    pages = len(indptr) - 1
    degrees = np.diff(indptr)
    sources = np.repeat(np.arange(pages), degrees)
    dangling = degrees == 0
    shares = damping / np.maximum(degrees, 1)
    ranks = np.full(pages, 1 / pages)
    for _ in range(MAX_ROUNDS):
        base = (1 - damping + damping * ranks[dangling].sum()) / pages
        renewed = base + np.bincount(targets, (ranks * shares)[sources], minlength=pages)
        change = float(np.abs(renewed - ranks).sum())
        ranks = renewed
        if change < CONVERGED:
            break
    result: FloatArray = ranks / ranks.sum()
    return result


def zipf(pages: int, seed: int, exponent: float = 1.0) -> FloatArray:
    """1/rank^exponent, scaled to sum to 1 and dealt to the pages at random. O(pages)."""
    values = np.arange(1, pages + 1) ** -exponent
    dealt: FloatArray = np.random.default_rng([seed, 0x21BF]).permutation(values) / values.sum()
    return dealt


def top_share(quality: FloatArray, share: float) -> float:
    """Share of the total that the best ``share`` of the pages hold."""
    count = round(share * len(quality))
    return float(np.sort(quality)[::-1][:count].sum() / quality.sum())
