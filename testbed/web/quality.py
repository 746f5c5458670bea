"""What each page is worth: PageRank over the web's links, or a Zipf distribution dealt at random."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

DAMPING = 0.85  # Cao 2003; Page & Brin 1998
CONVERGED = 1e-5  # sum of changes; 50 to 60 rounds


def pagerank(links: Sequence[Sequence[int]]) -> list[float]:
    """PageRank of each page by power iteration; sums to 1. O(rounds * links).

    A page without links gives its rank to all pages alike.
    """
    count = len(links)
    inlinks: list[list[int]] = [[] for _ in range(count)]
    for source, targets in enumerate(links):
        for target in targets:
            inlinks[target].append(source)
    dangling = [page for page in range(count) if not links[page]]
    ranks = [1 / count] * count
    change = 1.0
    while change > CONVERGED:
        given = [rank / (len(targets) or 1) for rank, targets in zip(ranks, links, strict=True)]
        lost = sum(ranks[page] for page in dangling)
        base = (1 - DAMPING + DAMPING * lost) / count
        take = given.__getitem__
        renewed = [base + DAMPING * sum(map(take, sources)) for sources in inlinks]
        change = sum(abs(new - old) for new, old in zip(renewed, ranks, strict=True))
        ranks = renewed
    return ranks


def zipf(count: int, seed: int) -> list[float]:
    """1/rank (a = 1), scaled to sum to 1 and dealt to the pages at random."""
    values = [1 / rank for rank in range(1, count + 1)]
    total = sum(values)
    Random(f"{seed}/zipf").shuffle(values)
    return [value / total for value in values]
