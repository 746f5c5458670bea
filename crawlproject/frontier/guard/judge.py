"""Detects traps by the content of a server's pages: URLs that lead only to more of their kind.

A *pattern* is the common form of a family of URLs (``urls.pattern``), or the rule of ``urls.traps`` that doubts them.
The decision needs evidence.  Each page of a pattern whose pages link to each other is compared with earlier ones: does
it show anything new (text, numbers, pictures), or link to another pattern whose pages do?  If page after page shows the
same, their links to the pattern rank last; after some more such pages, the pattern is dropped and no longer followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from crawlproject.frontier.guard.mark_budget import MarkBudget
from crawlproject.frontier.guard.visit_ids import may_have_id
from crawlproject.frontier.guard.watched_patterns import (
    DOUBT,
    GuardLimits,
    Pattern,
    ServerGuard,
    family_of,
    is_doubted,
    is_endless_by_nature,
)
from crawlproject.frontier.queues.sort_key import DEMOTED, DEMOTION
from crawlproject.urls.known_urls import remembering
from crawlproject.urls.pattern import pattern_of
from crawlproject.urls.server_key import server_key
from crawlproject.urls.traps import TrapRules, leads_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.guard.watched_patterns import Marks
    from crawlproject.frontier.server import Server

#: Reasons for ranking a server last. A store of an earlier version may have others, which no longer apply.
COPIES, REFUSED = "copies", "refused"
REASONS = frozenset((COPIES, REFUSED))

#: Links from a seed, and pages of a server, from which every pattern is watched: patterns may be endless that lead only
#: to each other.
WATCHED_FROM_DEPTH, WATCHED_FROM_PAGES = 32, 1_000

#: Minimum links to other pages that make a page of a list new: a form or a print version leads back to one page.  Links
#: of a page that are examined for this.
MIN_ENTRIES, MAX_ENTRIES = 3, 1_000

#: Rules whose URLs are also grouped by pattern.
_BY_PATTERN = frozenset({"calendar", "nested_url"})


class Visit(NamedTuple):
    """What is known of a page before its content is compared."""

    #: Its content was seen before.
    is_copy: bool = False
    #: The page itself was seen before, so it is no evidence.
    is_known: bool = False
    #: Its URL ranked last.
    was_last: bool = False
    #: Links from a seed.
    depth: int = 0
    #: The canonical URL that it declares, and that of the page it is a copy of; None if there is none.
    canonical: str | None = None
    first: str | None = None
    #: The canonical URLs that it links to, known ones included.
    links: Sequence[str | None] = ()


PLAIN_VISIT = Visit()


def demoted(entry: Entry, priority: int = DEMOTED) -> Entry:
    """``entry``, ranked last."""
    return entry._replace(quality=entry.quality * DEMOTION, priority=priority)


class Guard:
    """Judges links by the pages that contain them.

    ``server_of``: the server of a key, None if it is new.  ``is_released``: whether a server is exempt.
    ``rules``: which URLs are doubted by their form.  ``budget``: memory for the marks of patterns.
    """

    def __init__(
        self,
        limits: GuardLimits,
        server_of: Callable[[str], Server | None],
        is_released: Callable[[str], bool] = lambda _: False,
        rules: TrapRules | None = None,
        budget: MarkBudget | None = None,
    ) -> None:
        self.limits = limits
        self.budget = MarkBudget() if budget is None else budget
        self.server_of = server_of
        self.is_released = is_released
        self.rules = TrapRules() if rules is None else rules
        #: The pattern of a canonical URL; None if nothing in it varies. O(length): 3-6 us, unless it is cached.
        self.name_of: Callable[[str], str | None] = remembering(self._name_of)

    def page(
        self,
        url: str,
        marks: Callable[[], Marks | None],
        visit: Visit = PLAIN_VISIT,
    ) -> GuardedPage | None:
        """The page at the canonical ``url``, to judge its links; None if the server is new or exempt. O(length).

        ``marks``: returns the page's marks, None if they are unknown; called at most once, and only if its pattern is
        watched.
        """
        server = self._judged(url)
        if server is None:
            return None
        if server.guard is not None:
            server.guard.count_open(self.name_of(url))
        return GuardedPage(self, server, url, marks, visit)

    def closed_page(self, url: str) -> tuple[Server, str] | None:
        """Count the page at the canonical ``url``, which asks robots neither to index it nor to follow its links, or
        asks for a login.

        Returns its server and pattern if the URLs of that pattern, found anywhere, rank last from now on.  O(length).
        """
        server, name = self._judged(url), self.name_of(url)
        if server is None or name is None:
            return None
        server.guard = server.guard or ServerGuard()
        return (server, name) if server.guard.count_closed(name) else None

    def open_page(self, url: str) -> None:
        """Count the page at the canonical ``url``, which is open to robots. O(length)."""
        server = self.server_of(server_key(url))
        if server is not None and server.guard is not None:
            server.guard.count_open(self.name_of(url))

    def learn_name(self, url: str, visit: Visit) -> Server | None:
        """Learn which page the canonical ``url`` is said to show, and which one it does show.

        Returns its server if further URLs are found to be other names of known pages, so that they rank last from now
        on.  O(length).
        """
        server = self._judged(url)
        if server is None or visit.is_known:
            return None
        named = (visit.canonical, visit.first)
        canonical, first = (each if each and server_key(each) == server.key else None for each in named)
        if (canonical is None or canonical == url) and server.guard is None:  # nearly always
            return None
        server.guard = server.guard or ServerGuard()
        return server if server.guard.other_names.learn(url, canonical, first) else None

    def learn_addition(self, url: str, first: str | None, *, is_page: bool) -> Server | None:
        """Learn from the answer at the canonical ``url`` what the server's links add to addresses in vain.

        ``first``: the earlier page that it is a copy of.  ``is_page``: it is HTML.  Returns its server if something has
        become idle.  O(length).
        """
        server = self._judged(url)
        if server is None or (server.guard is None and first is None and is_page):
            return None
        if first is not None and server_key(first) != server.key:
            first = None
        server.guard = server.guard or ServerGuard()
        return server if server.guard.additions.learn(url, first, is_page=is_page) else None

    def restored(self, known: ServerGuard) -> None:
        """Count the patterns of a restored server in the budget. O(patterns)."""
        for pattern in known.patterns.values():
            self.budget.keep(pattern)

    def _judged(self, url: str) -> Server | None:
        """The server of the canonical ``url``; None if it is new or exempt."""
        server = self.server_of(server_key(url))
        return None if server is None or self.is_released(server.key) else server

    def _name_of(self, url: str) -> str | None:
        reason = self.rules.reason(url)
        if reason is None:
            return pattern_of(url)
        return DOUBT + (pattern_of(url) or reason if reason in _BY_PATTERN else reason)

    def standing_out(self, server: Server) -> str:
        """Reason for ranking ``server`` last: copies, refused; empty if none. O(1)."""
        limits, known = self.limits, server.guard
        if self.is_released(server.key):
            return ""
        if self._has_copies(server):
            return COPIES
        if known is None or not 0 < limits.server_refused <= known.refused:
            return ""
        return REFUSED if known.refused >= limits.REFUSED_PER_PAGE * known.listed else ""

    def _has_copies(self, server: Server) -> bool:
        """Whether most pages of ``server`` are copies; other names of known pages, which come last, do not count."""
        share, pages, copies = self.limits.server_copies, server.pages, server.copies
        if share > 0 and copies >= share * pages and server.guard is not None:
            other = server.guard.other_names.copies
            pages, copies = pages - other, copies - other
        return pages >= self.limits.MIN_SERVER_PAGES and 0 < share * pages <= copies

    def linked_from_elsewhere(self, url: str) -> bool:
        """Count a link from another server to the canonical ``url``; returns whether it ranks last. O(length)."""
        name = self.name_of(url)
        server = self._judged(url)
        known = None if server is None else server.guard
        if known is not None and name in known.patterns:
            known.patterns[name].votes += 1
        return name is not None and is_last(known, name, self.limits)

    def learn_content(self, server: Server, url: str, *, copy: bool) -> None:
        """Count a page in its pattern. O(length)."""
        if (server.guard is None and not copy) or self.is_released(server.key):
            return
        name = self.name_of(url)
        if name is None:
            return
        known = server.guard = server.guard or ServerGuard()
        pattern = known.watch(name) if copy else known.patterns.get(name)
        if pattern is not None:
            pattern.pages += 1
            pattern.copies += copy


class GuardedPage:
    """A page whose links are judged: ``refuses`` before they are tested against the seen-set, ``learn`` after.

    A page whose pattern is not watched counts as new, because there is nothing to compare it with.
    """

    __slots__ = (
        *("_canonical", "_family", "_guard", "_is_copy", "_is_new", "_links", "_marks", "_name", "_url", "_was_last"),
        *("_watched", "server", "spent"),
    )

    def __init__(
        self,
        guard: Guard,
        server: Server,
        url: str,
        marks: Callable[[], Marks | None],
        visit: Visit,
    ) -> None:
        self.server = server
        #: After ``learn``: patterns that this page has shown to be endless.
        self.spent: list[str] = []
        self._guard = guard
        self._url = url
        self._name = name = guard.name_of(url)
        self._family = family_of(name)
        self._marks = None if visit.is_known else marks
        self._is_copy = visit.is_copy
        self._canonical = visit.canonical
        self._was_last = visit.was_last or is_doubted(name)
        self._links = visit.links
        self._is_new = True
        self._watched: list[Pattern] = []  # its pattern, and the script of that pattern
        known = server.guard
        is_watched = known is not None and (name in known.patterns or self._family in known.patterns)
        is_far = visit.depth >= WATCHED_FROM_DEPTH or server.pages >= WATCHED_FROM_PAGES
        if is_watched or is_doubted(name) or (name is not None and is_far):
            self._watch()

    @property
    def refuses_some(self) -> bool:
        """Whether it may refuse links. O(1)."""
        known = self.server.guard
        if known is None:
            return False
        return bool(known.spent) or self._is_full or (self._is_copy and not known.additions.is_empty)

    def refuses(self, url: str) -> bool:
        """Whether the link to the canonical ``url`` is neither followed nor added to the seen-set.

        Applies to links to a dropped pattern if the page shows nothing new or the URL is doubted, and to a full one.
        If the page is a copy, with something idle added to its address: to further versions of it as well.  The page
        without the addition shows the same, so it has their links, unless each version links to a new one.
        O(1), O(length) if patterns of the server are watched.
        """
        known = self.server.guard
        if known is None or not self.is_own(url):
            return False
        if self._is_copy and known.additions.is_version(url, self._url):
            known.refused += 1
            return True
        name = self._guard.name_of(url)
        is_refused = known.is_spent(name) and (not self._is_new or is_doubted(name))
        if not is_refused and not (self._is_full and name == self._name):
            return False
        known.refused += self._is_full or not self._is_new  # many good pages may repeat links to a dropped calendar
        return True

    def observe(self, url: str, links: Iterable[str | None]) -> list[str]:
        """Look for visit ids in the ``links`` to the page's own server; see ``VisitIds.observe``. O(length)."""
        if not may_have_id(url):
            return []
        self.server.guard = self.server.guard or ServerGuard()
        own = [link for link in links if link is not None and self.is_own(link)]
        return self.server.guard.visit_ids.observe(url, own)

    def learn(self, new: Iterable[str]) -> set[str]:
        """Learn from the page's ``new`` links; returns those to be demoted. O(length) each."""
        guard, limits = self._guard, self._guard.limits
        sideways: set[str] = set()
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
            if name is None:
                has_news = True
            elif self._returns(url, name):
                last.add(url)
            elif self._is_sideways(name):
                sideways.add(url)
                own += name == self._name
                if self.server.guard is not None and self.server.guard.is_closed(name):
                    last.add(url)
            else:
                has_news = self._leads_to(name) or has_news
                if is_last(self.server.guard, name, limits):
                    last.add(url)
                elif self._is_doubtful(name):
                    others.add(url)
        has_news = self._count(own, len(sideways), has_news=has_news)
        if not self._watched:
            return last
        if self._shows_nothing(has_news=has_news):
            return last | sideways | others
        return last | sideways if self._ranks_last() else last

    def _returns(self, url: str, name: str) -> bool:
        """Whether the link ``url`` of the pattern ``name`` leads back to this page, and such pages showed no new text.

        The pattern is watched from now on.
        """
        if name == self._name or not leads_back(url, self._url):
            return False
        known = self.server.guard = self.server.guard or ServerGuard()
        pattern, limits = known.watch(name), self._guard.limits
        # A login is not cleared by its links to forms for new members.
        return pattern.dry >= limits.DEMOTED_FROM or not pattern.is_cleared(limits)

    def other_names(self, new: list[str]) -> set[str]:
        """Learn where the page leads; returns those of its ``new`` links that are other names of known pages.

        O(length) each, if the server has pages that declare other canonical URLs.
        """
        known = self.server.guard
        if known is None or known.other_names.is_empty:
            return set()
        known.other_names.learn_new(self._url, self._canonical, new, is_copy=self._is_copy)
        return {url for url in new if self.is_own(url) and url in known.other_names}

    def with_additions(self, new: list[str], is_seen: Callable[[str], bool]) -> set[str]:
        """Those of its ``new`` links that only add something idle to the URL of a page for which ``is_seen`` is true.

        O(length) each, if something idle is known.
        """
        known = self.server.guard
        if known is None or known.additions.is_empty:
            return set()
        return {url for url in new if self.is_own(url) and known.additions.is_idle(url, is_seen)}

    def _is_sideways(self, name: str) -> bool:
        """Whether ``name`` is the page's own pattern, or one of the same script."""
        return name == self._name or (self._family is not None and family_of(name) == self._family)

    def is_own(self, url: str) -> bool:
        """Whether ``url`` is on the page's server."""
        key = self.server.key
        return url.startswith(key) and url[len(key) : len(key) + 1] == "/"

    @property
    def _is_full(self) -> bool:
        return bool(self._watched) and self._watched[0].is_full(self._guard.limits)

    def _watch(self) -> None:
        """Compare the page with earlier pages of its pattern and script; the first page counts as new."""
        assert self._name is not None
        known = self.server.guard = self.server.guard or ServerGuard()
        names = [self._name] if self._family is None else [self._family, self._name]  # watched last: not evicted
        self._watched = [known.watch(name) for name in names][::-1]
        marks = None if self._marks is None else self._marks()
        if marks is not None:
            show = [pattern.shows_new(marks) for pattern in self._watched]
            self._is_new = all(show) and not (self._is_copy and is_doubted(self._name))
        elif self._marks is None:
            self._is_new = not known.is_spent(self._name)

    def _leads_to(self, name: str) -> bool:
        """Count a link to another pattern; returns whether it may lead to anything new."""
        known = self.server.guard
        if known is None:
            return not is_doubted(name)
        pattern = known.patterns.get(name)
        if self._is_new:
            if pattern is not None:
                pattern.votes += 1
        else:
            pattern = known.watch(name)
            pattern.own += 1
        return not is_doubted(name) and (pattern is None or pattern.is_promising(self._guard.limits))

    def _count(self, own: int, sideways: int, *, has_news: bool) -> bool:
        """Count the page in its pattern; returns whether one of its links may lead to something new."""
        if sideways and not self._watched:
            self._watch()
        known = self.server.guard
        if known is None:
            return has_news
        known.listed += 1
        if self._marks is None:
            return has_news
        has_news = self._lists_others() or has_news
        for pattern, found in zip(self._watched, (own, sideways), strict=False):
            pattern.count(own=found, is_new=self._is_new, has_news=has_news, was_last=self._was_last)
            self._guard.budget.keep(pattern)
            if pattern.same <= 1 and (self._is_new or has_news):
                known.revive(pattern.name)
            elif pattern.is_barren(self._guard.limits) and _feeds_on_itself(pattern) and known.spend(pattern.name):
                self.spent.append(pattern.name)
        return has_news

    def _lists_others(self) -> bool:
        """Whether it links to several pages of other patterns, known ones included, that no earlier page linked to.

        Only pages without new text are compared, and the first one.  O(MAX_ENTRIES).
        """
        if not self._watched or self._family is not None or is_endless_by_nature(self._watched[0].name):
            return False
        pattern = self._watched[0]
        if self._is_new and pattern.listed:
            return False
        urls = [url for url in self._links[:MAX_ENTRIES] if url and self._is_entry(url)]
        targets = frozenset(crc32(url.encode()) & 0xFFFFFFFE for url in urls)
        return pattern.count_fresh(targets) >= MIN_ENTRIES

    def _is_entry(self, url: str) -> bool:
        """Whether ``url`` has another pattern, which may show something new."""
        known, name = self.server.guard, self._guard.name_of(url) if self.is_own(url) else self._name
        if name is None or known is None:
            return True
        pattern = known.patterns.get(name)
        is_open = pattern is None or pattern.is_promising(self._guard.limits)
        return name != self._name and is_open and not is_endless_by_nature(name)

    def _is_doubtful(self, name: str) -> bool:
        known = self.server.guard
        pattern = None if known is None else known.patterns.get(name)
        return pattern is not None and pattern.is_doubtful

    def _shows_nothing(self, *, has_news: bool) -> bool:
        """Whether the page and the ones before it showed nothing new, so that its links rank last."""
        limits, pattern = self._guard.limits, self._watched[0]
        if self._is_new or has_news or not pattern.patience(limits):
            return False
        return self._family is not None or pattern.is_doubtful

    def _ranks_last(self) -> bool:
        """Whether its pattern's URLs rank last."""
        limits, pattern = self._guard.limits, self._watched[0]
        return pattern.is_demoted(limits) or is_last(self.server.guard, pattern.name, limits)


def _feeds_on_itself(pattern: Pattern) -> bool:
    """Whether ``pattern`` may be dropped; one of dates only if most of its URLs were found on its own pages."""
    return is_doubted(pattern.name) or not is_endless_by_nature(pattern.name) or pattern.own > pattern.votes


def is_last(known: ServerGuard | None, name: str, limits: GuardLimits) -> bool:
    """Whether URLs of the pattern ``name`` always rank last.

    So they do if it is dropped, if its pages are closed to robots, and if it is doubted and not yet cleared.
    """
    if known is not None and (known.is_spent(name) or known.is_closed(name)):
        return True
    pattern = None if known is None else known.patterns.get(name)
    return is_doubted(name) and (pattern is None or not pattern.is_cleared(limits))


def is_dropped(entry: Entry, name: str | None, spent: str) -> bool:
    """Whether a queued ``entry`` of the pattern ``name`` is dropped with the pattern ``spent``.

    For dates and doubted URLs, all are dropped; for other patterns, those found on pages that showed nothing new.
    """
    is_of_it = name == spent or family_of(name) == spent
    return is_of_it and (entry.priority == DEMOTED or is_endless_by_nature(spent))
