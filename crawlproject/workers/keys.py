"""Names of the keys in Redis.

The part in braces is the key's hash tag: a Redis Cluster keeps all keys of a partition on one node, as the scripts
that read and write several of them demand.
"""

from __future__ import annotations


class Keys:
    """The keys of the crawl ``name``.

    Hashes: ``meta``: format, label and settings of the crawl; ``workers``: id of a live worker -> end of its lease, ms
    of Redis's clock; ``dead``: ids of buried workers, which never come back; ``info``: id -> JSON for people: host,
    pid, counts; ``members``: id -> JSON of what the others act on; ``spent``: id, and ``pages`` or ``bytes`` -> how
    many of them are in the sum of all; ``stats``: sums of the stats of the workers that left; ``orders``: the
    operator's orders in force.  List: ``actions``: his last actions, which have changed the orders.

    >>> Keys("web").meta, Keys("web").m(7)
    ('{web}:meta', '{web:7}:m')

    Raises ValueError if ``name`` would break the hash tags.
    """

    def __init__(self, name: str) -> None:
        if not name or "{" in name or "}" in name:
            raise ValueError(f"{name!r}: must not be empty and must not contain braces")
        self.name = name
        kinds = "meta", "workers", "dead", "info", "members", "spent", "stats", "orders", "actions"
        names = [f"{{{name}}}:{key}" for key in kinds]
        self.meta, self.workers, self.dead, self.info, self.members = names[:5]
        self.spent, self.stats, self.orders, self.actions = names[5:]

    def m(self, partition: int) -> str:
        """Hash of a partition: owner, epoch, seq, and what else its scripts compare."""
        return f"{{{self.name}:{partition}}}:m"

    def j(self, partition: int) -> str:
        """List of journal blobs."""
        return f"{{{self.name}:{partition}}}:j"

    def i(self, partition: int) -> str:
        """Stream: the inbox."""
        return f"{{{self.name}:{partition}}}:i"

    def snapshot(self, partition: int, generation: str) -> tuple[str, str]:
        """Lists of blobs of one generation: of rows, and of seen keys."""
        return f"{{{self.name}:{partition}}}:s:{generation}", f"{{{self.name}:{partition}}}:f:{generation}"
