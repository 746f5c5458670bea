"""Names of the keys in Redis.

The part in braces is the key's hash tag: a Redis Cluster keeps all keys of a partition on one node, as the scripts
that read and write several of them demand.
"""

from __future__ import annotations


class Keys:
    """The keys of the crawl ``name``.

    >>> Keys("web").meta, Keys("web").m(7)
    ('{web}:meta', '{web:7}:m')

    Raises ValueError if ``name`` would break the hash tags.
    """

    def __init__(self, name: str) -> None:
        if not name or "{" in name or "}" in name:
            raise ValueError(f"{name!r}: must not be empty and must not contain braces")
        self.name = name
        #: Hash: format, label and settings of the crawl.
        self.meta = f"{{{name}}}:meta"
        #: Hash: id of a live worker -> end of its lease, ms of Redis's clock.
        self.workers = f"{{{name}}}:workers"
        #: Hash: ids of buried workers, which never come back.
        self.dead = f"{{{name}}}:dead"
        #: Hash: id of a worker -> JSON for people: host, pid, counts.
        self.info = f"{{{name}}}:info"
        #: Hash: id of a worker -> JSON of what the others act on.
        self.members = f"{{{name}}}:members"
        #: Hash: id of a worker, and ``pages`` or ``bytes`` -> how many of them are in the sum of all.
        self.spent = f"{{{name}}}:spent"
        #: Hash: sums of the stats of the workers that left.
        self.stats = f"{{{name}}}:stats"
        #: Hash: the operator's orders in force.
        self.orders = f"{{{name}}}:orders"
        #: List: the operator's last actions, which have changed the orders.
        self.actions = f"{{{name}}}:actions"

    def m(self, partition: int) -> str:
        """Hash of a partition: owner, epoch, seq, and what else its scripts compare."""
        return f"{{{self.name}:{partition}}}:m"

    def j(self, partition: int) -> str:
        """List of journal blobs."""
        return f"{{{self.name}:{partition}}}:j"

    def i(self, partition: int) -> str:
        """Stream: the inbox."""
        return f"{{{self.name}:{partition}}}:i"

    def s(self, partition: int, generation: str) -> str:
        """List of snapshot blobs of one generation."""
        return f"{{{self.name}:{partition}}}:s:{generation}"

    def f(self, partition: int, generation: str) -> str:
        """List of blobs of seen keys of one generation."""
        return f"{{{self.name}:{partition}}}:f:{generation}"
