"""Page qualities of the paper's experiments: PageRank over the links, or Zipf in random order (Cao 2003, §5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import igraph
import numpy as np

from crawlproject.simulation.web import sources_of

if TYPE_CHECKING:
    from crawlproject.simulation.web import FloatArray, IntArray

DAMPING = 0.85  # Page & Brin 1998; Cao 2003, §5


def pagerank(indptr: IntArray, targets: IntArray) -> FloatArray:
    """PageRank of each page, by igraph (PRPACK); sums to 1.

    0.4 s for 400,000 links; 4 to 14 s and 0.4 GB for 3.2 million of 325,000 pages.

    The links of page p are ``targets[indptr[p]:indptr[p + 1]]``.  A page without links distributes its rank equally to
    all pages.
    """
    edges = np.stack((sources_of(indptr), targets), axis=1)
    graph = igraph.Graph(n=len(indptr) - 1, edges=edges, directed=True)
    return np.array(graph.pagerank(damping=DAMPING), dtype=np.float64)


def zipf(pages: int, seed: int) -> FloatArray:
    """1/rank, scaled to sum to 1 and assigned to the pages at random. O(pages)."""
    values = 1 / np.arange(1, pages + 1)
    dealt: FloatArray = np.random.default_rng([seed, 0x21BF]).permutation(values) / values.sum()
    return dealt
