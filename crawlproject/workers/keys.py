"""Names of the keys in Redis.

The part in braces is the key's hash tag: a Redis Cluster keeps all keys of a partition on one node, as the scripts
that read and write several of them demand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    """The keys of the crawl ``name``.

    >>> Keys("web").meta, Keys("web").m(7)
    ('{web}:meta', '{web:7}:m')

    Raises ValueError if ``name`` would break the hash tags.
    """

    name: str

    def __post_init__(self) -> None:
        if not self.name or "{" in self.name or "}" in self.name:
            raise ValueError(f"{self.name!r}: must not be empty and must not contain braces")

    @property
    def meta(self) -> str:
        """Hash: format, label and settings of the crawl."""
        return f"{{{self.name}}}:meta"

    @property
    def workers(self) -> str:
        """Hash: id of a live worker -> end of its lease, ms of Redis's clock."""
        return f"{{{self.name}}}:workers"

    @property
    def dead(self) -> str:
        """Hash: ids of buried workers, which never come back."""
        return f"{{{self.name}}}:dead"

    @property
    def info(self) -> str:
        """Hash: id of a worker -> JSON for people: host, pid, counts."""
        return f"{{{self.name}}}:info"

    @property
    def members(self) -> str:
        """Hash: id of a worker -> JSON of what the others act on."""
        return f"{{{self.name}}}:members"

    @property
    def pages(self) -> str:
        """Hash: id of a worker -> how many of its pages are in the sum of all."""
        return f"{{{self.name}}}:pages"

    @property
    def stats(self) -> str:
        """Hash: sums of the stats of the workers that left."""
        return f"{{{self.name}}}:stats"

    @property
    def orders(self) -> str:
        """Hash: the operator's orders in force."""
        return f"{{{self.name}}}:orders"

    @property
    def actions(self) -> str:
        """List: the operator's last actions, which have changed the orders."""
        return f"{{{self.name}}}:actions"

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
