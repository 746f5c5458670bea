"""Forecasts when a crawl ends, and when most of the known quality is gathered, from regular samples. Pure: no clock.

Number of URLs left = queued + not yet discovered.  The number u of new URLs per page is proportional to
left**``FALL``, so the present u gives the number not yet discovered.  While u is too high, there is no forecast.

The known quality is that gathered and that of the queued URLs; it grows while links are found.  Its share that is
gathered is extrapolated from the recent rates of both per request.  The quality discovered per request falls to 0 with
the last URL.

Time left: from the recent pace, the time that politeness demands of each server and, if connections are the limit, the
connection time of the queued URLs.
"""

from __future__ import annotations

from math import hypot, inf
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.monitor.survey import own_pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlproject.monitor.survey import Survey

#: Samples kept; if there are more, every second one is dropped.
MAX_LOOKS = 400

#: Samples and requests before the first forecast.
MIN_LOOKS, MIN_DONE = 5, 100

#: The recent requests: this share of all so far, and at least this number.
RECENT, MIN_RECENT = 0.15, 50

#: Exponent of the fall of new URLs per page, and its bounds.
#: Found with webs of other seeds than those in docs/research/forecasts.md.
FALL, MIN_FALL, MAX_FALL = 1.5, 0.7, 3.0

#: The recent requests over which the change of the quality is measured: share of all, and minimum number.
#: The same for the pace, with a minimum number of seconds.
QUALITY_RECENT, QUALITY_MIN_RECENT = 0.3, 100
PACE_RECENT, PACE_MIN_SECONDS = 0.1, 4.0

#: Exponent of the fall of the quality discovered per request, from now to the last URL: (1 - requests / URLs left) to
#: this power.  Its bounds give the range.  Found with webs of other seeds than those in docs/research/forecasts.md.
DISCOVERY_FALL, MIN_DISCOVERY_FALL, MAX_DISCOVERY_FALL = 2.0, 1.0, 3.0

#: Minimum share of the requests that bring a page.
MIN_YIELD = 0.1

#: At this number of new URLs per page or more there is no forecast.
TOO_MANY = 2.2

#: Maximum number of URLs expected for each one queued.
MAX_GROWTH = 4.5

#: The forecast of the quality is for the time when this share of what is known then is gathered.
FORECAST_SHARE = 0.8

#: Factors on a forecast that give its range.
END_RANGE, QUALITY_RANGE = (0.7, 1.4), (0.8, 1.25)

#: Maximum ratio of the ends of a range of the quality's time; a wider one is not shown.
WIDEST = 3.0


class Look(NamedTuple):
    """A sample: the crawl at one moment."""

    #: Seconds on a monotonic clock.
    now: float
    #: Requests finished, those without a page included.
    done: float
    pages: int
    queued: int
    #: Quality gathered, and that of queued URLs that can be expected to be fetched (None if unknown).
    gathered: float
    waiting: float | None
    #: URLs per second that politeness allows (``Drains.pace``); 0 if unknown.
    polite_pace: float = 0.0
    #: Connections in use, and the limit on them; 0 if unknown.
    sessions: int = 0
    session_limit: int = 0
    #: Bytes received, items scraped.
    bytes: int = 0
    items: int = 0


class Limits(NamedTuple):
    """What ends the crawl: seconds, pages, bytes, items; inf: no limit."""

    time: float = inf
    pages: float = inf
    bytes: float = inf
    items: float = inf


NO_LIMITS = Limits()


class Range(NamedTuple):
    """Seconds from now."""

    low: float
    likely: float
    high: float


class Forecast(NamedTuple):
    """``end`` is None if it is not known; ``why_not`` says why (empty: the crawl is ending)."""

    end: Range | None
    why_not: str
    #: Time until ``FORECAST_SHARE`` of the known quality is gathered; zeros if it has been.  None if unknown, or if the
    #: range is wider than ``WIDEST``.
    most_quality: Range | None
    #: Quality gathered as a share of what is known; None if unknown.
    share: float | None


NOT_BEGUN = Forecast(None, "the crawl has not begun", None, None)


class Forecaster:
    """Keeps at most ``MAX_LOOKS`` samples."""

    def __init__(self, limits: Limits = NO_LIMITS) -> None:
        self._limits = limits
        self._looks: list[Look] = []
        #: Times of the first and the last sample, halted or not.
        self._began = self._last = inf
        #: The time halted so far: samples are kept as if it had not passed.
        self._halted = 0.0

    def add(self, look: Look) -> None:
        """Add the next sample, in order of time. Amortised O(1)."""
        self._began, self._last = min(self._began, look.now), look.now
        self._looks.append(look._replace(now=look.now - self._halted))
        if len(self._looks) > MAX_LOOKS:
            del self._looks[1:-1:2]

    def halt(self, look: Look, why_not: str) -> Forecast:
        """A sample while no request may start: nothing can be forecast, and this time does not count for the pace."""
        self._halted += max(0.0, look.now - self._last)
        self._began, self._last = min(self._began, look.now), look.now
        return Forecast(None, why_not, None, _share(look))

    def forecast(self, survey: Survey | None) -> Forecast:
        """From the samples so far, and the last survey of all servers. O(MAX_LOOKS)."""
        if not self._looks:
            return NOT_BEGUN
        look = self._looks[-1]
        recent = _Recent.of(self._looks, RECENT, MIN_RECENT)
        share = _share(look)
        if recent is None or len(self._looks) < MIN_LOOKS or look.done - self._looks[0].done < MIN_DONE:
            return self._limited(look, None, Forecast(None, "too few pages yet", None, share))
        left = _Left.of(look, recent, survey)
        most = self._most(look, left)
        if recent.new >= TOO_MANY:
            found = Forecast(None, "new URLs are found faster than pages are fetched", most, share)
        else:
            found = Forecast(_ranged(left.ends()), "", most, share)
        return self._limited(look, recent, found)

    def _most(self, look: Look, left: _Left) -> Range | None:
        """Time until ``FORECAST_SHARE`` of the known quality is gathered; None if unknown or too uncertain."""
        share = _share(look)
        rates = _Recent.of(self._looks, QUALITY_RECENT, QUALITY_MIN_RECENT)
        pace = _Recent.of(self._looks, PACE_RECENT, MIN_RECENT, PACE_MIN_SECONDS)
        if share is None or rates is None or pace is None:
            return None
        if share >= FORECAST_SHARE:
            return Range(0.0, 0.0, 0.0)
        urls = min(left.urls[1], MAX_GROWTH * left.queued)
        times = []
        for fall in (MAX_DISCOVERY_FALL, DISCOVERY_FALL, MIN_DISCOVERY_FALL):
            requests = _requests_until_most(look, rates, urls, fall)
            if requests is None:
                return None
            times.append(left.drain_time(requests, urls, pace))
        found = Range(QUALITY_RANGE[0] * times[0], times[1], QUALITY_RANGE[1] * times[2])
        return found if found.high <= WIDEST * found.low else None

    def _limited(self, look: Look, recent: _Recent | None, found: Forecast) -> Forecast:
        """``found``, or the crawl's limits if they come first."""
        limits, time = self._limits, self._limits.time - (self._last - self._began)
        counted = inf
        if recent is not None:
            counts = (
                (limits.pages - look.pages, recent.pages_per_second),
                (limits.bytes - look.bytes, recent.bytes_per_second),
                (limits.items - look.items, recent.items_per_second),
            )
            counted = min((left / rate for left, rate in counts if rate > 0), default=inf)
        limit = Range(*(max(0.0, min(each, time)) for each in _ranged((counted, counted, counted))))
        if limit.likely == inf:
            return found
        end = found.end
        if end is None:  # it may end before: when nothing is queued
            end = Range(END_RANGE[0] * look.queued / recent.pace if recent is not None else 0.0, inf, inf)
        return Forecast(
            Range(*map(min, end, limit)),
            "",
            found.most_quality if found.most_quality is None or found.most_quality.likely <= limit.likely else None,
            found.share,
        )


def _ranged(ends: tuple[float, float, float]) -> Range:
    """The times of an end, with ``END_RANGE``."""
    low, likely, high = ends
    return Range(END_RANGE[0] * low, likely, END_RANGE[1] * high)


class _Recent(NamedTuple):
    """Rates over the last part of a crawl."""

    #: Requests per second.
    pace: float
    pages_per_second: float
    bytes_per_second: float
    items_per_second: float
    #: URLs per second that politeness allowed, on average; 0 if it is not known.
    polite_pace: float
    #: Connections in use, on average, and their share of those allowed; 0 if it is not known.
    sessions: float
    fullness: float
    #: New URLs, quality gathered, and the rise of the quality gathered or queued, per request.
    new: float
    gathered: float
    known: float

    @classmethod
    def of(cls, looks: Sequence[Look], share: float, requests: float, seconds: float = 0.0) -> _Recent | None:
        """Over the last ``share`` of requests, at least ``requests`` and ``seconds``; None if none ended recently."""
        last = looks[-1]
        fewest = max(requests, share * (last.done - looks[0].done))
        start = next(
            (
                i
                for i in reversed(range(len(looks)))
                if looks[i].done <= last.done - fewest and looks[i].now <= last.now - seconds
            ),
            0,
        )
        since = looks[start]
        done, time = last.done - since.done, last.now - since.now
        if done <= 0 or time <= 0:
            return None
        sessions = sum(look.sessions for look in looks[start:]) / (len(looks) - start)
        return cls(
            pace=done / time,
            pages_per_second=(last.pages - since.pages) / time,
            bytes_per_second=(last.bytes - since.bytes) / time,
            items_per_second=(last.items - since.items) / time,
            polite_pace=sum(look.polite_pace for look in looks[start:]) / (len(looks) - start),
            sessions=sessions,
            fullness=min(1.0, sessions / last.session_limit) if last.session_limit else 0.0,
            new=max(0.0, (last.done + last.queued - since.done - since.queued) / done),
            gathered=(last.gathered - since.gathered) / done,
            known=(_known(last) - _known(since)) / done,
        )


class _Left(NamedTuple):
    """The work left."""

    #: Queued URLs that can be expected to be fetched.
    queued: float
    #: The same with those not yet discovered: fewest, likely, most.
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
        return cls(queued, (left(MAX_FALL), likely, min(left(MIN_FALL), 3 * likely)), recent.pace, survey)

    def time(self, urls: float) -> float:
        """Seconds for ``urls`` more URLs, if the likely number is left: by the pace and by politeness."""
        polite = 0.0 if self.survey is None else self.survey.drains.polite_time(urls, self.urls[1] / self.queued)
        return hypot(urls / self.pace, polite)

    def drain_time(self, urls: float, all_urls: float, recent: _Recent) -> float:
        """Seconds for the next ``urls`` of ``all_urls``, at a pace that falls as fewer and slower servers are left.

        Fast servers come first: if connections limit the crawl, pages get slower from the recent mean to that of the
        servers left.
        """
        if self.survey is None or not recent.polite_pace:
            return urls / recent.pace
        own, factor = own_pace(recent.pace, recent.polite_pace)
        drains = self.survey.drains
        if recent.sessions > 0:
            slower = max(1.0, drains.work_per_url * recent.pace / recent.sessions)
            own /= 1 + recent.fullness * (slower - 1) * min(1.0, urls / all_urls)
        return drains.time(urls, all_urls / self.queued, own, factor)

    def ends(self) -> tuple[float, float, float]:
        """Seconds until all URLs are fetched: least, likely, most. Servers that fail must be given up first."""
        longest, failing = (0.0, 0.0) if self.survey is None else (self.survey.longest_time, self.survey.failing_time)
        low, likely, high = (max(hypot(urls / self.pace, longest), failing) for urls in self.urls)
        likely = max(likely, self.time(self.urls[1]))
        return low, likely, max(high, likely)


def _requests_until_most(look: Look, rates: _Recent, urls: float, fall: float) -> float | None:
    """Requests until ``FORECAST_SHARE`` of the known quality is gathered, of ``urls`` left; None: not by then.

    ``look`` is before that moment.  O(1): each step halves the interval.
    """
    yielding = min(1.0, max(MIN_YIELD, rates.pages_per_second / rates.pace))
    lost = rates.gathered * (1 / yielding - 1)  # was known, but brought no page
    found = max(0.0, rates.known + lost)

    def missing(requests: float) -> float:
        discovered: float = found * urls / (1 + fall) * (1 - (1 - requests / urls) ** (1 + fall))
        known = _known(look) + discovered - lost * requests
        return FORECAST_SHARE * known - (look.gathered + rates.gathered * requests)

    low, high = 0.0, urls
    if missing(high) > 0:
        return None
    for _ in range(24):  # it may rise at first, but then it falls: there is one zero
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high


def _known(look: Look) -> float:
    return look.gathered + (look.waiting or 0.0)


def _share(look: Look) -> float | None:
    if look.waiting is None:
        return None
    whole = _known(look)
    return look.gathered / whole if whole > 0 else None
