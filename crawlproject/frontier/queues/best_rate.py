"""The rate of the best prefix (Sidney 1975): what the policy ``prefix`` ranks servers by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def best_rate(losses: Iterable[float], setup: float, page_time: float, bonus: float) -> float:
    """The maximal ratio over the prefixes of qualities, best first; ``losses``: these, negated.

    The ratio rises and then falls, as the qualities are sorted, so the first fall ends the search. O(k).
    """
    time = setup
    worth = best = 0.0
    for loss in losses:
        worth += bonus - loss
        time += page_time
        if worth <= best * time:
            break
        best = worth / time
    return best
