"""Detects the end of a crawl by many workers from the state of all partitions, never from counters.

One look is not enough: a URL may have moved from a partition not yet looked at to one already seen.  Every move changes
the ``seq`` of a partition or the length of an inbox, so two equal looks that both find nothing left mean that there was
nothing left between them.  Orders of the operator may leave something again: all workers must obey the last one, and
there must be no later one when the end is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Set


class PartitionState(NamedTuple):
    """A partition as one look at Redis shows it."""

    #: Id of the run of the Redis server that keeps it: another one may have lost writes.
    run_id: str
    #: Id of its worker; empty if it has none.
    owner: str
    epoch: int
    seq: int
    #: URLs stored, those being fetched included.
    stored: int
    #: Messages in its inbox.
    inbox: int


class Scan(NamedTuple):
    """One look at the whole crawl, while no start URLs wait; of those without anything left, two equal ones end it."""

    partitions: tuple[PartitionState, ...]
    #: Workers whose lease runs.
    live: frozenset[str]
    #: Worker -> whether it has work that is not in Redis: requests in memory, messages not yet sent.
    busy: Mapping[str, bool]
    #: Of the operator's last action; empty if there is none.
    mark: str
    #: Workers that obey it.
    obeying: Set[str]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to do, and that is known of all workers. O(partitions)."""
        owners = {state.owner for state in self.partitions} - {""}
        return (
            bool(self.partitions)
            and not any(state.stored or state.inbox for state in self.partitions)
            and owners <= self.live
            and all(self.busy.get(worker) is False for worker in self.live)
            and self.live <= self.obeying
        )


def has_ended(last: Scan | None, scan: Scan) -> bool:
    """Whether these two looks, one after the other, show that the crawl has ended. O(partitions)."""
    return (
        last is not None
        and last.is_empty
        and scan.is_empty
        and (last.partitions, last.live, last.mark) == (scan.partitions, scan.live, scan.mark)
    )
