"""Numbers, times and sizes in words; shares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from crawlproject.frontier.budgets import Outlook

#: Present rates are means over about this many seconds.
RATE_TIME = 10.0

#: Units of bytes.
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """``45 s``, ``2 min 31 s``, ``3 h 20 min``, ``12 d 3 h``: two units, as long as the first one has one digit."""
    units, left = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")), round(seconds)
    place = next((place for place, (length, _) in enumerate(units) if left >= length), len(units) - 1)
    length, unit = units[place]
    count, left = divmod(left, length)
    if count > 9 or place == len(units) - 1:
        return f"{count} {unit}"
    length, smaller = units[place + 1]
    rest = left // length
    return f"{count} {unit} {rest} {smaller}" if rest else f"{count} {unit}"


def size(count: float) -> str:
    """Bytes with a unit: ``1.3 MB``."""
    for unit in UNITS:
        if count < 1000 or unit == UNITS[-1]:
            break
        count /= 1000
    return f"{count:.0f} {unit}" if count >= 100 or unit == "B" else f"{count:.1f} {unit}"


def quality(gathered: float) -> str:
    """Four digits, all before the point: ``4.3``, ``10,830``."""
    return f"{gathered:,.0f}" if gathered >= 1000 else f"{gathered:.4g}"


def share_gathered(gathered: float, queued: float | None) -> float | None:
    """``gathered`` as a share of itself and the quality ``queued``; None if unknown."""
    known = gathered + (queued or 0.0)
    return gathered / known if queued is not None and known > 0 else None


def budget_words(budget: Outlook) -> tuple[str, ...]:
    """What is left, what one more page, second and megabyte are worth, and what twice the budget would gather."""
    amount = {"pages": "{:,.0f} pages".format, "seconds": duration, "size": size}[budget.binding]
    found = [f"{amount(budget.left)} of {amount(budget.limit)} left"]
    prices = (("page", budget.page), ("second", budget.second), ("MB", 1e6 * budget.byte))
    if worth := ", ".join(f"one {name} more {worth:.3g}" for name, worth in prices if worth):
        found.append(f"worth of {worth}")
    if budget.twice is not None:
        found.append(f"twice as much would gather {budget.twice:.2f} times the quality")
    return tuple(found)


class Rate:
    """Increase of a counter per second, over about the last ``RATE_TIME`` seconds. O(1)."""

    __slots__ = ("_at", "_count", "rate")

    def __init__(self) -> None:
        self._at: float | None = None
        self._count = 0.0
        self.rate = 0.0

    def add(self, now: float, count: float, since_start: float) -> float:
        if self._at is not None and now > self._at:
            weight = (now - self._at) / min(RATE_TIME, max(since_start, now - self._at))
            current = (count - self._count) / (now - self._at)
            self.rate += min(1.0, weight) * (current - self.rate)
        self._at, self._count = now, count
        return self.rate


#: Names of the workers' own folders.
WORKER_FOLDER = re.compile(r"worker-\d+")


def crawl_folder(job: Path) -> Path:
    """The directory of a crawl. Workers of one command have ``JOBDIR`` below that of their crawl."""
    job = job.resolve()
    return job.parent if WORKER_FOLDER.fullmatch(job.name) else job


def crawl_name(spider: str, job: Path | None) -> str:
    """Which crawl it is."""
    return (spider if job is None else crawl_folder(job).name)[:120]
