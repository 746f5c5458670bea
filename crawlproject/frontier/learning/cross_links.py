"""Decides which repeated links are sent to other workers, and estimates how many of the links sent are new."""

from __future__ import annotations

#: Weight of the past in the share of new URLs, per link received.
DECAY = 0.999

#: A repeated link is sent again, for all its repetitions, when their number has grown by this factor.
GROWTH = 3
#: Maximum share of the links found that are sent: repeated links wait for it, a first link is always sent.
SENT_SHARE = 0.28

_SENT_SHIFT = 32  # bits of a state that count the links found; the bits above count those sent


class CrossLinks:
    """Which of the links to other workers' URLs are sent, and how many links each of these stands for.

    Few links are repeated often, so a few more messages carry most of what links add to the quality of their target:
    the 1st, 3rd, 9th, 27th ... is sent.  A repeated one waits for the next if more than ``SENT_SHARE`` would be sent.

    >>> links, state, sent = CrossLinks(), 0, []
    >>> for _ in range(30):
    ...     state, count = links.found(state)
    ...     sent.append(count)
    >>> [(number, count) for number, count in enumerate(sent, 1) if count]
    [(1, 1), (8, 7), (24, 16)]
    """

    def __init__(self) -> None:
        self._found = self._sent = 0

    def found(self, state: int) -> tuple[int, int]:
        """A link was found to the URL of this ``state`` (0: the first one); its next state, and 0 or the links to send.

        O(1).
        """
        self._found += 1
        found, sent = (state & (1 << _SENT_SHIFT) - 1) + 1, state >> _SENT_SHIFT
        if sent and (found < GROWTH * sent or self._sent + 1 > SENT_SHARE * self._found):
            return state + 1, 0
        self._sent += 1
        return found << _SENT_SHIFT | found, found - sent


class NewShare:
    """Share of new URLs among the links that workers send each other: 1 at first, then learned from those received.

    A worker does not learn which of the links that it sent are new. All workers crawl the same web, so the share among
    the links that it receives is an estimate.
    """

    def __init__(self) -> None:
        self._new = self._links = 1.0

    @property
    def value(self) -> float:
        """Share of the links that are new, from 0 to 1."""
        return self._new / self._links

    def learn(self, links: int, new: int) -> None:
        """Learn that ``new`` of the ``links`` received were new. O(1)."""
        kept = DECAY**links
        self._new = self._new * kept + new
        self._links = self._links * kept + links
