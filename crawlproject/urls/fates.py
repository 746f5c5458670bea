"""What becomes of URLs: where one can end, and why; counts, and a few examples of each reason.

Everything that counts, shows or logs lost URLs reads this one enumeration.  The byte of each URL is kept beside its key
in the seen-set (``storage.seen``), the log of URLs is written by ``storage.crawl_log``.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

#: URLs kept of each stage and reason: the first ones. Characters of each.
EXAMPLES, MAX_EXAMPLE = 5, 500

#: Different values that a tally counts; others are "other".
MAX_VALUES = 40


class Stage(StrEnum):
    """How far a URL came."""

    #: A link that is not queued, and not in the seen-set: it may be found, and counted, many times.
    LINK = "link"
    #: A URL that left the queue without a request.
    QUEUE = "queue"
    #: A request without a complete answer, or one that was not sent.
    REQUEST = "request"
    ANSWER = "answer"

    @property
    def number(self) -> int:
        """From 0, in the order of a URL's life."""
        return _NUMBERS[self]


_NUMBERS = {stage: number for number, stage in enumerate(Stage)}
_L, _Q, _R, _A = Stage


class Reason(StrEnum):
    """Why a URL ended. Numbers are stored: a number that was used once is not used for another reason."""

    number: int
    #: Where it can end so.
    stages: tuple[Stage, ...]
    #: One sentence.
    words: str
    #: What to change; empty: nothing need be.
    change: str

    def __new__(cls, value: str, number: int, stages: tuple[Stage, ...], words: str, change: str = "") -> Self:
        """One row of the table below."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.number, reason.stages, reason.words, reason.change = number, stages, words, change
        return reason

    # its page came
    FETCHED = "fetched", 1, (_A,), "Its page was fetched and given to the spider."
    UNCHANGED = "unchanged", 2, (_A,), "A recrawl asked for it; its page has not changed (304)."
    COPY = (
        *("copy", 3, (_A,), "Its page was fetched; its bytes are those of another page."),
        "FRONTIER_DUPLICATES_EXACT = False: copies are not looked for.",
    )
    NEAR_COPY = (
        *("near_copy", 4, (_A,), "Its page was fetched; its text is nearly that of another page."),
        "A higher FRONTIER_DUPLICATES_THRESHOLD, or FRONTIER_DUPLICATES_NEAR = False.",
    )
    # another answer came
    REDIRECTED = "redirected", 5, (_A,), "It redirects to another URL, which has a fate of its own."
    REPLACED = (
        *("replaced", 6, (_A,), "A middleware of the project put another request in its place, or dropped it."),
        "Look at the project's middlewares.",
    )
    NOT_FOUND = "not_found", 7, (_A,), "The server has no such page (404, 410)."
    NO_ACCESS = (
        *("no_access", 8, (_A,), "The server does not show it to this crawler (401, 402, 403, 407, 451)."),
        "A USER_AGENT with your address, a login, or fewer requests.",
    )
    TOO_MANY = (
        *("too_many_requests", 9, (_A,), "The server answered that it gets too many requests (429), at each try."),
        "A higher FRONTIER_DELAY_FACTOR, or a FRONTIER_REQUEST_DELAY.",
    )
    CLIENT_ERROR = "client_error", 10, (_A,), "The server answered with another status from 400 to 499."
    SERVER_ERROR = (
        *("server_error", 11, (_A,), "The server answered with a status from 500 on, at each try."),
        "RETRY_TIMES, or crawl later.",
    )
    OTHER_STATUS = "other_status", 12, (_A,), "The server answered with a status that is no page: 1xx, 304, a bad 3xx."
    WRONG_TYPE = (
        *("wrong_type", 13, (_A,), "Its media type is not read: the download ended after the headers."),
        "FRONTIER_LINKS_TYPES.",
    )
    CALLBACK_FAILED = (
        *("callback_failed", 14, (_A,), "Its page was fetched, and the spider's callback raised an error."),
        "The log has the traceback.",
    )
    KEPT = (
        *("kept", 15, (_A,), "The crawl ended before its page was processed; with JOBDIR it stays queued."),
        "Resume the crawl; a higher limit (FRONTIER_MAX_PAGES, max_pages).",
    )
    REDIRECT_LIMIT = (
        *("redirect_limit", 16, (_A,), "Its chain of redirects is too long, or a loop."),
        "REDIRECT_MAX_TIMES.",
    )
    UNDECODABLE = "undecodable", 17, (_A,), "Its body cannot be decompressed."
    TOO_LARGE = "too_large", 18, (_A,), "Its body is too large.", "DOWNLOAD_MAXSIZE."
    TRUNCATED = (
        *("truncated_body", 19, (_A,), "Its body ended too early, at each try."),
        "DOWNLOAD_FAIL_ON_DATALOSS = False takes what came.",
    )
    BROKEN = "broken_response", 20, (_A,), "The answer broke HTTP, or the connection broke, at each try."
    # no answer came
    TIMEOUT = (
        *("timeout", 21, (_R,), "No answer came in time, at each try."),
        "DOWNLOAD_TIMEOUT, FRONTIER_CONNECT_TIMEOUT.",
    )
    REFUSED = "refused", 22, (_R,), "The server refused the connection, at each try."
    DNS = "dns", 23, (_Q, _R), "The name of its server was not found.", "Check the name, and this machine's resolver."
    PROXY = "proxy", 24, (_R,), "The proxy could not be reached.", "Check the proxy."
    OTHER = "other", 25, (_R,), "The request failed in another way.", "The log names the error."
    # no request was sent
    ROBOTS = "robots", 26, (_R,), "robots.txt forbids it.", "ROBOTSTXT_OBEY = False, if the server is yours."
    ADDRESS = (*("address", 28, (_R,), "The address of its server is not public."), "FRONTIER_ALLOWED_NETWORKS.")
    DENIED = "denied", 29, (_L, _R), "Its server is denied.", "FRONTIER_DENY_FILE."
    OFFSITE = (
        *("offsite", 30, (_L, _R), "Its server is none of those that the spider may visit."),
        "The spider's allowed, or allowed_domains.",
    )
    SERVER_GIVEN_UP = (
        *("server_given_up", 31, (_Q, _R), "Its server was given up: too many failures in a row."),
        "FRONTIER_MAX_FAILURES, FRONTIER_ROBOTS_MAX_FAILURES; scrapy frontier --server shows the last error.",
    )
    PAGE_LIMIT = (
        *("page_limit", 32, (_L, _Q, _R), "Its server or domain is full."),
        "FRONTIER_MAX_PAGES_PER_SERVER, FRONTIER_MAX_PAGES_PER_DOMAIN.",
    )
    NO_ANSWER = (
        *("no_answer", 33, (_Q, _R), "Its server never answered, and nothing else was left; JOBDIR keeps it queued."),
        "Resume the crawl later.",
    )
    UNSERIALIZABLE = (
        *("unserializable", 34, (_L, _R), "Another worker crawls its server, and it cannot be stored."),
        "Callbacks that are methods of the spider, meta that can be stored.",
    )
    MALFORMED = "malformed", 35, (_L, _R), "It is no URL with a server."
    IGNORED = (
        *("ignored", 36, (_R,), "A middleware of the project, or of Scrapy, refused the request."),
        "Look at the project's middlewares.",
    )
    # no request was made
    UNREADABLE = (
        *("unreadable", 27, (_Q,), "Its stored request cannot be read, and stays in the store."),
        "The log names it.",
    )
    GUARD = (
        *("guard", 37, (_L, _Q), "Pages like it showed nothing new: a trap."),
        "FRONTIER_GUARD_RELEASED with its server (docs/traps.md).",
    )
    MERGED = (
        *("merged", 38, (_Q,), "Its page is known under another address."),
        "FRONTIER_GUARD_RELEASED with its server (docs/traps.md).",
    )
    ALIAS = (
        *("alias", 49, (_Q,), "Its host is another name of one that has the page, by DNS; JOBDIR keeps it queued."),
        "FRONTIER_DUPLICATES_ALIASES = False.",
    )
    EXTENSION = (
        *("extension", 39, (_L, _Q), "Its extension is that of a file, and its server answers such URLs with files."),
        "FRONTIER_LINKS_SKIP_EXTENSIONS, FRONTIER_LINKS_SKIP_AFTER.",
    )
    SPIDER_ENDED = "spider_ended", 47, (_Q,), "Its spider, one of several, has ended.", "The spider's own limits."
    SPIDER_MISSING = (
        *("spider_missing", 48, (_Q,), "Its spider is not in this run of the crawl; with JOBDIR it stays queued."),
        "-a spiders with its name, or FRONTIER_MISSING_SPIDER = 'web'.",
    )
    # no link that is followed
    SCHEME = "scheme", 40, (_L,), "Its scheme is neither http nor https."
    LENGTH = "length", 41, (_L,), "It is too long.", "URLLENGTH_LIMIT."
    DEPTH = "depth", 42, (_L,), "It is too many links away from the seeds.", "DEPTH_LIMIT."
    EXCLUDED = (
        *("excluded", 43, (_L, _Q, _R), "The patterns exclude it, those of the settings or the operator's."),
        "FRONTIER_LINKS_INCLUDE, FRONTIER_LINKS_EXCLUDE; include, exclude; undo it in the console.",
    )
    FOREIGN = "foreign", 44, (_L,), "The sitemap of another server lists it."
    SITEMAP_LIMIT = "sitemap_limit", 45, (_L,), "Its server names too many sitemaps."
    ON_COPY = (
        *("on_copy", 46, (_L,), "It is on a copy of another page, whose links are not followed."),
        "FRONTIER_DUPLICATES_FOLLOW.",
    )

    @property
    def is_page(self) -> bool:
        """Whether the crawl has its page, or knows that of the URL that it leads to: nothing is lost."""
        return self.number <= Reason.REDIRECTED.number

    @property
    def stays(self) -> bool:
        """Whether the URL stays queued in the store: a later run tries it again."""
        return self in _STAYING

    @property
    def of_request(self) -> Stage:
        """The stage of a request that was handed out and ended so."""
        return _R if _R in self.stages else _A


_STAYING = frozenset(
    (Reason.KEPT, Reason.PAGE_LIMIT, Reason.NO_ANSWER, Reason.UNREADABLE, Reason.SPIDER_MISSING, Reason.ALIAS)
)
_BY_NUMBER = {reason.number: reason for reason in Reason}
_STAGES = tuple(Stage)
_BITS = 6

_STATUSES = {
    **dict.fromkeys((404, 410), Reason.NOT_FOUND),
    **dict.fromkeys((401, 402, 403, 407, 451), Reason.NO_ACCESS),
    429: Reason.TOO_MANY,
}


def reason_of_status(status: int) -> Reason:
    """What a final answer with this status means; a 304 to a conditional request is ``UNCHANGED`` instead. O(1)."""
    if 200 <= status < 300:
        return Reason.FETCHED
    if 400 <= status < 500:
        return _STATUSES.get(status, Reason.CLIENT_ERROR)
    return Reason.SERVER_ERROR if status >= 500 else Reason.OTHER_STATUS


def encoded(stage: Stage, reason: Reason) -> int:
    """As a number from 1 to 255. O(1)."""
    return stage.number << _BITS | reason.number


def decoded(number: int) -> tuple[Stage, Reason] | None:
    """The inverse of ``encoded``; None for a number that it never gives, of a newer version or damaged. O(1)."""
    stage, reason = _STAGES[number >> _BITS & 3], _BY_NUMBER.get(number & (1 << _BITS) - 1)
    return None if reason is None or stage not in reason.stages else (stage, reason)


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

    ``count(stat, number)`` takes each, under the names of ``STATS``; ``store(what, outcome)`` each but those of links,
    and of URLs that stay queued; ``log`` each outcome but those of links.  All methods are O(1) for each URL.
    """

    def __init__(
        self,
        count: Callable[[str, int], object] = lambda *_: None,
        store: Callable[[Any, Outcome], object] = lambda *_: None,
        log: Callable[[Outcome], object] | None = None,
    ) -> None:
        self._count = count
        self._store = store
        self._log = log
        #: Stage and reason -> URLs of this run; of the stage LINK: links.
        self.counts: Counter[tuple[Stage, Reason]] = Counter()
        #: Answers by status and media type, requests by depth: value -> number, of this run.
        self.tallies: dict[str, Counter[str]] = {"status": Counter(), "type": Counter(), "depth": Counter()}
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
        if (ending := outcome.ending) is not None:
            self._tally("depth", str(outcome.depth))
            if ending.status:
                self._tally("status", str(ending.status))
                self._tally("type", ending.media[:50] or "none given")
        if not outcome.reason.stays:
            self._store(outcome.url if request is None else request, outcome)
        if self._log is not None:
            self._log(outcome)

    def _tally(self, name: str, value: str) -> None:
        tally = self.tallies[name]
        tally[value if value in tally or len(tally) < MAX_VALUES else "other"] += 1

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
