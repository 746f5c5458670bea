"""Forecasts when a crawl ends, and when most of its quality is gathered, from regular looks at it. Pure: no clock.

The end: what is queued and what is still to be discovered, at the present pace; and not before the server that takes
longest.  What is still to be discovered is extrapolated from how the number of new URLs per page has fallen; as long
as it does not fall, nobody can know the end, and there is no forecast.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import NamedTuple

#: Looks kept; every second one is dropped, and the interval doubled, when there are more.
MAX_LOOKS = 240

#: Looks and pages before there is a forecast.
MIN_LOOKS, MIN_PAGES = 8, 50

#: Share of the pages so far that counts as recent: pace, discovery and quality are measured over it.
RECENT = 0.25

#: The share of the quality whose time is forecast.
MOST = 0.8


class Look(NamedTuple):
    """A crawl at one moment."""

    #: Seconds on a monotonic clock.
    now: float
    #: Pages fetched, and URLs that left the queue without becoming a page (errors, refusals): all that was tried.
    done: float
    pages: int
    queued: int
    #: Quality gathered, and that of queued URLs; None if it is not known.
    gathered: float
    waiting: float | None
    #: Seconds until the server that takes longest is done with what is queued now, politely; 0 if not known.
    longest: float


class Range(NamedTuple):
    """Seconds from now."""

    low: float
    likely: float
    high: float


class Forecast(NamedTuple):
    """None: it cannot be known yet; ``why_not`` tells why."""

    end: Range | None
    why_not: str
    #: Until ``MOST`` of the quality is gathered; zeros if it is.
    most_quality: Range | None
    #: Quality gathered as a share of what is known; None if unknown.
    share: float | None


class Forecaster:
    """Keeps at most ``MAX_LOOKS`` looks. ``max_time``, ``max_pages``: at which limits end the crawl."""

    def __init__(self, max_time: float = inf, max_pages: float = inf) -> None:
        self._max_time = max_time
        self._max_pages = max_pages
        self._looks: list[Look] = []
        self._first: Look | None = None

    def add(self, look: Look) -> None:
        """Add the next look, in order of time. Amortised O(1)."""
        self._first = self._first or look
        self._looks.append(look)
        if len(self._looks) > MAX_LOOKS:
            del self._looks[1::2]

    def forecast(self) -> Forecast:
        """From the looks so far. O(MAX_LOOKS)."""
        if self._first is None:
            return Forecast(None, "the crawl has not begun", None, None)
        look = self._looks[-1]
        share = _share(look)
        done = look.done - self._first.done
        if len(self._looks) < MIN_LOOKS or done < MIN_PAGES:
            return Forecast(None, "too few pages yet", None, share)
        since = self._since(look.done - max(MIN_PAGES, RECENT * done))
        fetched = look.done - since.done
        if look.now <= since.now or fetched <= 0:
            return Forecast(None, "no page was fetched lately", None, share)
        pace = fetched / (look.now - since.now)
        found = self._undiscovered(look)
        if found is None:
            end = self._limited(look, since, None)
            return Forecast(end, "" if end else "new URLs are found as fast as pages are fetched", None, share)
        low, likely, high = (look.queued + undiscovered for undiscovered in found)
        growth = likely / max(1, look.queued)
        end = self._limited(
            look,
            since,
            Range(
                max(low / pace, look.longest),
                max(likely / pace, look.longest * sqrt(growth)),
                high / pace + look.longest * growth,
            ),
        )
        return Forecast(end, "", self._most(look, since, likely, pace), share)

    def _since(self, done: float) -> Look:
        """The last look before ``done`` pages, or the first."""
        return next((look for look in reversed(self._looks) if look.done <= done), self._looks[0])

    def _undiscovered(self, look: Look) -> Range | None:
        """URLs still to be discovered; None if their number does not fall.

        New URLs per page u fall as fewer are left: u = c·left.  From u now and u before, a number of pages apart,
        c follows, and with it what is left.
        """
        first = self._looks[0]
        span = look.done - first.done
        middle, before = self._since(look.done - span / 4), self._since(look.done - span / 2)
        pages, pages_before = look.done - middle.done, middle.done - before.done
        if pages <= 0 or pages_before <= 0:
            return None
        new = (_discovered(look) - _discovered(middle)) / pages
        new_before = (_discovered(middle) - _discovered(before)) / pages_before
        if new <= 0:
            return Range(0.0, 0.0, 0.1 * look.queued)
        if new >= 1 and new >= new_before:
            return None
        apart = (pages + pages_before) / 2
        falls = log(new_before / new) / apart if new_before > new else 0.0
        by_fall = new / falls if falls > 0 else inf
        by_share = look.queued * new / (1 - new) if new < 1 else inf  # if u stayed as it is
        likely = min(by_fall, by_share)
        return None if likely == inf else Range(0.0, likely, min(2.0 * likely, max(by_share, likely)))

    def _limited(self, look: Look, since: Look, end: Range | None) -> Range | None:
        """``end``, or the crawl's limit if that comes first."""
        assert self._first is not None
        left = self._max_time - (look.now - self._first.now)
        if look.pages > since.pages:
            left = min(left, (self._max_pages - look.pages) * (look.now - since.now) / (look.pages - since.pages))
        if left == inf:
            return end
        left = max(0.0, left)
        return Range(left, left, left) if end is None else Range(*(min(each, left) for each in end))

    def _most(self, look: Look, since: Look, left: float, pace: float) -> Range | None:
        """When ``MOST`` of the quality is gathered.

        What is left of the quality falls with what is left of the pages, x, as x**steepness; the steepness is that
        of the recent pages.
        """
        if look.waiting is None or left <= 0:
            return None
        waiting = look.waiting * left / max(1, look.queued)
        whole = look.gathered + waiting
        needed = MOST * whole - look.gathered
        if whole <= 0 or needed <= 0:
            return Range(0.0, 0.0, 0.0)
        per_page = (look.gathered - since.gathered) / (look.done - since.done)
        steepness = max(1.0, per_page * left / waiting)
        pages = left * (1 - (1 - needed / waiting) ** (1 / steepness))
        slowly = left * needed / waiting
        return Range(0.7 * pages / pace, pages / pace, max(slowly, 1.4 * pages) / pace)


def _discovered(look: Look) -> float:
    return look.done + look.queued


def _share(look: Look) -> float | None:
    if look.waiting is None:
        return None
    whole = look.gathered + look.waiting
    return look.gathered / whole if whole > 0 else None
