"""Forecasts when a crawl ends, and when most of its quality is gathered, from regular looks at it. Pure: no clock.

What is left is what is queued and what is still to be discovered.  The number u of new URLs per page falls with what is
left, as left**``FALL``; so u now tells how much is still to be discovered.  As long as u is too high for that, nobody
can know the end, and there is no forecast.

What is left of the quality is that of queued URLs, and more the more quality becomes known for each unit that is
gathered.  This ratio falls with what is left as well, and can be measured without knowing how many URLs are left.
It comes from recent pages, which are those of quick servers; on the servers that still have URLs queued more is hidden,
the smaller the part of their known URLs that is fetched.

The time that is left follows from the recent pace, from the time that politeness demands of each server and, where
connections limit the crawl, from the time that queued URLs take of a connection.

A forecast of the quality is told only if its range is narrow (``WIDEST``): shortly before the moment, the error in what
is yet to be discovered is more than what is missing.
"""

from __future__ import annotations

from math import hypot, inf
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.monitor.survey import own_pace

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

#: Share of what was done that the change of the quality is measured over, and the least number of requests.
#: The same for the pace, which also needs so many seconds.
QUALITY_RECENT, QUALITY_MIN_RECENT = 0.2, 100
PACE_RECENT, PACE_MIN_SECONDS = 0.1, 4.0

#: The quality left is ``1 + MORE * ratio**MORE_FALL * hidden**UNFETCHED_FALL`` times that of queued URLs.  ``ratio`` is
#: the quality that becomes known for each unit gathered, ``hidden`` is ``Drains.unfetched_share``.  From a ratio of
#: ``MAX_RATIO`` on there is no forecast.  Found with webs of other seeds than those in docs/progress.md.
MORE, MORE_FALL, UNFETCHED_FALL, MAX_RATIO = 1.43, 1.3, 0.35, 1.6

#: Quality of the next pages: the weight of that of recent pages; the rest is that of all that is left.
RECENT_WEIGHT = 0.2

#: New URLs per page from which there is no forecast.
TOO_MANY = 2.2

#: The most URLs that are expected for each one queued.
MAX_GROWTH = 4.5

#: The share of the quality whose time is forecast.
MOST = 0.8

#: Factors on a forecast for its range, besides that of what is to be discovered.
END_RANGE, QUALITY_RANGE = (0.7, 1.4), (0.8, 1.25)

#: Factors on the quality that is yet to be discovered, for the range of the time.
MORE_RANGE = (0.85, 1.15)

#: A range of the quality's time whose ends are further apart than this factor tells too little to be shown.
WIDEST = 3.0


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
    #: URLs per second that politeness allows (``Drains.pace``); 0 if it is not known.
    polite_pace: float = 0.0
    #: Connections in use, and how many may be; 0 if it is not known.
    sessions: int = 0
    session_limit: int = 0


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
    #: Seconds within which ``MOST`` will be gathered, where the range was too wide (``WIDEST``); else None.
    most_within: float | None = None


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
        recent = _Recent.of(self._looks, RECENT, MIN_RECENT)
        share = _share(look)
        if recent is None or len(self._looks) < MIN_LOOKS or look.done - self._looks[0].done < MIN_DONE:
            end = self._limited(look, None)
            return Forecast(end, "" if end else "too few pages yet", None, share)
        left = _Left.of(look, recent, survey)
        most, within = _told(_most(self._looks, left))
        if recent.new >= TOO_MANY:
            end = self._limited(look, None, recent.pages_per_second)
            return Forecast(end, "" if end else "new URLs are found faster than pages are fetched", most, share, within)
        end = Range(
            *(factor * time for factor, time in zip((END_RANGE[0], 1.0, END_RANGE[1]), left.ends(), strict=True))
        )
        return Forecast(self._limited(look, end, recent.pages_per_second), "", most, share, within)

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
    """The last share of a crawl."""

    #: Requests per second.
    pace: float
    pages_per_second: float
    #: URLs per second that politeness allowed, on average; 0 if it is not known.
    polite_pace: float
    #: Connections in use, on average, and their share of those allowed; 0 if it is not known.
    sessions: float
    fullness: float
    #: New URLs, quality gathered, and quality that became known, for each request.
    new: float
    gathered: float
    known: float

    @classmethod
    def of(cls, looks: Sequence[Look], share: float, requests: float, seconds: float = 0.0) -> _Recent | None:
        """The last ``share`` of all requests, at least so many and so long; None if no request has ended lately."""
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
            polite_pace=sum(look.polite_pace for look in looks[start:]) / (len(looks) - start),
            sessions=sessions,
            fullness=min(1.0, sessions / last.session_limit) if last.session_limit else 0.0,
            new=max(0.0, (last.done + last.queued - since.done - since.queued) / done),
            gathered=(last.gathered - since.gathered) / done,
            known=max(0.0, (_known(last) - _known(since)) / done),
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

    def drain_time(self, urls: float, all_urls: float, recent: _Recent) -> float:
        """Seconds for the next ``urls`` of ``all_urls``, at a pace that falls as fewer and slower servers are left.

        Quick servers come first: where connections are what limits the crawl, a page of those left takes longer than a
        recent one, and the pages to come begin like the recent ones and end like those left.
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
        """Seconds until all is done: least, likely, most. Servers that fail must be given up, too."""
        longest, failing = (0.0, 0.0) if self.survey is None else (self.survey.longest_time, self.survey.failing_time)
        low, likely, high = (max(hypot(urls / self.pace, longest), failing) for urls in self.urls)
        likely = max(likely, self.time(self.urls[1]))
        return low, likely, max(high, likely)


def _most(looks: Sequence[Look], left: _Left) -> Range | None:
    """When ``MOST`` of the quality is gathered; None if it cannot be known."""
    look = looks[-1]
    recent = _Recent.of(looks, QUALITY_RECENT, QUALITY_MIN_RECENT)
    pace = _Recent.of(looks, PACE_RECENT, MIN_RECENT, PACE_MIN_SECONDS)
    waiting = look.waiting
    if waiting is None or recent is None or pace is None or recent.gathered <= 0:
        return None
    alive = left.queued / max(1, look.queued)  # the others' quality cannot be gathered
    ratio = alive * recent.known / recent.gathered
    if ratio >= MAX_RATIO:
        return None
    hidden = alive * (1.0 if left.survey is None else left.survey.drains.unfetched_share)
    more: float = MORE * ratio**MORE_FALL * hidden**UNFETCHED_FALL
    urls = min(left.urls[1], MAX_GROWTH * left.queued)

    def time(more: float) -> float:
        to_gather = alive * waiting * (1 + more)
        needed = MOST * (look.gathered + to_gather) - look.gathered
        if needed <= 0:
            return 0.0
        quality = RECENT_WEIGHT * recent.gathered + (1 - RECENT_WEIGHT) * to_gather / urls
        return left.drain_time(needed / quality, urls, pace)

    return Range(
        QUALITY_RANGE[0] * time(MORE_RANGE[0] * more), time(more), QUALITY_RANGE[1] * time(MORE_RANGE[1] * more)
    )


def _told(found: Range | None) -> tuple[Range | None, float | None]:
    """The range if it is narrow enough; else only its end."""
    if found is None or found.high <= WIDEST * found.low:
        return found, None
    return None, found.high


def _known(look: Look) -> float:
    return look.gathered + (look.waiting or 0.0)


def _share(look: Look) -> float | None:
    if look.waiting is None:
        return None
    whole = _known(look)
    return look.gathered / whole if whole > 0 else None
