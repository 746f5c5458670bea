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


_BY_LETTER = {stage.name[0]: stage for stage in Stage}
_RELEASED = "FRONTIER_GUARD_RELEASED with its server (docs/traps.md)."


class Reason(StrEnum):
    """Why a URL ended. Numbers are stored: a number that was used once is not used for another reason."""

    number: int
    #: Where it can end so.
    stages: tuple[Stage, ...]
    #: One sentence.
    words: str
    #: What to change; empty: nothing need be.
    change: str

    def __new__(cls, value: str, number: int, stages: str, words: str, change: str = "") -> Self:
        """One row of the table below; ``stages``: their first letters."""
        reason = str.__new__(cls, value)
        reason._value_ = value
        reason.number, reason.words, reason.change = number, words, change
        reason.stages = tuple(_BY_LETTER[letter] for letter in stages)
        return reason

    # its page came
    FETCHED = "fetched", 1, "A", "Its page was fetched and given to the spider."
    UNCHANGED = "unchanged", 2, "A", "A recrawl asked for it; its page has not changed (304)."
    COPY = "copy", 3, "A", "Its bytes are those of another page.", "FRONTIER_DUPLICATES_EXACT = False."
    NEAR_COPY = "near_copy", 4, "A", "Its text is nearly that of another page.", "FRONTIER_DUPLICATES_THRESHOLD."
    # another answer came
    REDIRECTED = "redirected", 5, "A", "It redirects to another URL, which has a fate of its own."
    REPLACED = "replaced", 6, "A", "A middleware put another request in its place, or dropped it.", "The middlewares."
    NOT_FOUND = "not_found", 7, "A", "The server has no such page (404, 410)."
    NO_ACCESS = "no_access", 8, "A", "The server does not show it to us (401, 402, 403, 407, 451).", "USER_AGENT."
    TOO_MANY = "too_many_requests", 9, "A", "The server answered 429 at each try.", "A higher FRONTIER_DELAY_FACTOR."
    CLIENT_ERROR = "client_error", 10, "A", "The server answered with another status from 400 to 499."
    SERVER_ERROR = "server_error", 11, "A", "The server answered with a status from 500 on.", "RETRY_TIMES."
    OTHER_STATUS = "other_status", 12, "A", "The server answered with a status that is no page: 1xx, 304, a bad 3xx."
    WRONG_TYPE = "wrong_type", 13, "A", "Its media type is not read.", "FRONTIER_LINKS_TYPES."
    CALLBACK_FAILED = "callback_failed", 14, "A", "The spider's callback raised an error.", "The log has the traceback."
    KEPT = "kept", 15, "A", "The crawl ended before its page was read; JOBDIR keeps it queued.", "Resume the crawl."
    REDIRECT_LIMIT = "redirect_limit", 16, "A", "Its chain of redirects is too long, or a loop.", "REDIRECT_MAX_TIMES."
    UNDECODABLE = "undecodable", 17, "A", "Its body cannot be decompressed."
    TOO_LARGE = "too_large", 18, "A", "Its body is too large.", "DOWNLOAD_MAXSIZE."
    TRUNCATED = "truncated_body", 19, "A", "Its body ended too early.", "DOWNLOAD_FAIL_ON_DATALOSS = False."
    BROKEN = "broken_response", 20, "A", "The answer broke HTTP, or the connection broke, at each try."
    # no answer came
    TIMEOUT = "timeout", 21, "R", "No answer came in time, at each try.", "DOWNLOAD_TIMEOUT, FRONTIER_CONNECT_TIMEOUT."
    REFUSED = "refused", 22, "R", "The server refused the connection, at each try."
    DNS = "dns", 23, "QR", "The name of its server was not found.", "Check the name, and this machine's resolver."
    PROXY = "proxy", 24, "R", "The proxy could not be reached.", "Check the proxy."
    OTHER = "other", 25, "R", "The request failed in another way.", "The log names the error."
    # no request was sent
    ROBOTS = "robots", 26, "R", "robots.txt forbids it.", "ROBOTSTXT_OBEY = False, if the server is yours."
    ADDRESS = "address", 28, "R", "The address of its server is not public.", "FRONTIER_ALLOWED_NETWORKS."
    DENIED = "denied", 29, "LR", "Its server is denied.", "FRONTIER_DENY_FILE."
    OFFSITE = "offsite", 30, "LR", "Its server is none of those that the spider may visit.", "allowed, allowed_domains."
    SERVER_GIVEN_UP = "server_given_up", 31, "QR", "Its server failed too often in a row.", "FRONTIER_MAX_FAILURES."
    PAGE_LIMIT = "page_limit", 32, "LQR", "Its server or domain is full.", "FRONTIER_MAX_PAGES_PER_..."
    NO_ANSWER = "no_answer", 33, "QR", "Its server never answered; JOBDIR keeps it queued.", "Resume the crawl later."
    UNSERIALIZABLE = (
        *("unserializable", 34, "LR", "Another worker crawls its server, and it cannot be stored."),
        "Callbacks that are methods of the spider, meta that can be stored.",
    )
    MALFORMED = "malformed", 35, "LR", "It is no URL with a server."
    IGNORED = "ignored", 36, "R", "A middleware refused the request.", "Look at the middlewares."
    # no request was made
    UNREADABLE = "unreadable", 27, "Q", "Its stored request cannot be read, and stays stored.", "The log names it."
    GUARD = "guard", 37, "LQ", "Pages like it showed nothing new: a trap.", _RELEASED
    MERGED = "merged", 38, "Q", "Its page is known under another address.", _RELEASED
    ALIAS = (
        *("alias", 49, "Q", "Its host is another name of one that has the page; JOBDIR keeps it queued."),
        "FRONTIER_DUPLICATES_ALIASES = False.",
    )
    EXTENSION = "extension", 39, "LQ", "Its server answers such URLs with files.", "FRONTIER_LINKS_SKIP_EXTENSIONS."
    SPIDER_ENDED = "spider_ended", 47, "Q", "Its spider, one of several, has ended.", "The spider's own limits."
    SPIDER_MISSING = (
        *("spider_missing", 48, "Q", "Its spider is not in this run of the crawl; with JOBDIR it stays queued."),
        "-a spiders with its name, or FRONTIER_MISSING_SPIDER = 'web'.",
    )
    # no link that is followed
    SCHEME = "scheme", 40, "L", "Its scheme is neither http nor https."
    LENGTH = "length", 41, "L", "It is too long.", "URLLENGTH_LIMIT."
    DEPTH = "depth", 42, "L", "It is too many links away from the seeds.", "DEPTH_LIMIT."
    EXCLUDED = (
        *("excluded", 43, "LQR", "The patterns exclude it, those of the settings or the operator's."),
        "FRONTIER_LINKS_INCLUDE, FRONTIER_LINKS_EXCLUDE; include, exclude; undo it in the console.",
    )
    FOREIGN = "foreign", 44, "L", "The sitemap of another server lists it."
    SITEMAP_LIMIT = "sitemap_limit", 45, "L", "Its server names too many sitemaps."
    ON_COPY = "on_copy", 46, "L", "It is on a copy, whose links are not followed.", "FRONTIER_DUPLICATES_FOLLOW."

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
        return Stage.REQUEST if Stage.REQUEST in self.stages else Stage.ANSWER


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
    return _STAGES.index(stage) << _BITS | reason.number


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

    def refuse(self, reason: Reason, urls: Sequence[str]) -> None:
        """Count links that are not queued for one ``reason``: their URLs, or references if they have none."""
        if urls:
            place = (Stage.LINK, reason)
            self.counts[place] += len(urls)
            self._count(STATS[place], len(urls))
            for url in urls[:EXAMPLES]:
                self._keep(place, url)

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
