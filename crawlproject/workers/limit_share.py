"""How much of a limit of the whole crawl, on pages or bytes, this worker may spend."""

from __future__ import annotations


class LimitShare:
    """With each beat a worker gets a part of what is left, and what others have not used is divided again.

    The part is as large as the worker's part of what was spent since the last beat, and not smaller than that of equal
    workers.  So one that has nothing to fetch leaves its part to the others.  All together exceed the limit at most by
    what the slower ones fetch within one beat.
    """

    def __init__(self) -> None:
        self._last = 0.0, 0.0  # spent here and by all, at the last beat

    def limit(self, most: float, own: float, total: float, workers: int) -> float:
        """This worker's limit, of ``most``: it has spent ``own`` of the ``total`` of all ``workers``. O(1)."""
        own_before, total_before = self._last
        self._last = own, total
        since = total - total_before
        part = (own - own_before) / since if since > 0 else 0.0
        return own + max(0.0, most - total) * min(1.0, max(part, 1.0 / max(1, workers)))
