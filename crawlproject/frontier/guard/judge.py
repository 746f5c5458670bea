"""Delays the URLs of pages that show nothing new, and drops those of which a server was shown to have no end.

A *pattern* is the common form of a family of URLs (``urls.pattern``), or the rule of ``urls.traps`` that doubts them.
The pages of a pattern are compared: text that none of the last ones had, in this combination, is news, and so is a link
to another pattern that has some.  URLs found on pages without news *wait*: they are fetched after all others.
Sameness alone drops nothing.  After a few such pages the guard asks for an address that no finite site has
(``guard.far``); only if the server leads on from there, its pattern is dropped after more pages without news.
Besides, a server that shows nothing new on hundreds of waiting pages in a row gets no more of these requests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.content.page_marks import NO_ADDRESSES, PageAddresses
from crawlproject.frontier.guard.far import End, Far, direction, end_of, far_addresses
from crawlproject.frontier.guard.idle_parts import VERSION, may_have_parts
from crawlproject.frontier.guard.patterns import (
    COMBINED,
    DOUBT,
    MIN_NEW,
    MIN_NEW_PIECES,
    NAMES,
    GuardLimits,
    MarkBudget,
    Pattern,
    is_doubted,
    is_of_names,
    product_of,
)
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.queues.sort_key import DEMOTED, DEMOTION, OTHER_NAME, WAITING
from crawlproject.urls.link_filter import remembering
from crawlproject.urls.pattern import folder_of, pattern_of
from crawlproject.urls.server_key import server_key
from crawlproject.urls.traps import TrapRules, leads_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawlproject.content.page_marks import PageContent
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.server import Server

#: Links from a seed, and pages of a server, from which every pattern is watched: patterns may be endless that lead only
#: to each other.
WATCHED_FROM_DEPTH, WATCHED_FROM_PAGES = 32, 1_000

#: Neighbours whose numbers are left out when a page is compared.
MAX_NEIGHBOURS = 100

#: Rules whose URLs are also grouped by pattern.
_BY_PATTERN = frozenset({"calendar", "nested_url"})

#: Pages without news of endless patterns that never showed any: a crawl spends a four-hundredth of its pages on them,
#: at least ``LEAST_VAIN``.  While some are left, a calendar is followed for ``GuardLimits.max_same`` pages until its
#: first event, else for ``LEAST_SAME``.
LEAST_VAIN, VAIN_SHARE = 24, 0.0025

#: Between the names that the last segment, or a parameter, combines.
_combines = re.compile(r"[^/?=&+,](?:\+|,|%20|%2C)[^/?=&+,]", re.IGNORECASE).search
_digit = re.compile(r"[0-9]").search


def _names_parameters(url: str) -> bool:
    mark = url.find("?")
    return mark >= 0 and _digit(url, mark) is None


class Visit(NamedTuple):
    """What is known of a page before its content is compared."""

    is_copy: bool = False  # its content was seen before
    is_known: bool = False  # the page itself was seen before, so it is no evidence
    was_last: int = 0  # the priority of its URL, if it waited: DEMOTED or OTHER_NAME
    depth: int = 0  # links from a seed
    links: Sequence[str | None] = ()  # the canonical URLs that it links to, known ones included


PLAIN_VISIT = Visit()


class Question(NamedTuple):
    """A request that the guard asks for: of far addresses, one after the other, or of a page once more."""

    name: str  # of the pattern that it is about
    far: tuple[Far, ...] = ()  # addresses not asked for yet, the next one first
    url: str = ""  # without them: a page of the pattern, and what it showed
    content: PageContent | None = None

    @property
    def next_url(self) -> str:
        """The URL to request."""
        return self.far[0].url if self.far else self.url


class Answer(NamedTuple):
    """The answer to a question."""

    status: int
    url: str  # canonical, after redirects
    links: Sequence[str | None] = ()
    content: PageContent | None = None


def demoted(entry: Entry, priority: int = DEMOTED) -> Entry:
    """``entry``, which waits until all others are fetched."""
    return entry._replace(quality=entry.quality * DEMOTION, priority=priority)


class Guard:
    """Judges links by the pages that contain them.

    ``server_of``: the server of a key, None if it is new.  ``is_known``: whether a canonical URL was seen.
    ``is_released``: whether a server is exempt.  ``rules``: which URLs are doubted by their form.
    """

    def __init__(
        self,
        limits: GuardLimits,
        server_of: Callable[[str], Server | None],
        is_known: Callable[[str], bool],
        is_released: Callable[[str], bool] = lambda _: False,
        rules: TrapRules | None = None,
    ) -> None:
        self.limits = limits
        self.budget = MarkBudget()  # memory for the marks of all patterns
        self.pages = self.vain = 0  # of the crawl; the latter as ``ServerGuard.vain``
        self.server_of = server_of
        self.is_known = is_known
        self.is_released = is_released
        self.rules = TrapRules() if rules is None else rules
        #: The pattern of a canonical URL. O(length): 3-6 us, unless it is cached.
        self.name_of: Callable[[str], str] = remembering(self._name_of)

    def page(
        self,
        url: str,
        content: Callable[[PageAddresses], PageContent | None],
        visit: Visit = PLAIN_VISIT,
    ) -> GuardedPage | None:
        """The page at the canonical ``url``, to judge its links; None if the server is new or exempt. O(length).

        ``content``: the page's content, given the addresses on it; called only if its pattern is watched.
        """
        server = self.judged(url)
        if server is None:
            return None
        self.pages += not visit.is_known
        if server.guard is not None:
            server.guard.count_open(self.name_of(url))
        return GuardedPage(self, server, url, content, visit)

    def answered(self, server: Server, question: Question, answer: Answer | None) -> Question | None:
        """Learn from the ``answer`` to a question, None if there was none; returns the next question. O(links)."""
        pattern = None if server.guard is None else server.guard.patterns.get(question.name)
        if pattern is None or server.guard is None:
            return None
        if not question.far:
            if answer is not None and answer.content is not None and question.content is not None:
                pattern.noise = question.content.noise(answer.content, pattern.noise)
                pattern.forget()
            return None
        far = question.far[0]
        if answer is None or answer.status == 429 or answer.status >= 500:
            end = End.OPEN
        elif not 200 <= answer.status < 300 or self._plain_name(answer.url) != self._plain_name(far.url):
            end = End.FINITE
        else:
            end = end_of(far, filter(None, answer.links), self._is_of_kind(server.guard, far.url), self.is_known)
        if end is not End.ENDLESS and len(question.far) > 1:
            return question._replace(far=question.far[1:])
        pattern.end = end
        if end is End.FINITE and not pattern.repeats_itself:
            pattern.forget()
            self.budget.keep(pattern)
        return None

    def is_sprawling(self, server: Server, name: str) -> bool:
        """Whether the pattern ``name`` has no end, and its addresses grow, so that its queued URLs wait, too. O(1)."""
        pattern = None if server.guard is None else server.guard.patterns.get(name)
        return pattern is not None and pattern.end is End.ENDLESS and pattern.combines

    def closed_page(self, url: str) -> tuple[Server, str] | None:
        """Count the page at the canonical ``url``, closed to robots (``noindex,nofollow``), or asking for a login.

        Returns its server and pattern if the URLs of that pattern, found anywhere, wait from now on.  O(length).
        """
        server, name = self.judged(url), self.name_of(url)
        if server is None or is_of_names(name):
            return None
        server.guard = server.guard or ServerGuard()
        return (server, name) if server.guard.count_closed(name) else None

    def open_page(self, url: str) -> None:
        """Count the page at the canonical ``url``, which is open to robots. O(length)."""
        server = self.server_of(server_key(url))
        if server is not None and server.guard is not None:
            server.guard.count_open(self.name_of(url))

    def learn_part(self, url: str, first: str | None, *, is_page: bool, shown: Callable[[], int]) -> Server | None:
        """``IdleParts.learn`` from the answer at the canonical ``url``; its server, if a part has become idle."""
        server = self.judged(url)
        if server is None or (server.guard is None and first is None and not may_have_parts(url)):
            return None
        if first is not None and server_key(first) != server.key:
            first = None
        server.guard = server.guard or ServerGuard()
        return server if server.guard.idle_parts.learn(url, first, is_page=is_page, shown=shown) else None

    def restored(self, server: Server) -> None:
        """Count a restored server. O(patterns)."""
        self.pages += server.pages
        if server.guard is not None:
            self.vain += server.guard.vain
            for pattern in server.guard.patterns.values():
                self.budget.keep(pattern)

    def patience(self, pattern: Pattern) -> int:
        """Pages in a row without news after which ``pattern`` is dropped; 0: never."""
        if pattern.end is not End.ENDLESS:
            return 0
        if pattern.combines:  # addresses that grow have no gaps, as calendars have
            return min(self.limits.max_same, self.limits.GROWN_SAME)
        if pattern.news > 1 or self.vain < max(LEAST_VAIN, VAIN_SHARE * self.pages):
            return self.limits.max_same
        return min(self.limits.max_same, self.limits.LEAST_SAME)

    def judged(self, url: str) -> Server | None:
        """The server of the canonical ``url``; None if it is new or exempt."""
        server = self.server_of(server_key(url))
        return None if server is None or self.is_released(server.key) else server

    def _is_of_kind(self, known: ServerGuard, far: str) -> Callable[[str], bool]:
        """A function: whether a URL has the pattern of ``far``, or another one whose pages show nothing new."""
        plain = self._plain_name(far).rstrip(COMBINED)

        def is_of_kind(url: str) -> bool:
            if self._plain_name(url).rstrip(COMBINED) == plain:
                return True
            pattern = known.patterns.get(self.name_of(url))
            return pattern is not None and pattern.dry >= GuardLimits.DOUBTED_FROM and not leads_back(url, far)

        return is_of_kind

    def _name_of(self, url: str) -> str:
        reason = self.rules.reason(url)
        if reason is None:
            return self._plain_name(url)
        return DOUBT + (pattern_of(url) or reason if reason in _BY_PATTERN else reason)

    @staticmethod
    def _plain_name(url: str) -> str:
        name = pattern_of(url) or NAMES + folder_of(url)
        return name + COMBINED if _combines(url, url.rfind("/") + 1) else name

    def has_versions(self, server: Server | None) -> bool:
        """Whether enough waiting pages of ``server`` were known under another address: no more are followed. O(1)."""
        known = None if server is None else server.guard
        return known is not None and 0 < self.limits.max_versions <= known.versions

    def linked_from_elsewhere(self, url: str) -> bool:
        """Count a link from another server to the canonical ``url``; returns whether it waits. O(length)."""
        name = self.name_of(url)
        server = self.judged(url)
        known = None if server is None else server.guard
        if known is not None and name in known.patterns:
            known.patterns[name].votes += 1
        return known.waits(name) if known is not None else is_doubted(name)

    def is_dropped(self, server: Server, entry: Entry, spent: str) -> bool:
        """Whether a waiting ``entry`` is dropped with the pattern ``spent``; "": with all that waits. O(length)."""
        if entry.priority not in WAITING or server.guard is None:
            return False
        if spent == VERSION:
            return entry.priority == OTHER_NAME
        name = self.name_of(entry.url)
        if spent:
            return name == spent
        if entry.priority == OTHER_NAME or server.guard.idle_parts.without(entry.url) != entry.url:
            return entry.priority == OTHER_NAME  # else it may be the only address of its page
        pattern = server.guard.judging(name)
        return pattern is None or not pattern.is_kept()


class GuardedPage:
    """A page whose links are judged: ``refuses`` before they are tested against the seen-set, ``learn`` after.

    A page whose pattern is not watched counts as new, because there is nothing to compare it with.
    """

    __slots__ = (
        *("_content", "_content_of", "_guard", "_is_copy", "_is_known", "_is_new", "_links", "_name"),
        *("_product", "_url", "_was_last", "_watched", "questions", "server", "spent"),
    )

    def __init__(
        self,
        guard: Guard,
        server: Server,
        url: str,
        content: Callable[[PageAddresses], PageContent | None],
        visit: Visit,
    ) -> None:
        self.server = server
        #: After ``learn``: patterns that are dropped now; "" for all that waits at the server.
        self.spent: list[str] = []
        self.questions: list[Question] = []  # after ``learn``: what the guard wants to know
        self._guard = guard
        self._url = url
        self._name = name = guard.name_of(url)
        self._content_of = content
        self._content: PageContent | None = None
        self._is_known = visit.is_known
        self._is_copy = visit.is_copy
        self._was_last = visit.was_last
        self._links = visit.links
        self._is_new = True
        self._watched: Pattern | None = None  # its pattern, or the product that it belongs to
        known = server.guard
        if known is None and product_of(name) is not None:
            known = server.guard = ServerGuard()
        self._product = None if known is None else known.product_of(name)
        is_watched = known is not None and name in known.patterns
        is_far = visit.depth >= WATCHED_FROM_DEPTH or server.pages >= WATCHED_FROM_PAGES
        if is_watched or is_doubted(name) or is_far or self._product:
            self._watch()

    @property
    def refuses_some(self) -> bool:
        """Whether it may refuse links. O(1)."""
        known = self.server.guard
        return known is not None and (bool(known.spent) or any(self._limits_reached(known)))

    def _limits_reached(self, known: ServerGuard) -> tuple[bool, bool, bool]:
        limits, watched = self._guard.limits, self._watched
        is_full = watched is not None and watched.is_full(limits)
        return is_full, 0 < limits.max_waiting <= known.vain_in_a_row, self._guard.has_versions(self.server)

    def refuses(self, url: str) -> bool:
        """Whether the link to the canonical ``url`` is neither followed nor added to the seen-set.

        Applies to links to a dropped pattern if the page shows nothing new or the URL is doubted, to those of a pattern
        that is full, and, if too much has waited in vain, to those that would wait.  O(length).
        """
        known = self.server.guard
        if known is None or not self.is_own(url):
            return False
        name = self._guard.name_of(url)
        is_full, is_vain, has_versions = self._limits_reached(known)
        is_refused = name in known.spent and (not self._is_new or is_doubted(name))
        is_refused = is_refused or (is_full and name == self._name)
        if not is_refused and is_vain:
            pattern = known.judging(name)
            is_kept = pattern is not None and pattern.is_kept()
            is_wanted = pattern is None or pattern.is_wanted()
            waits = not self._is_new and (self._is_sideways(name) or not is_wanted)
            waits = waits or known.waits(name)
            is_refused = waits and not is_kept and known.idle_parts.without(url) == url
        if not is_refused and has_versions:
            is_refused = known.idle_parts.is_version(url, self._guard.is_known)
        known.refused += is_refused
        return is_refused

    def learn(self, new: Iterable[str]) -> set[str]:
        """Learn from the page's ``new`` links; returns those that wait. O(length) each."""
        guard = self._guard
        sideways: list[str] = []
        others: set[str] = set()  # links to other patterns whose last pages showed nothing new
        last: set[str] = set()
        own = 0
        has_news = False
        for url in new:
            if not self.is_own(url):
                if guard.linked_from_elsewhere(url):
                    last.add(url)
                continue
            name = guard.name_of(url)
            self._expect_parts(url)
            known = self.server.guard
            if self._returns(url, name):
                last.add(url)
            elif self._is_sideways(name):
                sideways.append(url)
                own += name == self._name or self._product is not None
                if known is not None and known.is_closed(name):
                    last.add(url)
            else:
                pattern = self._link_to(name)
                has_news = has_news or (not is_doubted(name) and (pattern is None or pattern.is_promising()))
                if known.waits(name) if known is not None else is_doubted(name):
                    last.add(url)
                elif pattern is not None and not pattern.is_wanted():
                    others.add(url)
        has_news = self._count(own, sideways, has_news=has_news)
        pattern = self._watched
        if pattern is None:
            return last
        if not (self._is_new or has_news):
            return last.union(sideways, others)
        return last.union(sideways) if self._waits(pattern) else last

    def versions(self, new: Iterable[str], mark: Callable[[str], None]) -> set[str]:
        """Those of its ``new`` links that lead to a page known under another address; ``mark``: adds one to the seen.

        O(length) each, if the server has idle parts.
        """
        found: set[str] = set()
        for url in new:
            server = self.server if self.is_own(url) else self._guard.server_of(server_key(url))
            if server is None or server.guard is None or server.guard.idle_parts.is_empty:
                continue
            parts = server.guard.idle_parts
            if parts.is_version(url, self._guard.is_known):
                found.add(url)
            elif (base := parts.without(url)) != url:
                mark(base + VERSION)
        return found

    def is_own(self, url: str) -> bool:
        """Whether ``url`` is on the page's server."""
        key = self.server.key
        return url.startswith(key) and url[len(key) : len(key) + 1] == "/"

    def _expect_parts(self, url: str) -> None:
        known = self.server.guard
        if (known is None or not known.idle_parts.are_linked) and may_have_parts(url):
            known = self.server.guard = known or ServerGuard()
            known.idle_parts.are_linked = True

    def _returns(self, url: str, name: str) -> bool:
        """Whether the link ``url`` of the pattern ``name`` leads back here, and such pages showed no new text."""
        if name == self._name or not leads_back(url, self._url):
            return False
        known = self.server.guard = self.server.guard or ServerGuard()
        pattern = known.watch(name)
        # A login is not cleared by its links to forms for new members.
        return pattern.dry >= GuardLimits.DOUBTED_FROM or not pattern.is_cleared()

    def _is_sideways(self, name: str) -> bool:
        if name == self._name:
            return True
        if self._product is None:
            return False
        return name == self._product.rstrip(COMBINED) or product_of(name) == self._product

    def _watch(self) -> None:
        """Compare the page with earlier pages of its pattern and product; the first page counts as new."""
        known = self.server.guard = self.server.guard or ServerGuard()
        pattern = known.watch(self._product or self._name)
        self._watched = pattern
        if self._is_known:
            self._is_new = self._name not in known.spent
            return
        if not pattern.is_compared:
            return
        is_product = self._product is not None or pattern.combines
        is_named = is_product or is_of_names(self._name) or _names_parameters(self._url)
        if not is_named and pattern.passes():
            return
        neighbours = self._neighbours()
        others = {url for url in self._links[:MAX_NEIGHBOURS] if url is not None}.difference(neighbours)
        self._content = self._content_of(PageAddresses(neighbours, is_named, list(others)))
        if self._content is None:
            return
        head = None if is_named or pattern.noise else self._content.head_marks()
        if head is not None and pattern.is_clearly_new(head):
            return
        if is_named:  # where names, or parameters, are combined, combinations of what was seen are not new
            difference = pattern.unseen(self._content.pieces(pattern.noise))
            self._is_new = difference >= (1 if is_product else MIN_NEW_PIECES)
        else:
            difference = pattern.difference(self._content.marks(pattern.noise))
            self._is_new = difference >= MIN_NEW

    def _neighbours(self) -> list[str]:
        links = (url for url in self._links[:MAX_NEIGHBOURS] if url is not None and url != self._url)
        return [url for url in links if self.is_own(url) and self._is_sideways(self._guard.name_of(url))]

    def _link_to(self, name: str) -> Pattern | None:
        """Count a link to another pattern, and return it, if it is watched."""
        known = self.server.guard
        pattern = None if known is None else known.patterns.get(name)
        if self._is_new and pattern is not None:
            pattern.votes += 1
        elif known is not None and not self._is_new and not is_of_names(name):
            pattern = known.watch(name)
            pattern.own += 1
        return pattern

    def _count(self, own: int, sideways: list[str], *, has_news: bool) -> bool:
        """Count the page in its pattern; returns whether one of its links may lead to something new."""
        if sideways and self._watched is None:
            self._watch()
        known = self.server.guard
        if known is None or self._is_known:
            return has_news
        is_news = self._is_new or has_news
        pattern = self._watched
        if pattern is not None:
            pattern.count(own=own, is_new=self._is_new, has_news=has_news)
            self._guard.budget.keep(pattern)
            if is_news:
                known.revive(pattern.name)
            if self._product is None:
                self._ask(pattern, sideways)
        self._count_vain(known, is_news=is_news)
        return has_news

    def _ask(self, pattern: Pattern, sideways: list[str]) -> None:
        """Ask whether the pattern has an end, or what of its pages is made for each request, if it is time."""
        pattern.example = pattern.example or self._url
        end = len(self._url)  # whether links add a part to its own address
        grows = any(url.startswith(self._url) and not url[end - 1 : end + 1].isalnum() for url in sideways)
        if grows:
            pattern.count_grown()
        if not self._guard.limits.asks:
            return
        if pattern.wants_again() and self._content is not None:
            pattern.asked_again = True
            self.questions.append(Question(self._name, (), self._url, self._content_of(NO_ADDRESSES)))
        elif pattern.wants_far(grows=grows):
            for url in (*sideways[:MAX_NEIGHBOURS], *self._neighbours(), *filter(None, (pattern.example,))):
                way = direction(self._url, url)
                far = far_addresses(self._url, url) if way & ~pattern.asked else []
                if far:
                    pattern.end = End.ASKED
                    pattern.asked |= way
                    self.questions.append(Question(self._name, tuple(far)))
                    break

    def _count_vain(self, known: ServerGuard, *, is_news: bool) -> None:
        """Count a waiting page that showed nothing new, and drop what has no end, or has waited in vain."""
        guard, pattern = self._guard, self._watched
        if self._was_last == OTHER_NAME and known.idle_parts.without(self._url) != self._url:
            known.versions += 1
            if known.versions == guard.limits.max_versions:
                self.spent.append(VERSION)
        elif self._was_last:
            is_vain = self._is_copy if pattern is None else not is_news
            if not is_vain:
                known.vain_in_a_row = 0
            elif pattern is None or not pattern.is_kept():
                known.vain_in_a_row += 1
                if known.vain_in_a_row == guard.limits.max_waiting:
                    self.spent.append("")
        if pattern is None or is_news:
            return
        if pattern.end is End.ENDLESS and pattern.news <= 1:
            known.vain += 1
            guard.vain += 1
        patience = guard.patience(pattern) // (1 + len(known.spent))
        if 0 < patience <= pattern.same and known.spend(pattern.name):
            self.spent.append(pattern.name)

    def _waits(self, pattern: Pattern) -> bool:
        limits, known = self._guard.limits, self.server.guard
        return (
            (self._product is not None and pattern.is_poor())
            or pattern.is_large(limits)
            or (known is not None and known.waits(pattern.name))
        )
