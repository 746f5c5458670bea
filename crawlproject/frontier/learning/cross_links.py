"""What workers send each other of the links that they find, and how many of those are new."""

from __future__ import annotations

#: Weight of the past in the share of new URLs, per link received.
DECAY = 0.999

#: A repeated link is sent when so many times as many links as before were found, for all of them.
GROWTH = 3


def links_to_send(found: int) -> int:
    """How many links a message stands for if it is sent with the ``found``-th link to its URL; 0: none is sent.

    Few links are repeated often, so a few more messages carry most of what links add to the quality of their target:
    the 1st, 3rd, 9th, 27th ... is sent. O(log found).

    >>> [links_to_send(found) for found in range(1, 10)]
    [1, 0, 2, 0, 0, 0, 0, 0, 6]
    """
    power = 1
    while power < found:
        power *= GROWTH
    return power - power // GROWTH if power == found else 0


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
