"""Counts what becomes of URLs, and keeps a few examples of each reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from crawlproject.fates.reasons import Reason, Stage, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: URLs kept of each stage and reason: the first ones. Characters of each.
EXAMPLES, MAX_EXAMPLE = 5, 500

#: What stats are named by.
PREFIX = "fates/"

#: Stage and reason -> its stat.
STATS = {(stage, reason): f"{PREFIX}{stage}/{reason}" for reason in Reason for stage in reason.stages}


class Ending(NamedTuple):
    """What a request ends with, and its answer, if there was one."""

    reason: Reason
    status: int = 0
    #: Bytes of the body as it was received, decompressed; "" and 0: no answer.
    size: int = 0
    media: str = ""
    #: Seconds since 1970 when the answer was there; 0: none came.
    at: float = 0.0
    #: The URL that it redirects to, or why it failed.
    note: str = ""


class Outcome(NamedTuple):
    """The end of a URL."""

    url: str
    stage: Stage
    reason: Reason
    ending: Ending | None = None
    #: The page, or the redirect, that led to it, as far as the request says.
    via: str = ""
    depth: int = 0
    #: Seconds by name, as ``middlewares.timing`` measured them.
    times: Mapping[str, float] | None = None


class Fates:
    """The one count of ends of URLs in this run.

    ``count(stat, number)`` takes each, under the names of ``STATS``; ``store(what, number)`` the number of each but
    those of links, and of URLs that stay queued; ``log`` each outcome but those of links.  All methods are O(1) for
    each URL.
    """

    def __init__(
        self,
        count: Callable[[str, int], object] = lambda *_: None,
        store: Callable[[Any, int], object] = lambda *_: None,
        log: Callable[[Outcome], object] | None = None,
    ) -> None:
        self._count = count
        self._store = store
        self._log = log
        #: Stage and reason -> URLs of this run; of the stage LINK: links.
        self.counts: Counter[tuple[Stage, Reason]] = Counter()
        #: Links refused in earlier runs, which the seen-set does not have.
        self._before: Counter[Reason] = Counter()
        self._examples: dict[tuple[Stage, Reason], list[str]] = {}
        self._noted: WeakKeyDictionary[Any, Ending] = WeakKeyDictionary()

    def note(self, request: Any, ending: Ending) -> None:
        """What ``request`` will have ended with, unless that is noted again; its copies have notes of their own."""
        self._noted[request] = ending

    def noted(self, request: Any) -> Ending | None:
        """The last ``note`` of ``request``."""
        return self._noted.get(request)

    def forget(self, request: Any) -> None:
        """Undo ``note``."""
        self._noted.pop(request, None)

    def ended(self, outcome: Outcome, request: Any = None) -> None:
        """Count the end of a URL; ``request``: what the seen-set knows it by, if that is not its canonical URL."""
        place = outcome[1:3]
        self.counts[place] += 1
        self._count(STATS[place], 1)
        self._keep(place, outcome.url)
        if not outcome.reason.stays:
            self._store(outcome.url if request is None else request, encoded(*place))
        if self._log is not None:
            self._log(outcome)

    def dropped(self, url: str, reason: Reason) -> None:
        """Count the canonical ``url``, which leaves the queue without a request."""
        self.ended(Outcome(url, Stage.QUEUE, reason))

    def refused(self, links: Mapping[Reason, Sequence[str]]) -> None:
        """Count links that are not queued: reason -> their URLs, or references if they have none."""
        for reason, urls in links.items():
            place = (Stage.LINK, reason)
            self.counts[place] += len(urls)
            self._count(STATS[place], len(urls))
            for url in urls[:EXAMPLES]:
                self._keep(place, url)

    def refuse(self, reason: Reason, urls: Sequence[str]) -> None:
        """Count links that are not queued for one ``reason``."""
        if urls:
            self.refused({reason: urls})

    def links(self) -> dict[Reason, int]:
        """Links refused, in all runs whose state was restored."""
        found = Counter(self._before)
        found.update({reason: count for (stage, reason), count in self.counts.items() if stage is Stage.LINK})
        return dict(found)

    def to_state(self) -> dict[str, Any]:
        """What must outlive the run, for JSON: at most ``EXAMPLES`` URLs and one number for each of ``STATS``."""
        examples = {f"{stage}/{reason}": urls for (stage, reason), urls in self._examples.items()}
        return {"links": {str(reason): count for reason, count in self.links().items()}, "examples": examples}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Begin with the result of ``to_state``; what is not of that form is left out."""
        for reason, count in _items(state.get("links")):
            if reason in _REASONS and type(count) is int and count > 0:
                self._before[_REASONS[reason]] += count
        for name, urls in _items(state.get("examples")):
            place = _PLACES.get(name)
            if place is not None and isinstance(urls, list):
                for url in urls[:EXAMPLES]:
                    self._keep(place, str(url))

    def examples(self, stage: Stage, reason: Reason) -> list[str]:
        """The first URLs that ended so."""
        return list(self._examples.get((stage, reason), ()))

    def _keep(self, place: tuple[Stage, Reason], url: str) -> None:
        found = self._examples.setdefault(place, [])
        if len(found) < EXAMPLES and (short := url[:MAX_EXAMPLE]) not in found:
            found.append(short)


_REASONS = {str(reason): reason for reason in Reason}
_PLACES = {f"{stage}/{reason}": (stage, reason) for stage, reason in STATS}


def _items(state: Any) -> Iterable[tuple[str, Any]]:
    return state.items() if isinstance(state, dict) else ()
