"""Forecasts when a crawl ends, and when most of its quality is gathered, from regular looks at it. Pure: no clock.

What is left is what is queued and what is still to be discovered.  The number u of new URLs per page falls with what is
left, as left**``FALL``; so u now tells how much is still to be discovered.  As long as u is too high for that, nobody
can know the end, and there is no forecast.  The known quality grows likewise, with an exponent measured in this crawl.

The time that is left follows from the recent pace, and from the time that politeness demands of each server.
"""

from __future__ import annotations

from math import hypot, inf, log
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.monitor.survey import Survey

#: Looks kept; every second one is dropped when there are more.
MAX_LOOKS = 400

#: Looks and requests before there is a forecast.
MIN_LOOKS, MIN_DONE = 8, 100

#: Share of what was done so far that counts as recent, and the least number of requests.
RECENT, MIN_RECENT = 0.15, 50

#: Exponent with which new URLs per page fall, and between which values it may be.
#: Found with webs of other seeds than those in docs/progress.md.
FALL, LEAST_FALL, MOST_FALL = 1.5, 0.7, 3.0

#: Exponent of the known quality: its value before anything is measured, the weight of what is measured, its bounds.
QUALITY_FALL, FALL_WEIGHT, QUALITY_FALLS = 0.7, 3.0, (0.3, 3.0)

#: New URLs per page from which there is no forecast.
TOO_MANY = 2.2

#: The share of the quality whose time is forecast.
MOST = 0.8

#: Factors on a forecast for its range, besides that of what is to be discovered.
END_RANGE, QUALITY_RANGE = (0.7, 1.4), (0.5, 2.0)


class Look(NamedTuple):
    """A crawl at one moment."""

    #: Seconds on a monotonic clock.
    now: float
    #: Requests finished, those without a page included.
    done: float
    pages: int
    queued: int
    #: Quality gathered, and that of queued URLs; None if it is not known.
    gathered: float
    waiting: float | None


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

    def add(self, look: Look) -> None:
        """Add the next look, in order of time. Amortised O(1)."""
        self._looks.append(look)
        if len(self._looks) > MAX_LOOKS:
            del self._looks[1:-1:2]

    def forecast(self, survey: Survey | None) -> Forecast:
        """From the looks so far, and the last round over all servers. O(MAX_LOOKS)."""
        if not self._looks:
            return Forecast(None, "the crawl has not begun", None, None)
        look = self._looks[-1]
        recent = _Recent.of(self._looks)
        share = _share(look)
        if recent is None or len(self._looks) < MIN_LOOKS or look.done - self._looks[0].done < MIN_DONE:
            end = self._limited(look, None)
            return Forecast(end, "" if end else "too few pages yet", None, share)
        if recent.new >= TOO_MANY:
            end = self._limited(look, None, recent.pages_per_second)
            return Forecast(end, "" if end else "new URLs are found faster than pages are fetched", None, share)
        left = _Left.of(look, recent, survey)
        end = Range(
            *(factor * time for factor, time in zip((END_RANGE[0], 1.0, END_RANGE[1]), left.ends(), strict=True))
        )
        return Forecast(self._limited(look, end, recent.pages_per_second), "", _most(look, recent, left), share)

    def _limited(self, look: Look, end: Range | None, pages_per_second: float = 0.0) -> Range | None:
        """``end``, or the crawl's limit if that comes first."""
        left = self._max_time - (look.now - self._looks[0].now)
        if pages_per_second > 0:
            left = min(left, (self._max_pages - look.pages) / pages_per_second)
        if left == inf:
            return end
        left = max(0.0, left)
        return Range(left, left, left) if end is None else Range(*(min(each, left) for each in end))


class _Recent(NamedTuple):
    """The last share of a crawl, and the one before."""

    #: Requests per second.
    pace: float
    pages_per_second: float
    #: New URLs, quality gathered, and quality that became known, for each request.
    new: float
    gathered: float
    known: float
    #: The latter in the share before; None if there was none.
    known_before: float | None
    #: Requests in this share and in the one before.
    done: float
    done_before: float

    @classmethod
    def of(cls, looks: Sequence[Look]) -> _Recent | None:
        """None if no request has ended lately."""
        last = looks[-1]
        share = max(MIN_RECENT, RECENT * (last.done - looks[0].done))
        since = _before(looks, last.done - share)
        before = _before(looks, since.done - share)
        done, seconds = last.done - since.done, last.now - since.now
        if done <= 0 or seconds <= 0:
            return None
        known_before = (_known(since) - _known(before)) / (since.done - before.done) if since is not before else None
        return cls(
            pace=done / seconds,
            pages_per_second=(last.pages - since.pages) / seconds,
            new=max(0.0, (last.done + last.queued - since.done - since.queued) / done),
            gathered=(last.gathered - since.gathered) / done,
            known=max(0.0, (_known(last) - _known(since)) / done),
            known_before=known_before,
            done=done,
            done_before=since.done - before.done,
        )


class _Left(NamedTuple):
    """What is left to do."""

    #: Queued URLs that can be expected to be fetched.
    queued: float
    #: And with those to be discovered: fewest, likely, most.
    urls: tuple[float, float, float]
    pace: float
    survey: Survey | None

    @classmethod
    def of(cls, look: Look, recent: _Recent, survey: Survey | None) -> _Left:
        failing = 0 if survey is None else survey.failing_urls
        queued = max(1.0, look.queued - failing)

        def left(fall: float) -> float:  # u * left / (1 + fall) are undiscovered; left = queued + undiscovered
            return queued * (1 + fall) / (1 + fall - recent.new) if recent.new < 1 + fall else inf

        likely = left(FALL)
        return cls(queued, (left(MOST_FALL), likely, min(left(LEAST_FALL), 3 * likely)), recent.pace, survey)

    def time(self, urls: float) -> float:
        """Seconds for so many more URLs, if the likely number is left: both the pace and politeness take time."""
        polite = 0.0 if self.survey is None else self.survey.drains.polite_time(urls, self.urls[1] / self.queued)
        return hypot(urls / self.pace, polite)

    def ends(self) -> tuple[float, float, float]:
        """Seconds until all is done: least, likely, most. Servers that fail must be given up, too."""
        longest, failing = (0.0, 0.0) if self.survey is None else (self.survey.longest_time, self.survey.failing_time)
        low, likely, high = (max(hypot(urls / self.pace, longest), failing) for urls in self.urls)
        return low, max(likely, self.time(self.urls[1])), max(high, likely)


def _most(look: Look, recent: _Recent, left: _Left) -> Range | None:
    """When ``MOST`` of the quality is gathered.

    What is left of the quality falls with what is left of the URLs, as left**steepness; the steepness is that of the
    recent pages.
    """
    if look.waiting is None:
        return None
    urls = left.urls[1]
    fall = QUALITY_FALL
    if recent.known_before is not None and recent.known_before > 0 and recent.known > 0:
        apart = log((urls + recent.done + recent.done_before / 2) / (urls + recent.done / 2))
        fall = (FALL_WEIGHT * log(recent.known_before / recent.known) + fall) / (FALL_WEIGHT * apart + 1)
        fall = min(QUALITY_FALLS[1], max(QUALITY_FALLS[0], fall))
    to_gather = look.waiting * left.queued / max(1, look.queued) + recent.known * urls / (1 + fall)
    needed = MOST * (look.gathered + to_gather) - look.gathered
    if needed <= 0:
        return Range(0.0, 0.0, 0.0)
    steepness = max(1.0, recent.gathered * urls / to_gather)
    likely = left.time(urls * (1 - (1 - needed / to_gather) ** (1 / steepness)))
    return Range(QUALITY_RANGE[0] * likely, likely, QUALITY_RANGE[1] * likely)


def _before(looks: Sequence[Look], done: float) -> Look:
    """The last look with at most ``done`` requests, or the first."""
    return next((look for look in reversed(looks) if look.done <= done), looks[0])


def _known(look: Look) -> float:
    return look.gathered + (look.waiting or 0.0)


def _share(look: Look) -> float | None:
    if look.waiting is None:
        return None
    whole = _known(look)
    return look.gathered / whole if whole > 0 else None
