"""The rate of the best prefix (Sidney 1975), by which the policy ``prefix`` ranks servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def best_rate(losses: Iterable[float], setup: float, page_time: float, bonus: float) -> float:
    """The maximum of worth per second over the prefixes of a queue. O(k).

    ``losses``: the queue's qualities, negated, best first.  The ratio rises, then falls: the search ends there.
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
