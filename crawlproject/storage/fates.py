"""Keeps what the seen-set has no place for: counts of links refused, and examples of each reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlproject.storage.disk import DiskStore
    from crawlproject.storage.rocks import Batch
    from crawlproject.urls.fates import Fates

_KEYS = (b"links", b"examples")


class DiskFates:
    """Restores ``fates``, and stores their state with each commit in which it has changed; a ``Part`` of the store.

    Some kB: ``urls.fates.EXAMPLES`` URLs for each reason, written again only when one is new.
    """

    def __init__(self, store: DiskStore, fates: Fates) -> None:
        self._fates = fates
        self._stored = {key: store.rocks.get("state", key) or b"{}" for key in _KEYS}
        self._written: dict[bytes, bytes] = {}
        fates.restore({key.decode(): _parsed(value) for key, value in self._stored.items()})
        store.add(self)

    def write_to(self, batch: Batch) -> None:
        state = self._fates.to_state()
        values = {key: json.dumps(state[key.decode()]).encode() for key in _KEYS}
        self._written = {key: value for key, value in values.items() if value != self._stored[key]}
        for key, value in self._written.items():
            batch.put("state", key, value)

    def written(self) -> None:
        self._stored |= self._written


def _parsed(value: bytes) -> object:
    try:
        return json.loads(value)
    except ValueError:  # damaged: the counts start at zero again
        return {}
