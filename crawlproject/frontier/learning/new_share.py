"""How many of the links that a worker sends to others are new there."""

from __future__ import annotations

#: Weight of the past in the share of new URLs, per link received.
DECAY = 0.999


class NewShare:
    """Share of new URLs among the links that workers send each other: 1 at first, then learned from those received.

    A worker does not learn which of the links that it sent are new. All workers crawl the same web, so the share among
    the links that it receives is an estimate.
    """

    def __init__(self) -> None:
        self._new = self._links = 1.0

    @property
    def value(self) -> float:
        """From 0 to 1."""
        return self._new / self._links

    def learn(self, links: int, new: int) -> None:
        """Learn that ``new`` of the ``links`` received were new. O(1)."""
        kept = DECAY**links
        self._new = self._new * kept + new
        self._links = self._links * kept + links
