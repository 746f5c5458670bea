"""The wait of a server whose partition goes to another worker: never shorter, whatever the clocks show."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawlproject.frontier import BestPrefix, Frontier, Measurement
from crawlproject.storage import StoreLabel
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.partitions import Partitions

KEY = "http://www.a.com"


class Machine:
    """A worker's copy, on a clock that shows ``shown`` at time 0."""

    def __init__(self, folder: Path, shown: float) -> None:
        self._shown, self._now = shown, 0.0
        self.partitions = Partitions(4)
        label = StoreLabel("web", "quality")
        self.copy = LocalCopy(Frontier(BestPrefix()), self.partitions, folder, label, self._clock, indexed=False)

    def _clock(self) -> float:
        return self._shown + self._now

    def hear(self, *, sent: float, answered: float, read: float) -> None:
        """A beat, by the time; Redis's clock shows 1,000 at time 0."""
        self._now = read
        self.copy.follow_clock(int((1000.0 + answered) * 1000) / 1000, read - sent)

    def take(self) -> None:
        """Own the server's partition."""
        for _ in self.copy.restore(self.partitions.of(KEY), {}):
            pass

    def contacted(self, at: float, retry_after: float) -> None:
        """The server asks for a wait."""
        self._now = at
        self.copy.frontier.record(Measurement(KEY, self._clock(), 429, retry_after=retry_after))

    def ready_at(self) -> float:
        """When the server may be contacted."""
        return self.copy.frontier.servers[KEY].ready_at - self._shown


@pytest.mark.parametrize(
    ("sent", "answered", "read"),
    [(1.0, 1.0, 1.0), (1.0, 1.0009, 1.0009), (1.0, 1.0, 5.0), (1.0, 5.0, 5.0), (1.0, 3.0, 5.0)],
)
@pytest.mark.parametrize("is_slow_before", [True, False])
def test_a_wait_survives_a_slow_beat(
    tmp_path: Path, sent: float, answered: float, read: float, *, is_slow_before: bool
) -> None:
    """The answer is under way, or waits for a busy or stopped process, for up to 4 s."""
    quick, slow = {"sent": 6.0, "answered": 6.0, "read": 6.0}, {"sent": sent, "answered": answered, "read": read}
    old, new = Machine(tmp_path / "old", 100.0), Machine(tmp_path / "new", 7.0)
    old.take()
    old.hear(**slow if is_slow_before else quick)
    old.contacted(at=7.0, retry_after=60.0)
    tables = old.copy.commit()[old.partitions.of(KEY)]
    new.hear(**quick if is_slow_before else slow)
    new.copy.write({table: [(key, row) for key, row in rows.items() if row] for table, rows in tables.items()})
    new.take()
    assert 67.0 <= new.ready_at() + 1e-5 <= 67.0 + (read - sent) + 0.01
    old.copy.close()
    new.copy.close()
